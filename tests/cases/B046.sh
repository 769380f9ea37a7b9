#!/bin/bash
# SPDX-License-Identifier: MIT
# B046: half a download is no image of zeros
# better: qemu-img copies zeros
. "$CASES/common.sh"
make_image a
truncate -s $(($(stat -c %s a) - 100000)) a
rc $Q check a
rc $Q convert -f qcow2 -O raw a o.raw
rc $Q convert --salvage -f qcow2 -O raw a o.raw
pattern o.raw 0x11 0 192k
#| rc=2
#| rc=1
#| rc=0
#| 1
