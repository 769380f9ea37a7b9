# SPDX-License-Identifier: MIT
# SeaBIOS starts a boot sector from raw and qcow2 disks, which reads and writes through INT 13h.
. "$(dirname "$0")/common.sh"
for name in /usr/share/seabios/bios-256k.bin /usr/share/qemu/bios-256k.bin; do
	[ ! -f $name ] || bios=$name
done
[ -n "$bios" ] || skip "SeaBIOS is not installed"

make_mbr_disk
"$qimg" convert -c -f raw -O qcow2 -o compression_type=zstd mbr.raw base.qcow2
"$qimg" create -q -f qcow2 -b base.qcow2 -F qcow2 -o extended_l2=on over.qcow2

expect 17 "$vkvm" -drive file=mbr.raw,format=raw $debug_exit
says "sum $sum"
mbr_written mbr.raw -f raw
# Two processors and another disk that is tried later.
"$qimg" create -q -f qcow2 empty.qcow2 16M
expect 17 "$vkvm" -smp 2 -m 256 -hda over.qcow2 -hdb empty.qcow2 $debug_exit
says "sum $sum"
mbr_written over.qcow2 -f qcow2
