#!/bin/bash
# SPDX-License-Identifier: MIT
# B068: an image of zero clusters only
. "$CASES/common.sh"
$Q create -q -f qcow2 z 1G
$IO -c 'write -zu 0 1G' z >/dev/null
$Q map --output=json z
$Q convert -O raw z o.raw
stat -c %s o.raw
[ "$(stat -c %b o.raw)" -lt 100 ] && echo sparse
#| [{ "start": 0, "length": 1073741824, "depth": 0, "present": true, "zero": true, "data": false}]
#| 1073741824
#| sparse
