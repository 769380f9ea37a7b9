#!/bin/bash
# SPDX-License-Identifier: MIT
# B059: LUKS named in the header, and no LUKS header; AES: info needs no key, reading does
. "$CASES/common.sh"
method() { printf "\\0\\0\\0\\$1" | dd of=a bs=1 seek=32 conv=notrunc status=none; }
$Q create -q -f qcow2 a 1M
method 2
rc $Q info a
rc $Q check a
method 1
rc $Q info a
$Q convert -O raw a r 2>&1 | grep -c "Parameter 'encrypt.key-secret' is required for cipher"
#| rc=1
#| rc=1
#| rc=0
#| 1
