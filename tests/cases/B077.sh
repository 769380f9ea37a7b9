#!/bin/bash
# SPDX-License-Identifier: MIT
# B077: readers of the size in the text
. "$CASES/common.sh"
$Q create -q -f qcow2 a 2361393152
$Q info a | awk -F'[ ()]+' '/^virtual size: /{print $5}'
$Q info a | grep '^virtual size: ' | sed 's/.*(\(.*\) bytes)/\1/'
$Q info a | grep -oE 'virtual size: [0-9.]+ GiB \([0-9]+ bytes\)'
#| 2361393152
#| 2361393152
#| virtual size: 2.2 GiB (2361393152 bytes)
