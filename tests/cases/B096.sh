#!/bin/bash
# SPDX-License-Identifier: MIT
# B096: exit codes of check
. "$CASES/common.sh"
truncate -s 1M r
rc $Q check r
$Q check --output=json -f raw r >out 2>/dev/null
echo "rc=$? $(wc -c <out)"
rc $Q check nofile
$Q create -q -f qcow2 a 64M
$IO -f qcow2 -c 'write -q -P 1 0 256k' a
$Q check -q a
echo "rc=$?"
#| rc=63
#| rc=63 0
#| rc=1
#| rc=0
