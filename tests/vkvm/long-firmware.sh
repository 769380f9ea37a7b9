# SPDX-License-Identifier: MIT
# SeaBIOS and GRUB from images of all kinds: INT 13h reads of what is compressed, backed, encrypted.
. "$(dirname "$0")/common.sh"
[ -f /usr/share/seabios/bios-256k.bin ] || skip "SeaBIOS is not installed"

make_mbr_disk
# one NAME DRIVE-OPTIONS...: disk.qcow2 (or disk.raw) boots, and has the write afterwards
one() {
	name=$1
	shift
	echo "== $name"
	expect 17 timeout 100 "$vkvm" "$@" $debug_exit
	says "sum $sum"
}
qcow2() {
	"$qimg" convert -f raw -O qcow2 "$@" mbr.raw disk.qcow2
	one "$*" -drive file=disk.qcow2
	mbr_written disk.qcow2 -f qcow2
	rm disk.qcow2
}
cp mbr.raw disk.raw
one raw -drive file=disk.raw,format=raw
mbr_written disk.raw -f raw
for engine in threads sync; do
	cp mbr.raw disk.raw
	one "raw, $engine" -drive file=disk.raw,format=raw,aio=$engine
	mbr_written disk.raw -f raw
done
for size in 512 4k 64k 2M; do qcow2 -o cluster_size=$size; done
qcow2 -o compat=0.10
qcow2 -o extended_l2=on
qcow2 -o refcount_bits=1
"$qimg" convert -f raw -O qcow2 -o data_file=data.raw mbr.raw disk.qcow2
one "data file" -drive file=disk.qcow2,format=qcow2
mbr_written disk.qcow2 -f qcow2
rm disk.qcow2
qcow2 -c
qcow2 -c -o compression_type=zstd
"$qimg" convert -c -f raw -O qcow2 mbr.raw base.qcow2
"$qimg" create -q -f qcow2 -b base.qcow2 -F qcow2 middle.qcow2
"$qimg" create -q -f qcow2 -b middle.qcow2 -F qcow2 -o extended_l2=on disk.qcow2
one "two backing files" -hda disk.qcow2 -m 256 -smp 2
mbr_written disk.qcow2 -f qcow2
cp middle.qcow2 same.qcow2
one "temporary overlay" -snapshot -hda middle.qcow2
cmp middle.qcow2 same.qcow2 || fail "the image behind a temporary overlay was written to"
secret="--object secret,id=key,data=hello"
if "$qimg" convert $secret -f raw -O qcow2 -o encrypt.format=luks,encrypt.key-secret=key,encrypt.iter-time=10 \
	mbr.raw disk.qcow2; then
	one "encrypted" -object secret,id=key,data=hello \
		-drive file=disk.qcow2,encrypt.key-secret=key
fi

# Restarts, each through the firmware and with the processors, timer and interrupts of the last start.
cp "$guests/restart.bin" restart.raw
truncate -s 1M restart.raw
expect 17 timeout 200 "$vkvm" -smp 2 -drive file=restart.raw,format=raw $debug_exit
[ "$(tr -cd 0123 <out | tail -c 1)" = 3 ] || fail "it was not restarted three times"

# GRUB, with a script in its core image.
if ! command -v grub-mkimage >/dev/null || [ ! -f /usr/lib/grub/i386-pc/boot.img ]; then
	echo "GRUB is not installed"
	exit 0
fi
printf 'echo reading\nhexdump -n 16 -s 1048576 (hd0)\noutb 0xf4 0x10\n' >script.cfg
grub-mkimage -O i386-pc -p /boot/grub -c script.cfg -o core.img biosdisk echo iorw hexdump
truncate -s 4M grub.raw
dd if=/usr/lib/grub/i386-pc/boot.img of=grub.raw conv=notrunc status=none
dd if=core.img of=grub.raw bs=512 seek=1 conv=notrunc status=none
printf 'vkvm-grub-disk!!' | dd of=grub.raw bs=1M seek=1 conv=notrunc status=none
"$qimg" convert -c -f raw -O qcow2 grub.raw grub.qcow2
expect 33 timeout 100 "$vkvm" -hda grub.qcow2 $debug_exit
says "76 6b 76 6d 2d 67 72 75"
