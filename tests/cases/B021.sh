#!/bin/bash
# SPDX-License-Identifier: MIT
# B021: several sources, each padded to a sector
. "$CASES/common.sh"
fill a 1000 A
fill b 1000 B
$Q convert -f raw -O raw a b c
stat -c %s c
dd if=c bs=1 skip=1024 count=4 status=none
echo
dd if=c bs=1 skip=1000 count=24 status=none | tr -d '\0' | wc -c
#| 2048
#| BBBB
#| 0
