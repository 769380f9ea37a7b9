#!/bin/bash
# SPDX-License-Identifier: MIT
# B042: the end offset is the end of the highest cluster in use
. "$CASES/common.sh"
$Q create -q -f qcow2 a 64M
$IO -c 'write 0 8M' -c 'discard 1M 2M' a >/dev/null
$Q check --output=json a >j
[ "$(member j image-end-offset)" = "$(stat -c %s a)" ] && echo end
grep -c leaks j
#| end
#| 0
