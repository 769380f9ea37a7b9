#!/bin/bash
# SPDX-License-Identifier: MIT
# B009: a target that is larger keeps its end
. "$CASES/common.sh"
truncate -s 8M s.raw
truncate -s 16M t.raw
printf KEEP | dd of=t.raw bs=1 seek=12M conv=notrunc status=none
$Q convert -n -f raw -O raw s.raw t.raw
dd if=t.raw bs=1 skip=12M count=4 status=none
stat -c ' %s' t.raw
#| KEEP 16777216
