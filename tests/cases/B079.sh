#!/bin/bash
# SPDX-License-Identifier: MIT
# B079: readers of the snapshot table
. "$CASES/common.sh"
$Q create -q -f qcow2 s 16M
$Q snapshot -c first s
$Q snapshot -c 'with space' s
$Q snapshot -l s | tail -n +3 | awk '{print $1}'
$Q snapshot -l s | head -n 1
$Q info --output=json s | grep -c '"name": "with space"'
$Q create -q -f qcow2 e 1M
$Q snapshot -l e | wc -c
#| 1
#| 2
#| Snapshot list:
#| 1
#| 0
