#!/bin/bash
# SPDX-License-Identifier: MIT
# B025: the disk is full
. "$CASES/common.sh"
mkdir m
mount -t tmpfs -o size=4M none m 2>/dev/null || { echo "may not mount"; exit 77; }
trap 'umount m' EXIT
head -c 16M /dev/urandom >s.raw
for format in qcow2 raw; do
	$Q convert -f raw -O $format s.raw m/o 2>err
	echo "rc=$? $(grep -c 'No space left on device' err)"
	rm -f m/o
done
#| rc=1 1
#| rc=1 1
