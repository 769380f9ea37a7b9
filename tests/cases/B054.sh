#!/bin/bash
# SPDX-License-Identifier: MIT
# B054: limits of the fields of a header
. "$CASES/common.sh"
t() {
	make_image a
	put32 a "$1" "$2"
	$Q info a >/dev/null 2>err
	echo "$1 $2: info $? check $(rc $Q check a) convert $(rc $Q convert -O raw a o) $(wc -l <err)"
}
t 36 0xffffffff
t 36 0
t 20 8
t 20 22
t 20 33
t 20 63
t 20 255
t 20 0xffffffff
t 56 0xffffffff
t 96 7
t 100 0
t 100 103
t 100 0x00ffffff
t 4 1
t 4 4
t 72 0x80000000
t 16 0xffff
t 24 0x7fffffff
t 32 7
#| 36 0xffffffff: info 1 check rc=1 convert rc=1 1
#| 36 0: info 1 check rc=1 convert rc=1 1
#| 20 8: info 1 check rc=1 convert rc=1 1
#| 20 22: info 1 check rc=1 convert rc=1 1
#| 20 33: info 1 check rc=1 convert rc=1 1
#| 20 63: info 1 check rc=1 convert rc=1 1
#| 20 255: info 1 check rc=1 convert rc=1 1
#| 20 0xffffffff: info 1 check rc=1 convert rc=1 1
#| 56 0xffffffff: info 1 check rc=1 convert rc=1 1
#| 96 7: info 1 check rc=1 convert rc=1 1
#| 100 0: info 1 check rc=1 convert rc=1 1
#| 100 103: info 1 check rc=1 convert rc=1 1
#| 100 0x00ffffff: info 1 check rc=1 convert rc=1 1
#| 4 1: info 1 check rc=1 convert rc=1 1
#| 4 4: info 1 check rc=1 convert rc=1 1
#| 72 0x80000000: info 1 check rc=1 convert rc=1 1
#| 16 0xffff: info 0 check rc=0 convert rc=0 0
#| 24 0x7fffffff: info 1 check rc=1 convert rc=1 1
#| 32 7: info 1 check rc=1 convert rc=1 1
