#!/bin/bash
# SPDX-License-Identifier: MIT
# B065: a refcount table that is larger than needed
. "$CASES/common.sh"
$Q create -q -f qcow2 -o cluster_size=512 rs 256M
$IO -c 'write 0 100M' -c 'discard 0 100M' rs >/dev/null
[ "$(be32 rs 56)" -gt 10 ] && echo large
rc $Q check rs
rc $Q resize --shrink rs 1M
rc $Q check rs
rc $Q resize rs 8G
rc $Q check rs
#| large
#| rc=0
#| rc=0
#| rc=0
#| rc=0
#| rc=0
