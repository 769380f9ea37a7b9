#!/bin/bash
# SPDX-License-Identifier: MIT
# B017: what was converted compares equal
. "$CASES/common.sh"
head -c 5M /dev/urandom >s.raw
$Q convert -p -f raw -O qcow2 s.raw o.q >/dev/null
$Q compare -f raw -F qcow2 s.raw o.q
echo "rc=$?"
#| Images are identical.
#| rc=0
