#!/bin/bash
# SPDX-License-Identifier: MIT
# B062: header extensions of absurd length
. "$CASES/common.sh"
make_image a
put32 a 112 0x12345678
put32 a 116 0xfffffff0
rc guarded $Q info a
make_image a
put32 a 112 0xe2792aca
put32 a 116 0x10000
rc guarded $Q info a
#| rc=1
#| rc=1
