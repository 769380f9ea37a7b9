# SPDX-License-Identifier: MIT
# Helpers and filters of the golden tests; sourced by each of them.  A test starts in an empty
# folder; IMGFMT is the format under test, IMGOPTS more creation options.
# shellcheck shell=bash
set -u
IMG=t.img

_notrun() {
	echo "$*" >.notrun
	exit 77
}

_supported_fmt() {
	local fmt
	for fmt; do
		[ "$fmt" = "$IMGFMT" ] && return
	done
	_notrun "not for $IMGFMT"
}

# Creation options (as regular expressions) with which the test makes no sense.
_unsupported_opts() {
	local opt
	for opt; do
		if echo "$IMGOPTS" | grep -qE "$opt"; then
			_notrun "not with $IMGOPTS"
		fi
	done
}

# Show the output of a command: standard output first, then standard error, then a status
# that is not 0.  (Both together would depend on buffering.)
_show() {
	local status
	"$@" >.stdout 2>.stderr
	status=$?
	cat .stdout
	# Some hints end without a newline.
	sed -e '$a\' .stderr
	[ $status = 0 ] || echo "exit status $status"
	return $status
}

# The same with the command line as a heading.
run() {
	echo "\$ $*"
	_show "$@"
}

title() {
	echo
	echo "=== $* ==="
}

# _make_test_img [-b FILE -F FMT] [-o OPTS] [NAME] [SIZE]: create quietly; output only if it fails.
_make_test_img() {
	local opts=$IMGOPTS args=() name=$IMG size=
	while [ $# -gt 0 ]; do
		case $1 in
		-b | -F) args+=("$1" "$2"); shift ;;
		-o) opts=${opts:+$opts,}$2; shift ;;
		[0-9]*) size=$1 ;;
		*) name=$1 ;;
		esac
		shift
	done
	[ -z "$opts" ] || [ "$IMGFMT" = raw ] || args+=(-o "$opts")
	_show qemu-img create -q -f "$IMGFMT" "${args[@]}" "$name" $size
}

# Timings and rates.
_filter_io() {
	sed -E 's/( ops;) .*ops\/sec\)$/\1 time and rate/'
}

_filter_dir() {
	sed "s#$TEST_DIR#TEST_DIR#g"
}

# Space on disk depends on the file system.
_filter_info() {
	sed -E 's/^( *disk size: ).*/\1SIZE/; s/("actual-size": )[0-9]+/\10/;
		s/("date-n?sec": )[0-9]+/\10/;
		s/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}/DATE TIME/' | _sort_json
}

# JSON members come in no particular order.
_sort_json() {
	cat >.json
	if grep -q '^[[{]' .json; then
		"$PYTHON" "$TESTS/sort_json.py" <.json
	else
		cat .json
	fi
}

# Where a format puts its clusters is its own business.
_filter_offsets() {
	if [ "$IMGFMT" = raw ]; then
		cat
	else
		sed -E 's/(, "offset": )[0-9]+/\1OFFSET/;
			s/^(0x[0-9a-f]+ +0x[0-9a-f]+ +)0x[0-9a-f]+ +/\1OFFSET /'
	fi
}

# io [-OPTIONS] FILE COMMAND...: commands of qemu-io with the format under test.
io() {
	local args=(-f "$IMGFMT") cmd file
	while [ "${1#-}" != "$1" ]; do
		case $1 in
		-F) args=(-f "$2"); shift ;;
		*) args+=("$1") ;;
		esac
		shift
	done
	file=$1
	shift
	for cmd; do
		args+=(-c "$cmd")
	done
	_show qemu-io "${args[@]}" "$file" | _filter_io
}

map() {
	_show qemu-img map --output=json -f "$IMGFMT" "$@" | _filter_offsets
}

info() {
	_show qemu-img info -f "$IMGFMT" "$@" | _filter_info
}

# The image must be consistent; raw has nothing to check.
check() {
	[ "$IMGFMT" = raw ] || _show qemu-img check -q -f "$IMGFMT" "${@:-$IMG}" && echo "consistent"
}

# --- bytes on disk ---

poke_file() { # FILE OFFSET 'ESCAPES'
	printf "%b" "$3" | dd of="$1" bs=1 seek="$(($2))" conv=notrunc status=none
}

# poke_be FILE OFFSET BYTES VALUE
poke_be() {
	local hex
	hex=$(printf "%0$(($3 * 2))x" "$(($4))")
	poke_file "$1" "$2" "$(echo "$hex" | sed 's/../\\x&/g')"
}

# peek_be FILE OFFSET BYTES: decimal
peek_be() {
	local hex
	hex=$(od -An -tx1 -v -j "$(($2))" -N "$3" "$1" | tr -d ' \n')
	echo $((0x$hex))
}

l1_offset() { peek_be "$1" 40 8; }
# Entry NR of the first L2 table: its offset in the file.
l2_entry() {
	local l1
	l1=$(l1_offset "$1")
	echo $((($(peek_be "$1" "$l1" 8) & 0xfffffffffffe00) + ${2:-0} * 8))
}
refblock_offset() { peek_be "$1" "$(peek_be "$1" 48 8)" 8; }

# Bytes of a file in hexadecimal.
hex() { # FILE OFFSET LEN
	od -An -tx1 -v -j "$(($2))" -N "$3" "$1" | tr -d ' \n'
	echo
}

# --- another program that has an image open ---

# _hold FILE [qemu-io options]: returns when the image is open; _release lets it go.
_hold() {
	local file=$1 i
	shift
	mkfifo .hold
	: >.held
	qemu-io "$@" "$file" <.hold >.held 2>&1 &
	held=$!
	exec 9>.hold
	echo length >&9
	for i in $(seq 100); do
		grep -qE '[0-9]' .held && return
		sleep 0.05
	done
	echo "not opened: $(cat .held)"
}

_release() {
	echo quit >&9
	exec 9>&-
	wait "$held"
	rm -f .hold .held
}
