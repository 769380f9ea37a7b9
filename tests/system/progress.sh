# SPDX-License-Identifier: MIT
# SIGUSR1 makes a running command tell how far it is, without -p too: then on stderr, as QEMU.
. "$TESTS/common.sh"
make_data raw 64
"$QIMG" convert -f raw -O qcow2 -c -r 20M raw disk >out 2>err &
pid=$!
for _ in $(seq 40); do
	sleep 0.05
	kill -USR1 $pid 2>/dev/null || break
	[ -s err ] && break
done
wait $pid || fail "convert: $(cat err)"
[ -s out ] && fail "stdout: $(cat out)"
grep -qE '^    \([0-9]+\.[0-9]{2}/100%\)' err || fail "no progress: $(cat err)"
