#!/bin/bash
# SPDX-License-Identifier: MIT
# B040: entries that are not aligned, and reserved bits
. "$CASES/common.sh"
for e in 0x8000000000050200 0x9000000000050000 0x8000000000000000; do
	make_image a
	put64 a "$(l2_of a)" $e
	echo "$e check $(rc $Q check a), convert $(rc $Q convert -O raw a o)"
done
make_image a
put64 a "$(l1_of a)" 0x8000000000040200
rc $Q check a
#| 0x8000000000050200 check rc=2, convert rc=1
#| 0x9000000000050000 check rc=2, convert rc=0
#| 0x8000000000000000 check rc=3, convert rc=0
#| rc=2
