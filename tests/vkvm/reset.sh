# SPDX-License-Identifier: MIT
# Resets of the device and of the machine, in all ways there are; read-only and full disks.
. "$(dirname "$0")/common.sh"

"$qimg" create -q -f qcow2 disk.qcow2 8M
# Without event indices, without indirect tables, without flush: each still works.
script <<-'END'
	reset seed=0x20000000
	write sector=0 count=8 seed=1
	reset seed=0x10000000
	verify sector=0 count=8 seed=1
	reset seed=0x200
	write sector=8 count=8 seed=2
	reset seed=0
	verify sector=8 count=8 seed=2
	end seed=5
END
guest 5 -hda disk.qcow2
# The machine's resets end it with -no-reboot; without, the guest starts again from the beginning.
for way in 0 1 2; do
	printf 'text here\nreboot seed=%s\n' $way | script
	expect 0 timeout 60 "$vkvm" -no-reboot -kernel "$guests/guest.elf" -initrd script \
		-hda disk.qcow2
	says here
done
printf 'text again\nflush\nreboot seed=0\n' | script
timeout -s TERM 2 "$vkvm" -kernel "$guests/guest.elf" -initrd script -hda disk.qcow2 \
	</dev/null >out 2>&1 || true
[ "$(grep -c again out)" -gt 2 ] || fail "the machine was not reset"
sound disk.qcow2

script <<-'END'
	write sector=0 count=8 seed=1 fails
	zeroes sector=0 count=8 fails
	flush
	verify sector=0 count=8 seed=1
	id
	end seed=8
END
guest 8 -drive file=disk.qcow2,readonly=on,serial=S123
says "id S123"
