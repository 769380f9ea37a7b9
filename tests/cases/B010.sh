#!/bin/bash
# SPDX-License-Identifier: MIT
# B010: convert into a pipe; a lone - is a file
# better: qemu-img cannot write into a pipe
. "$CASES/common.sh"
truncate -s 1M z.raw
$Q convert -f raw -O raw z.raw /dev/stdout >so.raw
echo "rc=$? $(stat -c %s so.raw)"
$Q convert -f raw -O raw z.raw /dev/stdout | wc -c
$Q convert -f raw -O qcow2 z.raw /dev/stdout | cat >so.q
rc $Q compare -f raw -F qcow2 z.raw so.q
rc $Q check so.q
$Q convert -f raw -O raw z.raw - 2>err | cat
stat -c '%n %s' ./-
grep -c warning err
#| rc=0 1048576
#| 1048576
#| rc=0
#| rc=0
#| ./- 1048576
#| 1
