#!/bin/bash
# SPDX-License-Identifier: MIT
# B095: exit codes of compare
. "$CASES/common.sh"
truncate -s 1M a
truncate -s 2M b
cp a c
printf x | dd of=c bs=1 seek=700000 conv=notrunc status=none
$Q compare -f raw -F raw a b
echo "rc=$?"
rc $Q compare -f raw -F raw -s a b
$Q compare -f raw -F raw a c
echo "rc=$?"
rc $Q compare a none
rc $Q compare -f bogus a b
rc $Q compare a
#| Warning: Image size mismatch!
#| Images are identical.
#| rc=0
#| rc=1
#| Content mismatch at offset 699904!
#| rc=1
#| rc=2
#| rc=2
#| rc=1
