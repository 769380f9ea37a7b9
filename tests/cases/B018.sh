#!/bin/bash
# SPDX-License-Identifier: MIT
# B018: an image that another process has open
. "$CASES/common.sh"
$Q create -q -f qcow2 k.q 8M
hold k.q
$Q info k.q >out 2>err
echo "info rc=$? shared: $(grep -c 'Failed to get shared "write" lock' err)" \
	"question: $(grep -c '^Is another process using the image \[k.q\]?' err)"
echo "info -U $(rc $Q info -U k.q)"
echo "convert $(rc $Q convert -O raw k.q k.raw)"
$Q resize k.q 9M >out 2>err
echo "resize rc=$? write: $(grep -c 'Failed to get "write" lock' err)"
echo "check -U -r $(rc $Q check -U -r all k.q)"
let_go
echo "resize $(rc $Q resize k.q 9M)"
#| info rc=1 shared: 1 question: 1
#| info -U rc=0
#| convert rc=1
#| resize rc=1 write: 1
#| check -U -r rc=1
#| resize rc=0
