# SPDX-License-Identifier: MIT
# Where io_uring is forbidden everything works by another engine; who asks for it is told.
. "$TESTS/common.sh"
make_data raw 8
for errno in 1 38; do
	"$DENY" $errno true || skip "no seccomp"
	"$DENY" $errno "$QIMG" convert -f raw -O qcow2 raw disk || fail "convert: $errno"
	"$DENY" $errno "$QIMG" compare -f raw -F qcow2 raw disk >out || fail "compare: $(cat out)"
	"$DENY" $errno "$QIO" -c 'write -q -P 1 1M 64k' -c 'read -q -P 1 1M 64k' disk >out 2>&1
	[ -s out ] && fail "qimg-io: $(cat out)"
	"$DENY" $errno "$QIMG" bench --output=json -c 64 disk >out || fail "bench: $(cat out)"
	grep -q '"engine": "threads"' out || fail "another engine was expected: $(cat out)"
	"$DENY" $errno "$QIMG" bench -c 64 -i io_uring disk >out 2>&1 && fail "-i io_uring works"
	[ "$(wc -l <out)" = 1 ] || fail "not one line: $(cat out)"
done
true
