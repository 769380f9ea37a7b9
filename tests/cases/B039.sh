#!/bin/bash
# SPDX-License-Identifier: MIT
# B039: counts that were never written are made again
. "$CASES/common.sh"
make_image a
dd if=/dev/zero of=a bs=64k seek=$(($(be64 a $(be64 a 48)) / 65536)) count=1 conv=notrunc status=none
rc $Q check a
rc $Q check -r all a
rc $Q check a
pattern a 0x11 0 256k
#| rc=2
#| rc=0
#| rc=0
#| 1
