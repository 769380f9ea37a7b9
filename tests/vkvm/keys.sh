# SPDX-License-Identifier: MIT
# -snapshot, and the keys of the console: help, monitor, writing overlays back, the end.
. "$(dirname "$0")/common.sh"

printf 'write sector=0 count=8 seed=1\nflush\ntext here\nwait\ntext there\nwait\n' | script
"$qimg" create -q -f raw disk.raw 1M
cp disk.raw before.raw
mkfifo input
begin() {
	rm -f out
	timeout 60 "$vkvm" -kernel "$guests/guest.elf" -initrd script -snapshot \
		-drive file=disk.raw,format=raw <>input >out 2>&1 &
	pid=$!
	until_said here
}
end() {
	printf '\001x' >input
	status=0
	wait $pid || status=$?
	[ $status = 0 ] || { cat out; fail "status $status"; }
	says "terminated by the user"
}

# What the guest wrote is gone.
begin
printf '\001h' >input
until_said "Ctrl-A x"
end
cmp before.raw disk.raw || fail "the image has been written"

# It is kept by a key; the monitor takes what is typed, a break is the guest's.
begin
printf '\001s\001cinfo status\rnonsense\r' >input
until_said '"running": true'
until_said "unknown command: 'nonsense'"
printf '\001c\001b' >input
until_said there
end
printf '0 8 1\n8 2040 zero\n' >expected
holds expected disk.raw raw
