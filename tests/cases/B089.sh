#!/bin/bash
# SPDX-License-Identifier: MIT
# B089: an overlay on an encrypted base is made without a key, and not read without one
. "$CASES/common.sh"
printf pw >pw
$Q create -q -f qcow2 --object secret,id=s0,file=pw \
	-o encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10 e 10M 2>err
grep -q "does not accept value 'sha256'" err && { echo "built without encryption"; exit 77; }
rc $Q create -q -f qcow2 -b e -F qcow2 o
$Q info --output=json o | grep -c '"virtual-size": 10485760'
rc $Q create -q -f qcow2 -F qcow2 -u \
	-b 'json:{"encrypt.key-secret":"s1","driver":"qcow2","file.filename":"e"}' p 1048576
$Q info --output=json e | grep -c '"encrypted": true'
$Q convert -O raw o r 2>&1 | grep -c "Parameter 'encrypt.key-secret' is required for cipher"
rc $Q convert --object secret,id=s0,file=pw --image-opts -O raw \
	driver=qcow2,file.filename=o,backing.encrypt.key-secret=s0 r
#| rc=0
#| 1
#| rc=0
#| 1
#| 1
#| rc=0
