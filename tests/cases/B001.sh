#!/bin/bash
# SPDX-License-Identifier: MIT
# B001: stale data of an existing target must go, unless the caller says that it is zero
# better: a zero target with a backing file is refused
. "$CASES/common.sh"
truncate -s 4M z.raw
fill stale.raw 4M S
rc $Q convert -n -f raw -O raw z.raw stale.raw
cmp z.raw stale.raw && echo zeroed
fill stale.raw 4M S
rc $Q convert -n --target-is-zero -f raw -O raw z.raw stale.raw
cmp -s z.raw stale.raw || echo "left as it was"
rc $Q convert --target-is-zero -f raw -O raw z.raw t.raw
$Q create -q -f qcow2 -b z.raw -F raw o.q
rc $Q convert -n --target-is-zero -f raw -O qcow2 -B z.raw -F raw z.raw o.q
#| rc=0
#| zeroed
#| rc=0
#| left as it was
#| rc=1
#| rc=1
