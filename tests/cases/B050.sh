#!/bin/bash
# SPDX-License-Identifier: MIT
# B050: json: in the place of a data file's name
# better: qemu-img opens whatever the name says
. "$CASES/common.sh"
name=$(printf 'd%.0s' $(seq 58))
$Q create -q -f qcow2 -o data_file="$name" a 1M
json='json:{"driver":"null-co","size":"1E","read-zeroes":"on"}  '
at=$(grep -obUa "$name" a | head -n 1 | cut -d: -f1)
printf '%s' "$json" | dd of=a bs=1 seek="$at" conv=notrunc status=none
guarded $Q info --output=json a | grep -c null-co
guarded $Q convert -O raw a o 2>err
echo "rc=$? $(wc -l <err)"
#| 1
#| rc=1 1
