#!/bin/bash
# SPDX-License-Identifier: MIT
# B024: a long line of options, and a snapshot as the source
. "$CASES/common.sh"
$Q create -q -f qcow2 s.q 8M
$IO -f qcow2 -c 'write -q -P 1 0 1M' s.q
$Q snapshot -c s1 s.q
$IO -f qcow2 -c 'write -q -P 2 0 1M' s.q
truncate -s 8M t.raw
rc $Q convert -n --target-is-zero -W -S 1M -O raw -l snapshot.name=s1 -U \
	--image-opts driver=qcow2,file.filename=s.q t.raw
$IO -r -f raw -c 'read -P 1 0 1M' t.raw | head -n 1
rc $Q convert -l nosuch -O raw s.q u.raw
#| rc=0
#| read 1048576/1048576 bytes at offset 0
#| rc=1
