#!/bin/sh
# SPDX-License-Identifier: MIT
# Make the option lists of the manual pages, between '.\" begin COMMAND' and '.\" end', from --help.
# Then the completions.  With --check: write nothing, fail if a page is not up to date or a command is in no page.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
qimg=$BUILD/qimg
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
check=
[ "${1:-}" != --check ] || check=1
stale=0

# Lines of --help as man macros: "  -f, --format=FMT   text".
options() {
	awk '/^ +(-., )?--[a-z]/ {
		match($0, /^ +(-., )?--[-a-z0-9]+([ =][A-Z][-A-Z0-9%]*)? +/)
		opt = substr($0, 1, RLENGTH)
		text = substr($0, RLENGTH + 1)
		gsub(/^ +| +$/, "", opt)
		gsub(/\\/, "\\e", text)
		arg = ""
		if (match(opt, /[ =][A-Z][-A-Z0-9%]*$/)) {
			arg = substr(opt, RSTART, 1) "\\fI" substr(opt, RSTART + 1) "\\fR"
			opt = substr(opt, 1, RSTART - 1)
		}
		gsub(/, /, "\\fR, \\fB", opt)
		gsub(/-/, "\\-", opt)
		print ".TP\n\\fB" opt "\\fR" arg "\n" text
	}'
}

# "  -name ARG   text"
machine_options() {
	awk '/^  -[a-zA-Z]/ {
		match($0, /^  -[-a-zA-Z]+( [A-Z]+)? +/)
		opt = substr($0, 3, RLENGTH - 2)
		text = substr($0, RLENGTH + 1)
		gsub(/ +$/, "", opt)
		arg = ""
		if (match(opt, / [A-Z]+$/)) {
			arg = " \\fI" substr(opt, RSTART + 1) "\\fR"
			opt = substr(opt, 1, RSTART - 1)
		}
		gsub(/-/, "\\-", opt)
		gsub(/-/, "\\-", text)
		print ".TP\n\\fB" opt "\\fR" arg "\n" text
	}'
}

# "name arguments -- text"
io_commands() {
	awk -F ' +-- ' 'NF == 2 {
		gsub(/\\/, "\\e")
		name = $1
		sub(/ .*/, "", name)
		rest = substr($1, length(name) + 1)
		gsub(/-/, "\\-", rest)
		print ".TP\n\\fB" name "\\fR" rest "\n" $2
	}'
}

block() {
	case $1 in
	qimg) "$qimg" --help | options ;;
	qimg-io) "$BUILD/qimg-io" --help | options ;;
	qimg-io-commands) "$BUILD/qimg-io" -c help | io_commands ;;
	vkvm) "$BUILD/vkvm" -h | machine_options ;;
	*) "$qimg" "$1" --help | options ;;
	esac
}

for page in man/*.[17]; do
	for name in $(sed -n 's/^\.\\" begin //p' "$page"); do
		block "$name" >"$tmp/$name"
	done
	awk -v dir="$tmp" '
		/^\.\\" end/ { skip = 0 }
		!skip { print }
		/^\.\\" begin / {
			skip = 1
			file = dir "/" $3
			while ((getline line < file) > 0)
				print line
			close(file)
		}' "$page" >"$tmp/page"
	if cmp -s "$tmp/page" "$page"; then
		continue
	elif [ "$check" ]; then
		echo "$page is not up to date: run scripts/gen-man.sh"
		stale=1
	else
		cp "$tmp/page" "$page"
	fi
done
for name in $("$qimg" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	grep -qx "\.\\\\\" begin $name" man/*.1 || {
		echo "no manual page describes $name"
		stale=1
	}
done
scripts/gen-completion.sh "$@" || stale=1
exit $stale
