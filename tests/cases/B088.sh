#!/bin/bash
# SPDX-License-Identifier: MIT
# B088: a missing file
. "$CASES/common.sh"
$Q info --output=json /nonexistent >out 2>err
echo "rc=$? $(grep -c 'No such file or directory' err) $(wc -c <out)"
#| rc=1 1 0
