#!/bin/bash
# SPDX-License-Identifier: MIT
# B047: lost pointers to the refcount table
. "$CASES/common.sh"
make_image a
put64 a "$(be64 a 48)" 0
rc $Q check a
rc $Q check -r all a
rc $Q check a
pattern a 0x11 0 256k
make_image a
put32 a 56 0
rc $Q info a
rc $Q check -r all a
rc $Q check a
pattern a 0x22 1M 64k
#| rc=2
#| rc=0
#| rc=0
#| 1
#| rc=1
#| rc=0
#| rc=0
#| 1
