#!/bin/bash
# SPDX-License-Identifier: MIT
# B006: the length of a file is a multiple of a sector at least
. "$CASES/common.sh"
# better: a multiple of 4 KiB, so that no reader with a larger block meets a short end
head -c 700001 /dev/urandom >u.raw
for option in "" -c; do
	$Q convert $option -f raw -O qcow2 u.raw u.q
	echo $(($(stat -c %s u.q) % 4096))
done
#| 0
#| 0
