#!/bin/bash
# SPDX-License-Identifier: MIT
# B076: readers of JSON by lines
. "$CASES/common.sh"
$Q create -q -f qcow2 a 3G
$Q info --output=json a | grep -oP '^\s{0,4}"virtual-size": \K[0-9]+(?=,)'
$Q info --output=json a | grep -m1 -o '"virtual-size": [0-9]*'
$Q info a | grep -c '^virtual size'
#| 3221225472
#| "virtual-size": 3221225472
#| 1
