#!/bin/bash
# SPDX-License-Identifier: MIT
# B026: lost clusters are no corruption
. "$CASES/common.sh"
make_image a
poke=$(($(be64 a $(be64 a 48)) + 2 * 20))
printf '\0\1' | dd of=a bs=1 seek=$poke conv=notrunc status=none
truncate -s $((65536 * 21)) a
rc $Q check a
$Q check --output=json a 2>/dev/null | grep -c '"leaks": 1'
rc $Q check -r leaks a
rc $Q check a
#| rc=3
#| 1
#| rc=0
#| rc=0
