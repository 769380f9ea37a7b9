#!/bin/bash
# SPDX-License-Identifier: MIT
# B087: info of the first bytes of an image
. "$CASES/common.sh"
$Q create -q -f qcow2 a 10G
$IO -f qcow2 -c 'write -q 0 1M' a
for n in 104 512 65536; do
	head -c $n a >h
	$Q info h | sed -n 2p
done
$Q check h >/dev/null 2>&1
echo "check=$?"
head -c 60 a >h
rc $Q info -f qcow2 h
#| file format: qcow2
#| file format: qcow2
#| file format: qcow2
#| check=2
#| rc=1
