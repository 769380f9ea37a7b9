#!/bin/bash
# SPDX-License-Identifier: MIT
# B041: the mark of a corrupt image
. "$CASES/common.sh"
make_image a
printf '\2' | dd of=a bs=1 seek=79 conv=notrunc status=none
$Q info a | grep -c 'corrupt: true'
rc $Q check a
rc $Q resize a 128M
rc $Q convert -O raw a o.raw
rc $Q check -r all a
$Q info a | grep -c 'corrupt: false'
#| 1
#| rc=0
#| rc=1
#| rc=0
#| rc=0
#| 1
