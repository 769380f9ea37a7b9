#!/bin/bash
# SPDX-License-Identifier: MIT
# B013: preallocated targets stay so
. "$CASES/common.sh"
truncate -s 32M s.raw
for mode in falloc full; do
	$Q convert -f raw -O raw -o preallocation=$mode s.raw $mode.raw
	echo $mode $(($(stat -c %b $mode.raw) * 512 >= 33554432))
done
$Q convert -f raw -O qcow2 -o preallocation=falloc s.raw p.q
$Q convert -f raw -O qcow2 -o preallocation=metadata s.raw m.q
echo $(($(stat -c %s p.q) > 33554432)) $(($(stat -c %s m.q) > 33554432)) \
	$(($(stat -c %b p.q) * 512 >= 33554432)) $(($(stat -c %b m.q) * 512 < 1048576))
#| falloc 1
#| full 1
#| 1 1 1 1
