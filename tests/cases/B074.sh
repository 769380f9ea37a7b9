#!/bin/bash
# SPDX-License-Identifier: MIT
# B074: headers for old readers
. "$CASES/common.sh"
$Q create -q -f qcow2 a 1G
be32 a 100
$Q create -q -f qcow2 -o compat=0.10 b 1G
be32 b 4
$Q resize -q a 100G
rc $Q check a
rc $Q amend -o compat=0.10 a
be32 a 4
rc $Q check a
#| 112
#| 2
#| rc=0
#| rc=0
#| 2
#| rc=0
