#!/bin/bash
# SPDX-License-Identifier: MIT
# B099: rebase across a layer with subclusters
. "$CASES/common.sh"
$Q create -q -f qcow2 root 8G
$IO -c 'write -P 1 0 64M' root >/dev/null
$Q create -q -f qcow2 -b root -F qcow2 bse
$Q create -q -f qcow2 -o extended_l2=on -b bse -F qcow2 int
$IO -c 'write -P 2 10M 4k' -c 'write -P 3 12M 3M' -c 'write -P 4 0 33M' int >/dev/null
$Q create -q -f qcow2 -b int -F qcow2 img
$Q convert -O qcow2 img before
rc $Q rebase -F qcow2 -b bse img
$Q compare before img
#| rc=0
#| Images are identical.
