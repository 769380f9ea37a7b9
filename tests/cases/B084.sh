#!/bin/bash
# SPDX-License-Identifier: MIT
# B084: callers try again when they see this text
. "$CASES/common.sh"
$Q create -q -f qcow2 k 8M
hold k
$Q convert -O qcow2 k o 2>&1 | grep -c 'Failed to get shared "write" lock'
let_go
#| 1
