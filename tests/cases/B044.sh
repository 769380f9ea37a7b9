#!/bin/bash
# SPDX-License-Identifier: MIT
# B044: a backing file that was replaced by a larger one
. "$CASES/common.sh"
$Q create -q -f qcow2 b 4M
$Q create -q -f qcow2 -b b -F qcow2 o
$Q create -q -f qcow2 b 8M
$Q info --backing-chain --output=json o | grep -c '"virtual-size": 8388608'
rc $Q convert -O raw o x
stat -c %s x
#| 1
#| rc=0
#| 4194304
