# SPDX-License-Identifier: MIT
# What the tests share: sourced by tests/vkvm/*.sh.  $WORK is an empty folder, $BUILD has the programs.
set -e
guests=$BUILD/tests/vkvm
vkvm=$BUILD/vkvm
qimg=$BUILD/qimg
oracle=$(command -v qemu-img || echo "$qimg")
tests=$(cd "$(dirname "$0")" && pwd)
cd "$WORK"

fail() { echo "failed: $*"; exit 1; }
skip() { echo "$*"; exit 77; }

# expect STATUS COMMAND...
expect() {
	want=$1
	shift
	echo "+ $*"
	got=0
	"$@" </dev/null >out 2>&1 || got=$?
	cat out
	[ "$got" = "$want" ] || fail "status $got instead of $want"
}

# says TEXT: the last command printed it
says() { grep -qF -- "$1" out || fail "no \"$1\" in the output"; }

# The MBR guest's disk: 1 MiB, sectors 1..256 filled; $sum is what it will print.
make_mbr_disk() {
	python3 - "$guests/mbr.bin" mbr.raw >sum <<-'END'
		import random, sys
		random.seed(7)
		disk = bytearray(4 << 20)
		disk[:512] = open(sys.argv[1], 'rb').read()
		disk[512:257 * 512] = random.randbytes(256 * 512)
		open(sys.argv[2], 'wb').write(disk)
		print('%08x' % sum(disk[512:257 * 512]))
	END
	sum=$(cat sum)
}

# mbr_written IMAGE OPTIONS...: its write is there, and the image is sound
mbr_written() {
	image=$1
	shift
	"$oracle" convert -O raw "$@" "$image" read.raw
	found=$(dd if=read.raw bs=512 skip=300 count=1 status=none | od -An -N4 -tx4 | tr -d ' ')
	[ "$found" = "$sum" ] || fail "sector 300 of $image has $found, not $sum"
	case $image in
	*.qcow2) "$oracle" check -q "$image" || fail "$image is not sound" ;;
	esac
}

debug_exit="-device isa-debug-exit,iobase=0xf4,iosize=4"

# script: make the guest's script from standard input
script() { python3 "$tests/script.py" make script; }

# guest STATUS OPTIONS...: run it; the status is the one the script ends with (not 0, whose exit status
# is that of any error)
guest() {
	want=$1
	shift
	expect $((want * 2 + 1)) timeout 60 "$vkvm" -kernel "$guests/guest.elf" -initrd script \
		$debug_exit "$@"
}

# sound IMAGE: both programs find nothing wrong
sound() {
	"$qimg" check -q "$1" || fail "qimg check $1"
	"$oracle" check -q "$1" || fail "$oracle check $1"
}

# eventually COMMAND...: until it succeeds, 20 seconds at most; its last error is shown
eventually() {
	tries=0
	until "$@" >eventually.out 2>&1; do
		sleep 0.05
		tries=$((tries + 1))
		[ $tries -lt 400 ] || { cat eventually.out; fail "not in time: $*"; }
	done
}

# until_said TEXT: by a guest whose output goes to out
until_said() { eventually grep -sF "$1" out; }

# holds EXPECT IMAGE FORMAT: both programs read what is expected
holds() {
	for tool in "$qimg" "$oracle"; do
		"$tool" convert -f "$3" -O raw "$2" read.raw
		python3 "$tests/script.py" expect "$1" read.raw || fail "as $tool reads it"
	done
}

# make_base SECTORS: base.raw, its first half full, each sector with the pattern of seed 1
make_base() {
	python3 - "$1" <<-'END' >base.raw
		import sys
		word = lambda s: ((1 << 40) ^ s) * 0x9e3779b97f4a7c15 & (1 << 64) - 1
		half = int(sys.argv[1]) // 2
		for s in range(half):
		    sys.stdout.buffer.write(word(s).to_bytes(8, 'little') * 64)
		sys.stdout.buffer.write(bytes(half * 512))
	END
}
