#!/bin/bash
# SPDX-License-Identifier: MIT
# B052: a resize does not touch a file that the guest names
# better: qemu-img resizes the victim
. "$CASES/common.sh"
truncate -s 1M victim
cp victim keep
$Q create -q -f qcow2 -o data_file=victim,data_file_raw=on e 2M
cp keep victim
cp e vm.raw
truncate -s 4M vm.raw
cp vm.raw w.raw
rc $Q resize -f raw vm.raw 5M
stat -c %s vm.raw victim
rc $Q resize w.raw 8M
stat -c %s victim
#| rc=0
#| 5242880
#| 1048576
#| rc=1
#| 1048576
