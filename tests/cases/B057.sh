#!/bin/bash
# SPDX-License-Identifier: MIT
# B057: a backing name outside the first cluster
# better: qemu-img takes a name that lies in the header
. "$CASES/common.sh"
for v in '0x30000 16' '0xfff8 16' '0x200 65535' '0x200 1024' '0x10 8' '0x200 0' '0 8'; do
	set -- $v
	make_image a
	put64 a 8 "$1"
	put32 a 16 "$2"
	echo "$v $(rc $Q info a)"
done
#| 0x30000 16 rc=1
#| 0xfff8 16 rc=1
#| 0x200 65535 rc=1
#| 0x200 1024 rc=1
#| 0x10 8 rc=1
#| 0x200 0 rc=0
#| 0 8 rc=0
