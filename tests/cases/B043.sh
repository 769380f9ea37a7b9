#!/bin/bash
# SPDX-License-Identifier: MIT
# B043: the backing file is gone: the layer can be checked
# better: qemu-img check wants the backing file
. "$CASES/common.sh"
$Q create -q -f qcow2 b 4M
$IO -c 'write -P 1 0 4M' b >/dev/null
$Q create -q -f qcow2 -b b -F qcow2 o
$IO -c 'write -P 2 1M 64k' o >/dev/null
rm b
rc $Q convert -O raw o x.raw
rc $Q info o
rc $Q check o
$Q rebase -u -b '' o
rc $Q convert -O raw o x.raw
pattern x.raw 2 1M 64k
pattern x.raw 0 0 1M
#| rc=1
#| rc=0
#| rc=0
#| rc=0
#| 1
#| 1
