#!/bin/bash
# SPDX-License-Identifier: MIT
# B069: the overlay wins over its backing file in long reads
. "$CASES/common.sh"
$Q create -q -f qcow2 b 4M
$IO -c 'write -P 1 0 4M' b >/dev/null
$Q create -q -f qcow2 -b b -F qcow2 o
$IO -c 'write -P 2 0 128k' -c 'write -P 3 512k 64k' -c 'write -z 1M 64k' o >/dev/null
$Q map --output=json o | grep -o '"depth": [01]' | tr -d '\n'
echo
$Q convert -O raw o r
$IO -r -f raw -c 'read -P 2 0 128k' -c 'read -P 1 128k 384k' -c 'read -P 3 512k 64k' \
	-c 'read -P 0 1M 64k' r | grep -c failed
#| "depth": 0"depth": 1"depth": 0"depth": 1"depth": 0"depth": 1
#| 0
