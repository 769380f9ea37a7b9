#!/bin/bash
# SPDX-License-Identifier: MIT
# B101: large and empty is fast: no step that grows with the virtual size
. "$CASES/common.sh"
$Q create -q -f qcow2 e 100T
$Q create -q -f qcow2 f 4T
rc guarded $Q convert -O raw f f.raw
rc guarded $Q check e
$Q create -q -f qcow2 -o preallocation=metadata p 200G
rc guarded $Q check p
rc guarded $Q map --output=json p
#| rc=0
#| rc=0
#| rc=0
#| rc=0
