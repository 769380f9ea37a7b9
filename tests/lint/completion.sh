#!/bin/bash
# SPDX-License-Identifier: MIT
# The completions do what they should (that they are up to date is checked by man.sh).
[ -n "${BASH_VERSION:-}" ] || exec bash "$0"
. completion/qimg.bash || exit 1
status=0

# expect 'WORDS, the last one unfinished' WORD...: each of them is offered.
expect() {
	local word found
	read -ra COMP_WORDS <<<"$1"
	[ "${1% }" = "$1" ] || COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_qimg
	shift
	for word; do
		found=
		for reply in "${COMPREPLY[@]}"; do
			[ "$reply" = "$word" ] && found=1
		done
		if [ -z "$found" ]; then
			echo "'${COMP_WORDS[*]}' does not offer $word but: ${COMPREPLY[*]}"
			status=1
		fi
	done
}

expect "qimg che" check checksum
expect "qimg convert --target-i" --target-is-zero --target-image-opts
expect "qimg convert -O " qcow2 raw
expect "qimg convert -p --target-format = q" qcow2
expect "qimg info --output = " human json
expect "qimg create -f qcow2 -o clu" cluster_size=
expect "qimg create -o compat=1.1,lazy" compat=1.1,lazy_refcounts=
expect "qimg check -r " leaks all
expect "qimg dd " if= of=
expect "qimg-io --ca" --cache=
expect "/usr/bin/qemu-io -t " writeback
if command -v zsh >/dev/null; then
	zsh -n completion/_qimg || status=1
fi
exit $status
