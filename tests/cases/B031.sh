#!/bin/bash
# SPDX-License-Identifier: MIT
# B031: the L1 table was zeroed: what it named is not given back
# better: qemu-img says 3 and frees all data
. "$CASES/common.sh"
make_image a
dd if=/dev/zero of=a bs=8 seek=$(($(l1_of a) / 8)) count=1 conv=notrunc status=none
rc $Q check a
cp a b
rc $Q check -r leaks b
cmp a b && echo untouched
$Q check --output=json a 2>/dev/null | grep -c '"lost-tables": 1'
#| rc=2
#| rc=2
#| untouched
#| 1
