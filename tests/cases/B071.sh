#!/bin/bash
# SPDX-License-Identifier: MIT
# B071: a compressed cluster at offset 0 is no hole
. "$CASES/common.sh"
make_image a
put64 a "$(l2_of a)" 0x4000000000000000
rc $Q check a
rc $Q convert -O raw a o
#| rc=2
#| rc=1
