#!/bin/bash
# SPDX-License-Identifier: MIT
# B081: the help names the formats in the old words
. "$CASES/common.sh"
$Q --help | grep -ciE 'Supported (image )?formats:'
$Q --help | tr '\n' ' ' | grep -oiE 'Supported (image )?formats:[a-zA-Z0-9_ -]*luks' | wc -l
$Q --help | grep -c -- --target-is-zero
#| 1
#| 1
#| 1
