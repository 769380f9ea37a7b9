#!/bin/bash
# SPDX-License-Identifier: MIT
# B056: a loop of two files
# better: qemu-img convert does not end
. "$CASES/common.sh"
$Q create -q -f qcow2 A 64M
$Q create -q -f qcow2 -b A -F qcow2 C
$Q rebase -u -b C -F qcow2 A
timeout 10 $Q info --backing-chain A 2>&1
rc timeout 10 $Q info --backing-chain A
rc timeout 10 $Q info A
rc timeout 10 $Q convert -O raw A o
#| qemu-img: Backing file 'A' creates an infinite loop.
#| rc=1
#| rc=0
#| rc=1
