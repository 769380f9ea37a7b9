# SPDX-License-Identifier: MIT
# QMP while the guest works: snapshots, size, overlay, reopening, throttling, errors, stop and cont.
. "$(dirname "$0")/common.sh"

# begin OPTIONS...: the guest in the background, its monitor at the socket qmp
begin() {
	rm -f qmp out
	mkfifo input 2>/dev/null || true
	timeout 60 "$vkvm" -kernel "$guests/guest.elf" -initrd script $debug_exit \
		-qmp unix:qmp,server=on,wait=off -monitor unix:hmp,server=on "$@" \
		<>input >out 2>&1 &
	pid=$!
}
qmp() { python3 "$tests/qmp.py" qmp || { cat out; fail "qmp"; }; }
type_key() { printf 'x' >input; }
finish() { status=0; wait $pid || status=$?; cat out; [ $status = "$1" ] || fail "status $status"; }

script <<-'END'
	config
	write sector=0 count=256 seed=1
	text first
	wait
	write sector=0 count=8 seed=2
	write sector=1000 count=8 seed=3
	text second
	wait
	config
	write sector=16384 count=8 seed=4
	verify sector=0 count=8 seed=2
	verify sector=8 count=248 seed=1
	flush
	text third
	wait
	write sector=16 count=8 seed=5
	verify sector=16384 count=8 seed=4
	end seed=8
END
"$qimg" create -q -f qcow2 disk.qcow2 8M
begin -hda disk.qcow2 -name box
until_said first
qmp <<-'END'
	query-status
	expect running=true status=running
	query-name
	expect name=box
	nonsense
	fails The command nonsense has not been found
	blockdev-snapshot-internal-sync {"device":"virtio0","name":"one"}
	block_resize {"device":"virtio0","size":4194304}
	fails cannot be made smaller
	block_resize {"device":"nowhere","size":4194304}
	fails Cannot find device
	query-block
	expect 0.device=virtio0 0.inserted.image.snapshots.0.name=one 0.inserted.drv=qcow2
END
type_key
until_said second
qmp <<-'END'
	block_resize {"device":"virtio0","size":16777216}
	blockdev-reopen {"options":[{"node-name":"virtio0","l2-cache-size":4096}]}
	blockdev-reopen {"options":[{"node-name":"virtio0","l2-cache-size":"much"}]}
	fails l2-cache-size
	query-blockstats
	expect 0.stats.wr_operations=3 0.stats.wr_bytes=139264 0.stats.failed_wr_operations=0
	human-monitor-command {"command-line":"info status"}
	human-monitor-command {"command-line":"block_resize virtio0 16M"}
	stop
	event STOP
	query-status
	expect running=false status=paused
	cont
	event RESUME
END
type_key
until_said third
qmp <<-'END'
	blockdev-snapshot-sync {"device":"virtio0","snapshot-file":"over.qcow2","format":"qcow2"}
	query-block
	expect 0.inserted.file=over.qcow2
	block-latency-histogram-set {"id":"virtio0","boundaries":[1000,10000000000],"boundaries-write":[60000000000]}
	block-latency-histogram-set {"id":"virtio0","boundaries":[10,10]}
	fails Device 'virtio0' set boundaries fail
	query-blockstats
	expect 0.stats.wr_latency_histogram.bins.1=0 0.stats.rd_latency_histogram.boundaries.1=10000000000
	block_set_io_throttle {"device":"virtio0","iops":1000,"bps":0,"iops_rd":0,"iops_wr":0}
END
type_key
finish 17
[ "$(grep -c 'capacity 16384 ' out)" = 1 ] || fail "the first size"
[ "$(grep -c 'capacity 32768 ' out)" = 1 ] || fail "the second size"
sound disk.qcow2
sound over.qcow2
printf '0 8 2\n8 8 1\n16 8 5\n24 232 1\n1000 8 3\n16384 8 4\n' >expected
holds expected over.qcow2 qcow2
printf '0 8 2\n8 248 1\n1000 8 3\n16384 8 4\n' >expected
holds expected disk.qcow2 qcow2
"$qimg" snapshot -a one disk.qcow2
printf '0 256 1\n256 16128 zero\n' >expected
holds expected disk.qcow2 qcow2

# A write that fails stops the machine; after cont it is tried again.
script <<-'END'
	write sector=0 count=8 seed=1
	verify sector=0 count=8 seed=1
	end seed=8
END
"$qimg" create -q -f qcow2 disk.qcow2 8M
begin -drive driver=qcow2,file.driver=blkdebug,file.image.filename=disk.qcow2,werror=stop,file.inject-error.0.event=write_aio,file.inject-error.0.errno=28,file.inject-error.0.once=on -S
qmp <<-'END'
	cont
	event BLOCK_IO_ERROR device=virtio0 operation=write action=stop nospace=true
	query-status
	expect status=io-error
	query-block
	expect 0.io-status=failed
	cont
END
finish 17
sound disk.qcow2

# One that is only reported is told, too.
printf 'write sector=0 count=8 seed=1 fails\nwait\nend seed=8\n' | script
begin -drive driver=qcow2,file.driver=blkdebug,file.image.filename=disk.qcow2,werror=report,file.inject-error.0.event=write_aio,file.inject-error.0.errno=5,file.inject-error.0.once=on -S
qmp <<-'END'
	cont
	event BLOCK_IO_ERROR device=virtio0 operation=write action=report nospace=false
	query-status
	expect status=running
END
type_key
finish 17

# Damage found while the guest runs is told, and the image is not written any more.
"$qimg" create -q -f qcow2 base.qcow2 8M
"$qimg" create -q -f qcow2 -b base.qcow2 -F qcow2 disk.qcow2
"$BUILD/qimg-io" -c 'write -q 0 64k' disk.qcow2
python3 - disk.qcow2 <<-'END'
	import struct, sys
	with open(sys.argv[1], 'r+b') as image:
	    at = lambda off: (image.seek(off), struct.unpack('>Q', image.read(8))[0])[1]
	    image.seek(at(at(40)) & 0x00fffffffffffe00)
	    image.write(struct.pack('>Q', 1 << 63 | 0x50200))
	END
printf 'write sector=0 count=8 seed=1 fails\nwait\nend seed=8\n' | script
begin -hda disk.qcow2 -S
qmp <<-'END'
	cont
	event BLOCK_IMAGE_CORRUPTED
	query-named-block-nodes
	expect 0.node-name=virtio0 0.ro=false 1.node-name=virtio0#1 1.ro=true 1.drv=qcow2
	query-status
	expect status=running
	END
type_key
finish 17
"$qimg" info disk.qcow2 | grep -q 'corrupt: true' || fail "the image is not marked corrupt"
expect 1 "$vkvm" -drive file=disk.qcow2,id=a/b
says "expects an identifier"
"$qimg" create -q -f qcow2 disk.qcow2 8M

# Above the rate requests wait; larger ones than the burst pass all the same.
script <<-'END'
	write sector=0 count=512 seed=1
	batch count=4
	write sector=1000 count=8 seed=2
	write sector=2000 count=8 seed=3
	verify sector=0 count=8 seed=1
	verify sector=8 count=8 seed=1
	end seed=8
END
guest 8 -drive file=disk.qcow2,throttling.iops-total=50,throttling.bps-write=1M
# Signals end it in order.
printf 'write sector=0 count=8 seed=9\ntext here\nwait\n' | script
begin -hda disk.qcow2
until_said here
pkill -TERM -P $pid vkvm || kill $pid
finish 0
printf '0 8 9\n' >expected
holds expected disk.qcow2 qcow2
