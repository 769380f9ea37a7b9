#!/bin/bash
# SPDX-License-Identifier: MIT
# B100: snapshots of a format that has none
. "$CASES/common.sh"
$Q create -q -f raw x 1M
rc $Q snapshot -f raw -a t x
rc $Q snapshot -f raw -c t x
rc $Q snapshot -f raw -d t x
rc $Q snapshot -l x
#| rc=1
#| rc=1
#| rc=1
#| rc=0
