#!/bin/bash
# SPDX-License-Identifier: MIT
# B048: bad pointers in the header: one clear answer, and not a byte changed
. "$CASES/common.sh"
for f in '40 0x7fffffffffff0000' '40 0x30200' '48 0x10200' '48 0x7fffffffffff0000'; do
	make_image a
	put64 a $f
	cp a b
	$Q check -r all a >/dev/null 2>err && echo "no error"
	[ -s err ] && cmp a b && echo "$f: refused"
done
#| 40 0x7fffffffffff0000: refused
#| 40 0x30200: refused
#| 48 0x10200: refused
#| 48 0x7fffffffffff0000: refused
