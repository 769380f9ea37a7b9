# SPDX-License-Identifier: MIT
# Sourced by every case.  The programs under test answer to QEMU's names.
# shellcheck shell=bash
Q=qemu-img
IO=qemu-io

rc() { # run quietly, print the status
	"$@" >/dev/null 2>&1
	echo "rc=$?"
}

member() { # FILE.json NAME: an integer or boolean member, first match
	sed -n "s/.*\"$2\": *\([^,]*\),*\$/\1/p" "$1" | head -n 1
}

fill() { # FILE SIZE CHARACTER
	head -c "$2" /dev/zero | tr '\0' "$3" >"$1"
}

# hold FILE: another program has it open for writing; let_go ends that.
hold() {
	mkfifo .fifo
	$IO "$1" <.fifo >.held 2>&1 &
	exec 9>.fifo
	echo length >&9
	for _ in $(seq 200); do
		grep -q MiB .held && return
		sleep 0.05
	done
}

let_go() {
	echo quit >&9
	exec 9>&-
	wait
	rm -f .fifo .held
}
