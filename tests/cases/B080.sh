#!/bin/bash
# SPDX-License-Identifier: MIT
# B080: a snapshot that is not there
. "$CASES/common.sh"
$Q create -q -f qcow2 s 1M
$Q snapshot -d nosuch s 2>&1 | grep -cE "snapshot not found|Can't find the snapshot"
rc $Q snapshot -a nosuch s
#| 1
#| rc=1
