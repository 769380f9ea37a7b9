#!/bin/bash
# SPDX-License-Identifier: MIT
# B091: sizes
. "$CASES/common.sh"
for size in 1048576b 1.5G 0x100000 1g 1K 0 1000 1e6 1M5 '1 G' -1 8E; do
	$Q create -q -f qcow2 s "$size" 2>/dev/null
	echo -n "$size=$? "
done
echo
$Q create -q -f qcow2 s 1000
$Q info --output=json s >json
member json virtual-size
rc $Q create -q -f qcow2 -o size=1M s
rc $Q create -q -f qcow2 -o size=1M s 2M
#| 1048576b=0 1.5G=0 0x100000=0 1g=0 1K=0 0=0 1000=0 1e6=1 1M5=1 1 G=1 -1=1 8E=1 
#| 1024
#| rc=0
#| rc=1
