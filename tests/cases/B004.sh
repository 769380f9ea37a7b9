#!/bin/bash
# SPDX-License-Identifier: MIT
# B004: both versions keep holes when compressing
. "$CASES/common.sh"
truncate -s 256M s.raw
head -c 300000 /dev/urandom | dd of=s.raw bs=1M seek=100 conv=notrunc status=none
for compat in 0.10 1.1; do
	$Q convert -c -f raw -O qcow2 -o compat=$compat s.raw $compat.q
	echo "small: $(($(stat -c %s $compat.q) < 1000000))"
	$Q compare -f raw -F qcow2 s.raw $compat.q
	rc $Q check $compat.q
done
#| small: 1
#| Images are identical.
#| rc=0
#| small: 1
#| Images are identical.
#| rc=0
