#!/bin/bash
# SPDX-License-Identifier: MIT
# B063: little memory: done, or an error in known words
# better: qemu-img aborts with less than 200 MB
. "$CASES/common.sh"
yes abcdefgh | head -c 64M >r.raw
$Q convert -c -O qcow2 r.raw r.q
for l in 2000000000 1073741824 400000000 200000000 120000000 60000000 20000000; do
	MALLOC_ARENA_MAX=3 prlimit --as=$l $Q convert -f qcow2 -O raw r.q o.raw 2>err
	status=$?
	if [ $status = 0 ]; then
		cmp r.raw o.raw && echo "$l done"
	elif [ $status = 1 ]; then
		grep -qE 'Cannot allocate memory|Resource temporarily' err && echo "$l done"
	elif grep -q 'error while loading shared' err; then
		echo "$l done"
	else
		echo "$l ends with $status"
	fi
done
#| 2000000000 done
#| 1073741824 done
#| 400000000 done
#| 200000000 done
#| 120000000 done
#| 60000000 done
#| 20000000 done
