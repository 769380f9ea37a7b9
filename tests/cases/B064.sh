#!/bin/bash
# SPDX-License-Identifier: MIT
# B064: deep chains, and few open files
. "$CASES/common.sh"
$Q create -q -f qcow2 c0 1M
for i in $(seq 200); do
	$Q create -q -u -f qcow2 -b c$((i - 1)) -F qcow2 c"$i" 1M
done
ulimit -n 1024
rc $Q convert -O raw c200 o.raw
$Q info --backing-chain --output=json c200 | grep -c '"virtual-size"'
ulimit -n 64
$Q convert -O raw c200 o.raw 2>err
echo "rc=$? $(wc -l <err)"
grep -c 'Too many open files' err
#| rc=0
#| 201
#| rc=1 1
#| 1
