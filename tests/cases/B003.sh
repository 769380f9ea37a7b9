#!/bin/bash
# SPDX-License-Identifier: MIT
# B003: -S out of range is refused
. "$CASES/common.sh"
truncate -s 1M s.raw
for s in 513 1000 1024G 17M -1 1 511; do
	rc $Q convert -S $s -f raw -O raw s.raw o.raw
done
rc $Q convert -S 16M -f raw -O raw s.raw o.raw
#| rc=1
#| rc=1
#| rc=1
#| rc=1
#| rc=1
#| rc=1
#| rc=1
#| rc=0
