#!/bin/bash
# SPDX-License-Identifier: MIT
# B051: a guest writes a header into its raw disk
. "$CASES/common.sh"
truncate -s 10M vm.raw
$Q create -q -u -f qcow2 -b /etc/hostname -F raw e.q 1M
dd if=e.q of=vm.raw conv=notrunc status=none
$Q info vm.raw | sed -n 2p
$Q info -f raw vm.raw | sed -n 2p
rc $Q convert -f raw -O raw vm.raw copy.raw
cmp vm.raw copy.raw && echo same
truncate -s 1M p.raw
$Q resize p.raw 2M 2>&1 | grep -c WARNING
$Q resize -f raw p.raw 3M 2>&1 | grep -c WARNING
#| file format: qcow2
#| file format: raw
#| rc=0
#| same
#| 1
#| 0
