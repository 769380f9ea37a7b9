#!/bin/bash
# SPDX-License-Identifier: MIT
# B123: a repair keeps snapshots and bitmaps
# better: qemu-img check -r loses all snapshots
. "$CASES/common.sh"
make_image a
$Q snapshot -c s a
$IO -c 'write -P 0x77 0 64k' a >/dev/null
cp a b
$Q bitmap --add a b0
rc $Q check a
rc $Q check -r leaks a
printf '\0\0\0\0\0\0\0\200' | dd of=b bs=1 seek=88 conv=notrunc status=none
rc $Q check -r all b
for i in a b; do
	$Q snapshot -l $i | tail -n +3 | wc -l
	$Q convert -l s -f qcow2 -O raw $i o.raw
	pattern o.raw 0x11 0 64k
done
$Q info --output=json a | grep -c '"name": "b0"'
#| rc=0
#| rc=0
#| rc=0
#| 1
#| 1
#| 1
#| 1
#| 1
