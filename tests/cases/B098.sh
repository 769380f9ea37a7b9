#!/bin/bash
# SPDX-License-Identifier: MIT
# B098: a window into a file
. "$CASES/common.sh"
truncate -s 1024 t
rc $Q info 'json:{ "file": { "driver": "raw", "offset": 512, "size": 512, "file": { "filename": "t" } } }'
head -c 2048 /dev/urandom >a
$Q convert --image-opts driver=raw,file.driver=file,file.filename=a,offset=512,size=1024 -O raw w
dd if=a bs=512 skip=1 count=2 status=none | cmp w - && echo same
#| rc=0
#| same
