#!/bin/bash
# SPDX-License-Identifier: MIT
# B019: written zeroes take no space in the target
. "$CASES/common.sh"
head -c 64M /dev/zero >z.raw
for format in qcow2 raw; do
	$Q convert -f raw -O $format z.raw t.$format
	echo $format $(($(stat -c %b t.$format) * 512 < 1000000))
done
#| qcow2 1
#| raw 1
