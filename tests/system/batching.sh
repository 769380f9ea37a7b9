# SPDX-License-Identifier: MIT
# Requests go to the kernel together: at depth 64 at most one call for 32 of them.
. "$TESTS/common.sh"
"$QIMG" create -q -f qcow2 disk 64M
"$QIO" -c 'write -q 0 64M' -c flush disk

# calls NAME BENCH-OPTIONS...: how often the system call NAME was made
calls() {
	call=$1
	shift
	strace -f -o trace -e "trace=$call" "$QIMG" bench -f qcow2 -c 6400 -d 64 -s 4096 "$@" disk \
		>out 2>&1 || fail "bench $*: $(cat out)"
	grep -c "$call(" trace
}
nr=$(calls io_uring_enter -i io_uring)
[ "$nr" -le 210 ] || fail "io_uring_enter: $nr calls for 6400 reads"
if "$QIMG" bench -f qcow2 -c 1 -i native -t none disk >out 2>&1; then
	nr=$(calls io_submit -i native -t none)
	[ "$nr" -ge 1 ] || fail "io_submit was not used"
	[ "$nr" -le 210 ] || fail "io_submit: $nr calls for 6400 reads"
fi
