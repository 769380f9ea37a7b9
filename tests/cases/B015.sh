#!/bin/bash
# SPDX-License-Identifier: MIT
# B015: freshly written data are not taken for holes
. "$CASES/common.sh"
for _ in 1 2 3 4 5; do
	head -c 3M /dev/urandom >s.raw
	dd if=s.raw of=s.raw bs=4k count=1 seek=2000 conv=notrunc status=none
	$Q convert -f raw -O qcow2 s.raw o.q
	$Q compare -f raw -F qcow2 s.raw o.q
done
#| Images are identical.
#| Images are identical.
#| Images are identical.
#| Images are identical.
#| Images are identical.
