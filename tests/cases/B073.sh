#!/bin/bash
# SPDX-License-Identifier: MIT
# B073: clusters that a writer did not count
. "$CASES/common.sh"
make_image a
for i in 5 6 7; do
	put16 a $(($(refblock_of a) + 2 * i)) 0
done
$Q check a 2>&1 >/dev/null | grep -c 'refcount=0 reference=1'
rc $Q check -r all a
rc $Q check a
$Q create -q -f qcow2 -o compat=1.1,refcount_bits=16 b 1M
be32 b 96
#| 3
#| rc=0
#| rc=0
#| 4
