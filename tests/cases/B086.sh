#!/bin/bash
# SPDX-License-Identifier: MIT
# B086: the backing format is mandatory
. "$CASES/common.sh"
truncate -s 1M b
$Q create -f qcow2 -b b o >out 2>err
echo "create rc=$? $(grep -c 'Detected format of raw' err)"
$Q create -q -f qcow2 -b b -F raw o
echo "rebase $(rc $Q rebase -b b o)"
echo "rebase to nothing $(rc $Q rebase -u -b '' o)"
echo "convert $(rc $Q convert -O qcow2 -B b o p)"
#| create rc=1 1
#| rebase rc=1
#| rebase to nothing rc=0
#| convert rc=1
