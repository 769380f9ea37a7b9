#!/bin/bash
# SPDX-License-Identifier: MIT
# B055: a count of snapshots without a table: the header is not taken for one
. "$CASES/common.sh"
make_image a
put32 a 60 1
put64 a 64 0
$Q info a >/dev/null 2>&1
[ $? -le 1 ] && echo info
$Q snapshot -l a >/dev/null 2>&1
[ $? -le 1 ] && echo list
rc $Q check a
$Q check -r all a >/dev/null 2>&1
[ $? -le 2 ] && echo repair
pattern a 0x11 0 256k
#| info
#| list
#| rc=2
#| repair
#| 1
