#!/bin/bash
# SPDX-License-Identifier: MIT
# B070: a last cluster that is cut to what is used
. "$CASES/common.sh"
$Q create -q -f qcow2 a 64k
$IO -c 'write -P 5 0 512' a >/dev/null
truncate -s $((($(stat -c %s a) + 65535) / 65536 * 65536 - 65536 + 512)) a
rc $Q check a
rc $Q convert -O raw a r
$IO -r -f raw -c 'read -P 5 0 512' -c 'read -P 0 512 65024' r | grep -c failed
#| rc=0
#| rc=0
#| 0
