#!/bin/bash
# SPDX-License-Identifier: MIT
# B002: -S 0 allocates everything
. "$CASES/common.sh"
truncate -s 32M s.raw
printf x | dd of=s.raw bs=1 seek=1M conv=notrunc status=none
$Q convert -S 0 -f raw -O raw s.raw o.raw
echo $(($(stat -c %b o.raw) * 512 >= 33554432))
$Q convert -S 0 -f raw -O qcow2 s.raw o.q
$Q map --output=json o.q | grep -c '"data": false'
#| 1
#| 0
