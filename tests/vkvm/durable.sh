# SPDX-License-Identifier: MIT
# Killed in the middle of writing, an image is sound and has everything that was flushed.
. "$(dirname "$0")/common.sh"

script <<-'END'
	write sector=0 count=512 seed=1
	write sector=4000 count=300 seed=2
	flush
	text flushed
	write sector=8000 count=100 seed=3
	write sector=9000 count=100 seed=4
	repeat count=2 seed=100000
END
printf '0 512 1\n4000 300 2\n' >expected
for options in cache=writeback cache=none cache=writethrough lazy; do
	create=
	[ $options != lazy ] || create="-o lazy_refcounts=on"
	"$qimg" create -q -f qcow2 $create disk.qcow2 8M
	drive=file=disk.qcow2
	[ $options = lazy ] || drive=$drive,$options
	rm -f out
	"$vkvm" -kernel "$guests/guest.elf" -initrd script -drive $drive </dev/null >out 2>&1 &
	until_said flushed
	kill -9 $!
	wait $! || true
	# The kernel may hold the locks of a killed program a moment longer.
	eventually "$qimg" info disk.qcow2
	# Clusters may be lost, no more; lazy counts are repaired at the next start.
	status=0
	"$oracle" check -q -r leaks disk.qcow2 || status=$?
	[ $status = 0 ] || [ $options = lazy ] || fail "check says $status with $options"
	holds expected disk.qcow2 qcow2
	rm disk.qcow2
done
