#!/bin/bash
# SPDX-License-Identifier: MIT
# B007: -n with -o is an error, the target stays
. "$CASES/common.sh"
truncate -s 1M s.raw
$Q create -q -f qcow2 d.q 1M
cp d.q before
rc $Q convert -n -o cluster_size=4096 -f raw -O qcow2 s.raw d.q
cmp d.q before && echo untouched
#| rc=1
#| untouched
