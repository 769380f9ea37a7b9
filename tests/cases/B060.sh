#!/bin/bash
# SPDX-License-Identifier: MIT
# B060: OpenStack's inspector takes new images
. "$CASES/common.sh"
$Q create -q -f qcow2 d 1G
be32 d 4
be64 d 72
be64 d 8
$Q convert -c -O qcow2 -o compression_type=zstd d z
be64 z 72
#| 3
#| 0
#| 0
#| 8
