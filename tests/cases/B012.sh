#!/bin/bash
# SPDX-License-Identifier: MIT
# B012: callers look for these words to try another preallocation
. "$CASES/common.sh"
$Q create -f raw -o preallocation=metadata x.raw 1M 2>err >/dev/null
echo "rc=$? $(grep -c 'Unsupported preallocation mode' err)"
truncate -s 1M y.raw
$Q resize --preallocation=metadata -f raw y.raw 2M 2>err >/dev/null
echo "rc=$? $(grep -c 'Unsupported preallocation mode' err)"
#| rc=1 1
#| rc=1 1
