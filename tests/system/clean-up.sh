# SPDX-License-Identifier: MIT
# Memory of L2 tables that nobody uses returns to the system within two intervals.
. "$TESTS/common.sh"
"$QIMG" create -q -f qcow2 -o preallocation=metadata disk 1T 2>/dev/null || skip "no room for 1T"
mkfifo commands
"$QIO" --image-opts driver=qcow2,file.filename=disk,l2-cache-size=128M,cache-clean-interval=1 \
	<commands >out 2>&1 &
pid=$!
exec 3>commands
# resident KIND: kB of anonymous memory once the commands so far have run
resident() {
	echo "length" >&3
	for _ in $(seq 400); do
		[ "$(grep -c '1 TiB' out)" -ge "$1" ] && break
		sleep 0.05
	done
	awk '/^RssAnon/ { print $2 }' /proc/$pid/status
}
low=$(resident 1)
python3 - >&3 <<'END'
for table in range(2048):
    print("read -q", table << 29, 512)
END
high=$(resident 2)
echo "sleep 2100" >&3
after=$(resident 3)
exec 3>&-
wait $pid || fail "qimg-io: $(tail -n 3 out)"
# 2048 slices of 4 KiB and what finds them
[ $((high - low)) -ge 8000 ] || fail "the tables took only $((high - low)) kB"
[ $((after - low)) -le $(((high - low) / 8)) ] || fail "from $low kB to $high kB and only to $after kB"
