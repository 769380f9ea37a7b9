#!/bin/bash
# SPDX-License-Identifier: MIT
# B008: a target that is too small is not touched
. "$CASES/common.sh"
$Q create -q -f qcow2 s.q 20M
head -c 100 /dev/urandom >t.raw
truncate -s 10M t.raw
cp t.raw before
$Q convert -n -f qcow2 -O raw s.q t.raw 2>err
echo "rc=$?"
grep -c 'output file is smaller than input file' err
cmp t.raw before && echo untouched
#| rc=1
#| 1
#| untouched
