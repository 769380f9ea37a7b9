#!/bin/bash
# SPDX-License-Identifier: MIT
# B034: one wrong count is mended where no room is left in the file system
# better: qemu-img needs room for a new structure
. "$CASES/common.sh"
mkdir m
mount -t tmpfs -o size=704k none m 2>/dev/null || exit 77
make_image a
put16 a $(($(refblock_of a) + 2 * 5)) 0
cp --sparse=never a m/a
rc $Q check -r all m/a
rc $Q check m/a
umount m
#| rc=0
#| rc=0
