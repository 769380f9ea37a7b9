# SPDX-License-Identifier: MIT
# Signals: one asks for counters, the first that ends waits for what is in flight, the second does not.
. "$(dirname "$0")/common.sh"

# A disk whose first write takes a minute.
printf 'text here\nwrite sector=0 count=8 seed=1\n' | script
"$qimg" create -q -f raw disk.raw 8M
# Counters are printed, and say that the write has begun.
begun() { kill -USR1 $pid && grep -q '"x-kicks":[1-9]' out; }
for signal in TERM INT HUP; do
	rm -f out
	"$vkvm" -kernel "$guests/guest.elf" -initrd script \
		-drive driver=raw,file.driver=delay,file.image.filename=disk.raw,file.seek-us=60000000 \
		</dev/null >out 2>&1 &
	pid=$!
	until_said here
	eventually begun
	kill -TERM $pid
	until_said "terminating on signal 15"
	kill -0 $pid || fail "it did not wait"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	[ $status -gt 128 ] || { cat out; fail "status $status"; }
	eventually "$oracle" info -f raw disk.raw
done
