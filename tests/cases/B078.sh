#!/bin/bash
# SPDX-License-Identifier: MIT
# B078: readers of labels
. "$CASES/common.sh"
$Q create -q -f qcow2 b 1M
$Q create -q -f qcow2 -b b -F qcow2 o
$Q info o | awk '$0 ~ /^file format:/ { print $3 }'
$Q info o | grep 'backing file:' | cut -d ':' -f2
$Q info b | grep -c 'backing file:'
#| qcow2
#|  b
#| 0
