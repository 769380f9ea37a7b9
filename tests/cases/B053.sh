#!/bin/bash
# SPDX-License-Identifier: MIT
# B053: sizes in a header that ask for much memory or time
. "$CASES/common.sh"
for s in '36 0x00400000' '60 0x0000ffff' '56 0x00000080'; do
	make_image a
	put32 a $s
	guarded $Q info --output=json a >/dev/null 2>err
	[ $? -le 1 ] && [ "$(wc -l <err)" -le 1 ] && echo "$s: bounded"
	ulimit -v 65536
	$Q info a >/dev/null 2>&1
	[ $? -le 1 ] && echo "in 64 MiB"
done
#| 36 0x00400000: bounded
#| in 64 MiB
#| 60 0x0000ffff: bounded
#| in 64 MiB
#| 56 0x00000080: bounded
#| in 64 MiB
