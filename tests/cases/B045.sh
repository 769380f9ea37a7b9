#!/bin/bash
# SPDX-License-Identifier: MIT
# B045: a damaged compressed cluster
# better: qemu-img warns 128 times
. "$CASES/common.sh"
yes 'some text line' | head -c 4M >t.raw
$Q convert -c -f raw -O qcow2 t.raw c.q
off=$(($(be64 c.q "$(l2_of c.q)") & ((1 << 54) - 1)))
head -c 60 /dev/zero | dd of=c.q bs=1 seek=$((off + 8)) conv=notrunc status=none
rc $Q check c.q
rc $Q convert -f qcow2 -O raw c.q x.raw
rc $Q convert --salvage -f qcow2 -O raw c.q y.raw
cmp -i 65536 t.raw y.raw && echo rest
#| rc=0
#| rc=1
#| rc=0
#| rest
