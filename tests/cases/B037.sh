#!/bin/bash
# SPDX-License-Identifier: MIT
# B037: guest data that point into metadata are not called sound
# better: qemu-img ends with 0 and the guest reads the L1 table
. "$CASES/common.sh"
make_image a
put64 a "$(l2_of a)" $((0x8000000000000000 | $(l1_of a)))
rc $Q check a
cp a b
rc $Q check -r all b
cmp a b && echo untouched
#| rc=2
#| rc=2
#| untouched
