#!/bin/bash
# SPDX-License-Identifier: MIT
# B093: nothing gets larger than measure says
. "$CASES/common.sh"
head -c 64M /dev/urandom >f
for options in cluster_size=64k extended_l2=on,cluster_size=128k cluster_size=4k \
	cluster_size=2M refcount_bits=64; do
	$Q measure --output=json --size 64M -O qcow2 -o $options >json
	$Q convert -f raw -O qcow2 -o $options f q
	echo $(($(stat -c %s q) <= $(member json fully-allocated)))
done
#| 1
#| 1
#| 1
#| 1
#| 1
