# SPDX-License-Identifier: MIT
# Helpers of the tests that call qemu-img as other programs do (docs/consumers.md).
# shellcheck shell=bash

# call COMMAND...: standard output goes to the file "out"; what a caller takes for trouble is
# shown: any byte on standard error, and a status that is not 0.
call() {
	echo "\$ $*"
	_trouble "$@"
}

_trouble() {
	local status tries=0
	# QEMU's creation of LUKS images fails at random where CPU time is not accounted.
	while "$@" >out 2>err; status=$?; grep -q 'accurate CPU usage' err && [ $((tries++)) -lt 50 ]; do
		:
	done
	[ ! -s err ] || sed -e 's/^/stderr: /' -e '$a\' err
	[ $status = 0 ] || echo "exit status $status"
	return $status
}

# The same under the limits that callers set for images from strangers: bytes of address space,
# seconds of CPU time.  Sanitizers reserve terabytes of addresses; then only time is limited.
AS=1073741824
CPU=2
guarded() {
	local limits="--as=$AS --cpu=$CPU"
	echo "\$ prlimit $limits $*"
	[ -z "${SANITIZED:-}" ] || limits=--cpu=60
	# shellcheck disable=SC2086
	_trouble timeout 30 prlimit $limits "$@"
}

# keys PATH...: members of the JSON in "out".
keys() {
	"$PYTHON" "$TESTS/json_keys.py" out "$@"
}

# The bytes of a progress line in "out": which shapes come, and whether more than once.
progress() {
	tr '\r' '\n' <out | sed -E 's/[0-9]+\.[0-9]{2}/N.NN/' | sort | uniq -c |
		awk '$1 > 1 { $1 = "n" } { print }' | cat -A
}

# A qcow2 image of 8 MiB with 1 MiB of data.
small_image() {
	qemu-img create -q -f qcow2 "$1" 8M
	qemu-io -f qcow2 -c 'write -q -P 7 1M 1M' "$1"
}
