#!/bin/bash
# SPDX-License-Identifier: MIT
# B035: sixty snapshots come and go: nothing is lost, nothing grows without bound
. "$CASES/common.sh"
$Q create -q -f qcow2 s 64M
for i in $(seq 60); do
	$IO -c "write -P $i $((i % 8))M 1M" s >/dev/null
	$Q snapshot -c suspend s && $Q snapshot -d suspend s
done
rc $Q check s
$Q snapshot -l s | wc -l
[ "$(stat -c %s s)" -lt $((40 << 20)) ] && echo bounded
pattern s 60 4M 1M
#| rc=0
#| 0
#| bounded
#| 1
