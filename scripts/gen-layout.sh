#!/bin/sh
# SPDX-License-Identifier: MIT
# Make blockdev/format/qcow2/layout.h and fields.c, blockdev/crypto/luks_layout.h and the tables in
# qcow2-spec/*.md from qcow2-spec/fields.txt.
# With --check: write nothing, fail if one of them is not up to date.
set -eu
cd "$(dirname "$0")/.."
fields=qcow2-spec/fields.txt
header=blockdev/format/qcow2/layout.h
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
stale=0

# put NEW OLD: replace OLD by NEW, or complain when checking.
put() {
	if cmp -s "$1" "$2"; then
		return
	elif [ "${check:-}" ]; then
		echo "$2 is not up to date: run scripts/gen-layout.sh"
		stale=1
	else
		cp "$1" "$2"
	fi
}
[ "${1:-}" = --check ] && check=1

awk -f scripts/layout-header.awk "$fields" >"$tmp/layout.h"
put "$tmp/layout.h" "$header"
awk -v part=luks -f scripts/layout-header.awk "$fields" >"$tmp/luks_layout.h"
put "$tmp/luks_layout.h" blockdev/crypto/luks_layout.h
awk -f scripts/layout-fields.awk "$fields" >"$tmp/fields.c"
put "$tmp/fields.c" blockdev/format/qcow2/fields.c
for text in qcow2-spec/*.md; do
	awk -v fields="$fields" -f scripts/layout-tables.awk "$text" >"$tmp/text"
	put "$tmp/text" "$text"
done
exit $stale
