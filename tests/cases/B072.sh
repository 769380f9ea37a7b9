#!/bin/bash
# SPDX-License-Identifier: MIT
# B072: the COPIED flag on a shared cluster
. "$CASES/common.sh"
make_image a
$Q snapshot -c s a
put64 a "$(l2_of a)" $(($(be64 a "$(l2_of a)") | 1 << 63))
rc $Q check a
rc $Q check -r all a
rc $Q check a
$IO -c 'write -P 0x33 0 64k' a >/dev/null
$Q convert -l s -O raw a o
pattern o 0x11 0 256k
#| rc=2
#| rc=0
#| rc=0
#| 1
