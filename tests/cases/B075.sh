#!/bin/bash
# SPDX-License-Identifier: MIT
# B075: zstd is there, and deflate is the default
. "$CASES/common.sh"
head -c 1M /dev/zero >z
$Q convert -c -O qcow2 z a
be64 a 72
$Q convert -c -O qcow2 -o compression_type=zstd z b
$Q info --output=json b | grep -c '"compression-type": "zstd"'
rc $Q create -f qcow2 -o compat=0.10,compression_type=zstd c 1M
rc $Q amend -o compression_type=zlib b
#| 0
#| 1
#| rc=1
#| rc=1
