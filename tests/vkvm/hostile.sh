# SPDX-License-Identifier: MIT
# A driver that breaks the rules: the device answers or asks for a reset, and goes on to work.
. "$(dirname "$0")/common.sh"

"$qimg" create -q -f qcow2 disk.qcow2 8M
script <<-'END'
	write sector=0 count=8 seed=1
	text no status byte
	raw poll count=1
	desc addr=0 len=16 flags=0x8000 fill=0
	text status in no memory
	raw poll count=2
	desc addr=0 len=16 flags=0x8001 next=1
	desc addr=0xc0000000 len=1 flags=2
	text status at the last address
	raw poll count=2
	desc addr=0 len=16 flags=0x8001 next=1
	desc addr=0xffffffffffffffff len=1 flags=2
	text data where no memory is
	raw poll count=3
	desc addr=0 len=16 flags=0x8001 next=1
	desc addr=0xfee00000 len=512 flags=3 next=2
	desc addr=0x100000 len=1 flags=0x8002
	text a circle
	raw poll count=2
	desc addr=0 len=16 flags=0x8001 next=1
	desc addr=0 len=16 flags=0x8001 next=0
	text next is outside
	raw poll count=1
	desc addr=0 len=16 flags=0x8001 next=200
	text a read behind the end
	verify sector=16384 count=1 fails
	verify sector=16383 count=2 fails
	write sector=0xffffffffffffffff count=1 fails
	zeroes sector=16380 count=8 fails
	discard sector=0 count=8 unmap unsupp
	text 4 GiB in one descriptor
	raw poll count=3
	desc addr=0 len=16 flags=0x8001 next=1
	desc addr=0x100000 len=0xffffffff flags=3 next=2
	desc addr=0x100000 len=1 flags=0x8002
	verify sector=0 count=8 seed=1
	reset seed=0
	verify sector=0 count=8 seed=1
	write sector=8 count=8 seed=2
	verify sector=8 count=8 seed=2
	end seed=8
END
guest 8 -hda disk.qcow2
sound disk.qcow2
printf '0 8 1\n8 8 2\n16 16368 zero\n' >expected
holds expected disk.qcow2 qcow2
# Each raw chain was answered: those with a status byte by IOERR, the others by nothing.
[ "$(grep -c '^raw: status 00000000000000ee length 0' out)" = 5 ] || fail "chains without a status"
[ "$(grep -c '^raw: status 0000000000000001 length 1' out)" = 2 ] || fail "chains that fail"
