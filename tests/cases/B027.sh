#!/bin/bash
# SPDX-License-Identifier: MIT
# B027: an image that was not closed is mended, and keeps its lazy counts
. "$CASES/common.sh"
$Q create -q -f qcow2 -o lazy_refcounts=on d 64M
{ $IO -c 'write -P 7 0 1M' -c 'sigraise 9' d; } >/dev/null 2>&1
$Q info d | grep 'cleanly'
$Q check d >/dev/null 2>&1 || echo "to be repaired"
rc $Q check -r all d
$Q info --output=json d | grep -o '"dirty-flag": [a-z]*'
$Q info d | grep -c 'lazy refcounts: true'
pattern d 7 0 1M
#| cleanly shut down: no
#| to be repaired
#| rc=0
#| "dirty-flag": false
#| 1
#| 1
