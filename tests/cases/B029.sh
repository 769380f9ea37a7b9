#!/bin/bash
# SPDX-License-Identifier: MIT
# B029: an L2 table overwritten by a refcount block: the data stay
# better: qemu-img -r all frees the data
. "$CASES/common.sh"
make_image a
dd if=a of=a bs=64k skip=$(($(be64 a $(be64 a 48)) / 65536)) seek=$(($(l2_of a) / 65536)) count=1 \
	conv=notrunc status=none
rc $Q check a
cp a b
rc $Q check -r all b
cmp a b && echo untouched
rc $Q convert -O raw a o.raw
#| rc=2
#| rc=2
#| untouched
#| rc=1
