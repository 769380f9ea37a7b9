#!/bin/bash
# SPDX-License-Identifier: MIT
# B066: compatible bits stay, known or not; unknown autoclear bits go
. "$CASES/common.sh"
$Q create -q -f qcow2 -o lazy_refcounts=on a 64M
put64 a 80 0x81
put64 a 88 0x80
$Q resize -q a 128M
$Q snapshot -c s a
$Q rebase -u -b '' a
$Q bitmap --add a b0
$Q amend -o refcount_bits=16 a
od -An -tx1 -j 80 -N 16 a
#|  00 00 00 00 00 00 00 81 00 00 00 00 00 00 00 01
