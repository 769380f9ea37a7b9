# SPDX-License-Identifier: MIT
# Helpers for encrypted images; sourced after common.sh.
# shellcheck shell=bash

# Three secrets that every command gets; S is an array.
S=(--object secret,id=s0,data=pass --object secret,id=s1,data=other --object secret,id=s2,data=wrong)

if qemu-img create -q "${S[@]}" -f qcow2 -o encryption=on,encrypt.key-secret=s0 .probe 64k 2>&1 |
	grep -q 'not supported'; then
	_notrun "built without encryption"
fi
rm -f .probe

# What differs from image to image: names, rounds, and how long things took.
_filter_luks() {
	sed -E 's/(uuid: )[0-9a-f-]{36}$/\1UUID/; s/("uuid": ")[0-9a-f-]{36}/\1UUID/;
		s/((master key )?iters: )[0-9]+$/\1N/; s/("(master-key-)?iters": )[0-9]+/\10/'
}

# QEMU's creation and amending fail at random where a virtual machine does not account for CPU
# time; then once more.
_retry() {
	local i
	for i in $(seq 30); do
		"$@" >.retry.out 2>.retry.err
		status=$?
		grep -q 'Unable to get accurate CPU usage' .retry.err || break
	done
	cat .retry.out
	cat .retry.err >&2
	return $status
}

# As run, for commands that derive keys; the secrets are not shown.
runs() {
	local command=$1 sub=$2
	shift 2
	echo "\$ $command $sub $*"
	_show _retry "$command" "$sub" "${S[@]}" "$@"
}

# The options of an encrypted image: opts FORMAT FILE [SECRET].
opts() {
	case $1 in
	luks) echo "driver=luks,file.filename=$2,key-secret=${3:-s0}" ;;
	*) echo "driver=$1,file.filename=$2,encrypt.key-secret=${3:-s0}" ;;
	esac
}

# ios OPTIONS COMMAND...: commands of qemu-io, quietly where they succeed.
ios() {
	local options=$1 cmd args=()
	shift
	for cmd; do
		args+=(-c "$cmd")
	done
	_show qemu-io "${S[@]}" --image-opts "$options" "${args[@]}" | _filter_io
}

# make_luks FILE SIZE [OPTION...]: a LUKS image with few rounds.
make_luks() {
	local file=$1 size=$2 o=key-secret=s0,iter-time=1
	shift 2
	for opt; do o=$o,$opt; done
	_show _retry qemu-img create -q "${S[@]}" -f luks -o "$o" "$file" "$size"
}

# make_qcow2 FILE SIZE [OPTION...]: the same inside a qcow2 image.
make_qcow2() {
	local file=$1 size=$2 o=encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=1
	shift 2
	for opt; do o=$o,$opt; done
	_show _retry qemu-img create -q "${S[@]}" -f qcow2 -o "$o" "$file" "$size"
}
