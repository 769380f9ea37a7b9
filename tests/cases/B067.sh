#!/bin/bash
# SPDX-License-Identifier: MIT
# B067: compressed clusters of each size
. "$CASES/common.sh"
line=$(printf 'abcdefgh%.0s' $(seq 512))
for i in $(seq 300); do
	printf '%s' "$line"
	head -c 1024 /dev/urandom
	head -c 3072 /dev/zero
done >c.raw
for cs in 512 1k 4k 32k 64k 128k 1M 2M; do
	for t in zlib zstd; do
		$Q convert -c -f raw -O qcow2 -o cluster_size=$cs,compression_type=$t c.raw c.q
		$Q check -q c.q
		$Q compare -f raw -F qcow2 c.raw c.q || echo "$cs $t"
	done
done | sort | uniq -c | sed 's/^ *//'
#| 16 Images are identical.
