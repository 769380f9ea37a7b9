#!/bin/bash
# SPDX-License-Identifier: MIT
# B083: readers of the version
. "$CASES/common.sh"
$Q --version | head -n 1 | awk '{print $3}' | grep -cE '^[0-9]+(\.[0-9]+)+$'
$Q --version | head -n 1 | grep -c '^qemu-img version 7\.2\.[0-9]* '
rc $Q -V
#| 1
#| 1
#| rc=0
