#!/bin/bash
# SPDX-License-Identifier: MIT
# B082: readers of the help
. "$CASES/common.sh"
$Q --help | grep -sqE -- '\binfo\b.*-U\b'
echo "rc=$?"
rc $Q info --help
$Q --version | head -n 1 | grep -cE '^(qemu-img|qimg) version [0-9]+\.[0-9.]+'
$Q --help | grep -c -- --target-is-zero
$Q --help | grep -ciE '^Supported (image )?formats:.*\bqcow2\b.*\braw\b'
#| rc=0
#| rc=0
#| 1
#| 1
#| 1
