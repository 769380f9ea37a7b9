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

# --- bytes of an image ---

be64() { # FILE OFFSET: a big-endian number
	echo $((0x$(od -An -tx8 --endian=big -j $(($2)) -N 8 "$1" | tr -d ' ')))
}

put64() { # FILE OFFSET VALUE
	printf '%016x' $(($3)) | xxd -r -p | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none
}

l1_of() { be64 "$1" 40; }

l2_of() { # FILE [NUMBER]
	echo $(($(be64 "$1" $(($(l1_of "$1") + 8 * ${2:-0}))) & 0x00fffffffffffe00))
}

# make_image FILE: 64 MiB, five data clusters of 0x11 and 0x22.
make_image() {
	rm -f "$1"
	$Q create -q -f qcow2 "$1" 64M
	$IO -c 'write -P 0x11 0 256k' -c 'write -P 0x22 1M 64k' "$1" >/dev/null
}

pattern() { # FILE PATTERN OFFSET LENGTH
	$IO -r -c "read -P $2 $3 $4" "$1" | grep -cE '^read'
}

be32() { # FILE OFFSET
	echo $((0x$(od -An -tx4 --endian=big -j $(($2)) -N 4 "$1" | tr -d ' ')))
}

put32() { # FILE OFFSET VALUE
	printf '%08x' $(($3)) | xxd -r -p | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none
}

put16() { # FILE OFFSET VALUE
	printf '%04x' $(($3)) | xxd -r -p | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none
}

# The first block of reference counts.
refblock_of() { be64 "$1" "$(be64 "$1" 48)"; }

# guarded COMMAND...: under the limits of address space and CPU time that callers set
guarded() {
	timeout 20 prlimit --as=1073741824 --cpu=5 "$@"
}
