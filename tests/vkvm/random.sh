# SPDX-License-Identifier: MIT
# Random requests on images of many kinds; the guest verifies as it goes, the host afterwards.
. "$(dirname "$0")/common.sh"

sectors=16384 # 8 MiB
make_base $sectors

seed=${SEED:-1}
# one NAME FORMAT OPTIONS...: the same kind of script on image disk.$FORMAT
one() {
	name=$1 format=$2
	shift 2
	echo "== $name, seed $seed"
	python3 "$tests/random_script.py" $seed $sectors 2 expected | script
	guest 8 -drive "file=disk.$format,if=none,id=d,format=$format,discard=unmap" \
		-device virtio-blk-pci,drive=d,num-queues=2 "$@"
	[ $format = raw ] || sound disk.$format
	holds expected disk.$format $format
	rm -f disk.$format
	seed=$((seed + 1))
}
fill() { "$qimg" convert -f raw -O qcow2 "$@" base.raw disk.qcow2; }

cp base.raw disk.raw
one "raw" raw
fill
one "plain" qcow2
fill
one "looked for without doorbells" qcow2 -object iothread,id=t,poll-max-ns=2000000
fill -o cluster_size=512
one "clusters of 512 bytes" qcow2
fill -o cluster_size=2M
one "clusters of 2 MiB" qcow2 -smp 2
fill -o extended_l2=on
one "subclusters" qcow2
fill -c
one "compressed" qcow2
fill -c -o compression_type=zstd
"$qimg" snapshot -c before disk.qcow2
one "compressed by zstd, with a snapshot" qcow2
fill -o refcount_bits=1,lazy_refcounts=on
one "one-bit counts" qcow2
"$qimg" convert -c -f raw -O qcow2 base.raw base.qcow2
"$qimg" create -q -f qcow2 -b base.qcow2 -F qcow2 disk.qcow2
one "overlay" qcow2
fill -o data_file=data.raw
one "data file" qcow2
