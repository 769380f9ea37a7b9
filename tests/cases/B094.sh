#!/bin/bash
# SPDX-License-Identifier: MIT
# B094: dd without a target writes to standard output
. "$CASES/common.sh"
# better: qemu-img refuses
head -c 1M /dev/urandom >s
$Q dd bs=64k if=s -f raw -O raw 2>/dev/null >o
echo "rc=$? $(cmp s o && echo same)"
$Q dd -f raw if=s of=d bs=256k count=1
stat -c %s d
#| rc=0 same
#| 262144
