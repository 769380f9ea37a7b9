#!/bin/bash
# SPDX-License-Identifier: MIT
# B033: an L1 table outside the file: check says so, info works
. "$CASES/common.sh"
$Q create -q -f qcow2 a 1G
put64 a 40 0x70000
$Q check a 2>&1 | grep -c '^ERROR.*offset 0x70000'
rc $Q check a
$Q info a | grep -c 'virtual size'
#| 1
#| rc=2
#| 1
