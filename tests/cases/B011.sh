#!/bin/bash
# SPDX-License-Identifier: MIT
# B011: convert from a pipe
# better: qemu-img wants a regular file
. "$CASES/common.sh"
head -c 1M /dev/urandom >z.raw
cat z.raw | $Q convert -f raw -O qcow2 /dev/stdin o.q
echo "rc=$?"
$Q compare -f raw -F qcow2 z.raw o.q
$Q convert -f raw -O qcow2 /dev/stdin o.q <z.raw
echo "rc=$?"
#| rc=0
#| Images are identical.
#| rc=0
