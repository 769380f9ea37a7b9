# SPDX-License-Identifier: MIT
# Random requests on encrypted disks; the guest verifies as it goes, the host afterwards.
. "$(dirname "$0")/common.sh"

sectors=16384 # 8 MiB
printf 'a password' >password
secret="--object secret,id=s0,file=password"
make_base $sectors

seed=${SEED:-1}
# one FORMAT KEY OPTIONS: KEY is the option of the format that takes the secret's name
one() {
	format=$1 key=$2 options=$3
	echo "== $format $options, seed $seed"
	"$qimg" convert $secret -f raw -O $format -o "$key=s0,$options" base.raw disk
	python3 "$tests/random_script.py" $seed $sectors 2 expected | script
	guest 8 -object secret,id=s0,file=password \
		-drive "file=disk,if=none,id=d,format=$format,discard=unmap,$key=s0" \
		-device virtio-blk-pci,drive=d,num-queues=2
	for tool in "$qimg" "$oracle"; do
		"$tool" convert $secret --image-opts -O raw "driver=$format,file.filename=disk,$key=s0" \
			read.raw
		python3 "$tests/script.py" expect expected read.raw || fail "as $tool reads it"
		[ $format = luks ] || "$tool" check -q $secret --image-opts \
			"driver=$format,file.filename=disk,$key=s0" || fail "$tool check"
	done
	seed=$((seed + 1))
}

one luks key-secret iter-time=10
one qcow2 encrypt.key-secret encrypt.format=luks,encrypt.iter-time=10
one qcow2 encrypt.key-secret encrypt.format=luks,encrypt.iter-time=10,cluster_size=512
one qcow2 encrypt.key-secret encryption=on,extended_l2=on
expect 1 "$vkvm" -drive file=disk,format=qcow2
says "Parameter 'encrypt.key-secret' is required for cipher"
