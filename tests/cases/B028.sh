#!/bin/bash
# SPDX-License-Identifier: MIT
# B028: an L2 table was wiped: its data are not given back
# better: qemu-img -r leaks frees the data
. "$CASES/common.sh"
make_image a
dd if=/dev/zero of=a bs=64k seek=$(($(l2_of a) / 65536)) count=1 conv=notrunc status=none
cp a b
$Q check --output=json a 2>/dev/null | grep -c '"leaks": 5'
rc $Q check -r leaks b
cmp a b && echo untouched
rc $Q check -r leaks --force b
rc $Q check b
#| 1
#| rc=2
#| untouched
#| rc=0
#| rc=0
