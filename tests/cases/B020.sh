#!/bin/bash
# SPDX-License-Identifier: MIT
# B020: version 2 target, zeroes, -n
. "$CASES/common.sh"
truncate -s 256M z.raw
$Q create -q -f qcow2 -o compat=0.10 v2.q 256M
rc $Q convert -n -f raw -O qcow2 z.raw v2.q
echo $(($(stat -c %s v2.q) < 1000000))
#| rc=0
#| 1
