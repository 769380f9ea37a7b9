#!/bin/bash
# SPDX-License-Identifier: MIT
# B049: info does not open a data file
. "$CASES/common.sh"
echo secret >sec
truncate -s 64k sec
cp sec keep
$Q create -q -f qcow2 -o data_file=sec,data_file_raw=on ev 64k
cp keep sec
$Q info --output=json ev | grep -c '"data-file": "sec"'
strace -f -e trace=open,openat $Q info ev 2>&1 | grep -c '"sec"'
$Q convert -O raw ev out
head -c 6 out
#| 1
#| 0
#| secret
