#!/bin/bash
# SPDX-License-Identifier: MIT
# B085: shrinking needs permission
. "$CASES/common.sh"
truncate -s 4M r
$Q resize -f raw r 1M >/dev/null 2>&1
echo "rc=$? $(stat -c %s r)"
$Q resize -f raw --shrink r 1M
echo "rc=$? $(stat -c %s r)"
$Q resize -f raw r +1M
$Q resize -f raw --shrink r -1M
stat -c %s r
rc $Q resize -f raw --shrink r 0
#| rc=1 4194304
#| Image resized.
#| rc=0 1048576
#| Image resized.
#| Image resized.
#| 1048576
#| rc=1
