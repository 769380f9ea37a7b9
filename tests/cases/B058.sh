#!/bin/bash
# SPDX-License-Identifier: MIT
# B058: any number of cluster bits
. "$CASES/common.sh"
for b in 0 0x3f 0x40 0xff 0xffffffff; do
	make_image a
	put32 a 20 $b
	$Q info a 2>&1
	rc $Q info a
done
#| qemu-img: Could not open 'a': Unsupported cluster size: 2^0
#| rc=1
#| qemu-img: Could not open 'a': Unsupported cluster size: 2^63
#| rc=1
#| qemu-img: Could not open 'a': Unsupported cluster size: 2^64
#| rc=1
#| qemu-img: Could not open 'a': Unsupported cluster size: 2^255
#| rc=1
#| qemu-img: Could not open 'a': Unsupported cluster size: 2^4294967295
#| rc=1
