#!/bin/bash
# SPDX-License-Identifier: MIT
# B092: measure of one layer, and what convert then makes
. "$CASES/common.sh"
head -c 10M /dev/urandom >b
truncate -s 64M b
$Q create -q -f qcow2 -b b -F raw o
$Q measure --output json -O qcow2 \
	'json:{"driver":"qcow2","file":{"driver":"file","filename":"o"},"backing":null}' >json
member json required
$Q measure --output json -O qcow2 -f raw b >json
member json required
$Q convert -f raw -O qcow2 b c
stat -c %s c
#| 327680
#| 10813440
#| 10813440
