#!/bin/bash
# SPDX-License-Identifier: MIT
# B005: compression of sizes that are no multiple of anything
. "$CASES/common.sh"
for n in 1 511 512 513 65535 65537 197608 1048575; do
	head -c $n /dev/urandom >u.raw
	$Q convert -c -f raw -O qcow2 u.raw u.q && $Q convert -f qcow2 -O raw u.q v.raw
	echo "$n rc=$? $(stat -c %s v.raw) $(cmp -n $n u.raw v.raw && echo same)" \
		"pad $(tail -c +$((n + 1)) v.raw | tr -d '\0' | wc -c)"
done
#| 1 rc=0 512 same pad 0
#| 511 rc=0 512 same pad 0
#| 512 rc=0 512 same pad 0
#| 513 rc=0 1024 same pad 0
#| 65535 rc=0 65536 same pad 0
#| 65537 rc=0 66048 same pad 0
#| 197608 rc=0 197632 same pad 0
#| 1048575 rc=0 1048576 same pad 0
