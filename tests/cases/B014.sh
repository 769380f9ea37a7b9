#!/bin/bash
# SPDX-License-Identifier: MIT
# B014: compression where it cannot be
. "$CASES/common.sh"
head -c 1M /dev/urandom >u.raw
rc $Q convert -c -f raw -O qcow2 -o preallocation=metadata u.raw a.q
rc $Q convert -c -f raw -O raw u.raw a.raw
yes text | head -c 1M >y.raw
$Q convert -f raw -O qcow2 y.raw d.q
rc $Q convert -c -n -f raw -O qcow2 y.raw d.q
#| rc=1
#| rc=1
#| rc=1
