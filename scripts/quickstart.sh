#!/bin/sh
# SPDX-License-Identifier: MIT
# A tour with a real file system image: make it, convert it, look at it, compare it, measure.
# Everything is kept under $BUILD/quickstart and removed at the end (KEEP=1: kept).
set -e

BUILD=${BUILD:-build}
Q=$(cd "$BUILD" && pwd)/qimg
work=$BUILD/quickstart
table=
rm -rf "$work" # of a tour that was killed
mkdir -p "$work"
cd "$work"
cleanup() { [ -n "$KEEP" ] || { cd /; rm -rf "$OLDPWD"; }; }
trap cleanup EXIT
trap 'exit 130' INT TERM

# Headings go to the terminal even when a step's output goes to a file.
exec 3>&1
say() { printf '\n== %s\n' "$*" >&3; }

# step NAME COMMAND...: run it, remember how long it took.
step() {
	name=$1
	shift
	say "$name: qimg $*"
	start=$(date +%s.%N)
	"$Q" "$@"
	end=$(date +%s.%N)
	seconds=$(echo "$start $end" | awk '{ printf "%.2f", $2 - $1 }')
	table="$table$name|$seconds|$mib
"
}

size_of() { stat -c '%n %s %b' "$1" | awk '{ printf "%-14s %8.1f MiB long %8.1f MiB on disk\n",
	$1, $2 / 1048576, $3 / 2048 }'; }

say "A file system of real files from /usr and /boot"
# Files are added until about 700 MiB are together, in an order that does not change.
mkdir -p tree
for folder in /boot /usr/bin /usr/lib /usr/share; do
	[ -d "$folder" ] || continue
	used=$(du -sm tree | cut -f 1)
	[ "$used" -lt 700 ] || break
	(cd / && find ".$folder" -xdev -type f -readable -size -20000k 2>/dev/null | LC_ALL=C sort |
		xargs -r -d '\n' du -k 2>/dev/null |
		awk -F '\t' -v room=$(((700 - used) * 1024)) '(sum += $1) < room { print $2 }' |
		tar -c -f - -T - 2>/dev/null) | tar -x -f - -C tree 2>/dev/null || true
done
if command -v mke2fs >/dev/null; then
	# Many small files need more inodes than the default has for a disk of this size.
	inodes=$(($(find tree | wc -l) * 5 / 4 + 1024))
	mke2fs -q -t ext4 -L quickstart -N "$inodes" -d tree disk.raw 1G
else
	say "mke2fs is not installed: a tar archive of the same files is used instead"
	tar -c -f disk.raw -C tree .
	truncate -s 1G disk.raw
fi
rm -rf tree
mib=1024
size_of disk.raw

step create create -f qcow2 empty.qcow2 10G
step "raw to qcow2" convert -p -f raw -O qcow2 disk.raw disk.qcow2
step "qcow2 to compressed" convert -p -c -f qcow2 -O qcow2 disk.qcow2 small.qcow2
step "compressed to raw" convert -p -f qcow2 -O raw small.qcow2 back.raw
say "The image after two conversions against the first one"
cmp disk.raw back.raw && echo "disk.raw and back.raw are the same, byte for byte"
step info info small.qcow2
step check check small.qcow2
step map map --output=json disk.qcow2 >map.json
echo "$(grep -c start map.json) ranges in map.json; the first three:"
head -n 3 map.json
step compare compare -p -f raw -F qcow2 disk.raw small.qcow2

step "bench, L2 cache 1M" bench -c 100000 -d 64 -s 4096 -S 1052672 --l2-cache-size=1M disk.qcow2
# Without it each request reads a table first.
step "bench, no L2 cache" bench -c 100000 -d 64 -s 4096 -S 1052672 --no-l2-cache disk.qcow2

# A guest of a few KB looks at the same disk through vkvm.
guest() {
	if ! (: <>/dev/kvm) 2>/dev/null; then
		echo "/dev/kvm cannot be opened here, so there is no virtual machine to show"
		return
	fi
	timeout 60 "$(dirname "$Q")/vkvm" -kernel "$(dirname "$Q")/tests/vkvm/guest.elf" -hda disk.qcow2 \
		-device isa-debug-exit,iobase=0xf4 </dev/null >guest.log || true
	cat guest.log
	sum=$(head -c 1048576 disk.raw | od -An -v -tu4 -w4 |
		awk '{ sum = (sum + $1) % 4294967296 } END { printf "%.0f", sum }')
	if [ "$(sed -n 's/^sum //p' guest.log | tail -n 1)" = "$sum" ]; then
		echo "The host's sum of the first MiB is the same: $sum"
	else
		echo "The host's sum of the first MiB is another one: $sum"
		return 1
	fi
	! command -v dumpe2fs >/dev/null || dumpe2fs -h disk.raw 2>/dev/null |
		sed -n 's/^Filesystem volume name: */host: label /p; s/^Free blocks: */host: free blocks /p'
}
say "The disk in a virtual machine: vkvm -kernel guest.elf -hda disk.qcow2"
guest

say "Sizes"
for file in disk.raw disk.qcow2 small.qcow2 back.raw empty.qcow2; do size_of $file; done
say "Times"
printf '%s' "$table" | awk -F '|' '{
	printf "%-22s %7.2f s", $1, $2
	if ($1 ~ /^(raw|qcow2|compressed|compare)/ && $2 > 0)
		printf "  %7.0f MiB/s of disk", $3 / $2
	print ""
}'
