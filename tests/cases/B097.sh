#!/bin/bash
# SPDX-License-Identifier: MIT
# B097: options behind operands, glued, and --
. "$CASES/common.sh"
rc $Q create x -f qcow2 1M -o cluster_size=4096
$Q info x --output=json -f qcow2 -U | grep -c '"format": "qcow2"'
rc $Q bitmap --add x b0 -g 65536
rc $Q create -f qcow2 -- -dash 1M
rc $Q info -- -dash
rc $Q create -fqcow2 y 1M
#| rc=0
#| 1
#| rc=0
#| rc=0
#| rc=0
#| rc=0
