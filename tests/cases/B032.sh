#!/bin/bash
# SPDX-License-Identifier: MIT
# B032: a cut image: check ends, with a status of its own
. "$CASES/common.sh"
make_image a
size=$(stat -c %s a)
for n in 104 600 65536 70000 131072 196608 262144 300000 400000 $((size - 1)) $((size - 100000)); do
	head -c $n a >t
	timeout 20 $Q check -f qcow2 t >/dev/null 2>&1
	[ $? -le 3 ] || echo "$n: check ended with $?"
	timeout 20 $Q check -f qcow2 -r all t >/dev/null 2>&1
	[ $? -le 3 ] || echo "$n: repair ended with $?"
done
echo end
#| end
