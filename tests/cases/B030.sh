#!/bin/bash
# SPDX-License-Identifier: MIT
# B030: the header overwritten by guest data
. "$CASES/common.sh"
make_image a
yes guest | head -c 64k | dd of=a bs=64k conv=notrunc status=none
rc $Q check a
rc $Q check -f qcow2 a
$Q info a | grep 'file format'
#| rc=63
#| rc=1
#| file format: raw
