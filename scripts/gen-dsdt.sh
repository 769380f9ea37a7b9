#!/bin/sh
# SPDX-License-Identifier: MIT
# Make vkvm/boot/dsdt.h of dsdt.asl: gen-dsdt.sh [--check].  Needs iasl (Debian: acpica-tools).
cd "$(dirname "$0")/.." || exit 1
if ! command -v iasl >/dev/null; then
	echo "gen-dsdt.sh: iasl is not installed"
	[ "$1" = --check ]
	exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
iasl -p "$work/dsdt" vkvm/boot/dsdt.asl >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# The compiler's name and version in the header are not ours.
{
	echo '/* SPDX-License-Identifier: MIT */'
	echo '/* Made by scripts/gen-dsdt.sh of dsdt.asl: the code without its table header. */'
	echo '#ifndef VKVM_DSDT_H'
	echo '#define VKVM_DSDT_H'
	echo
	echo '#include <stdint.h>'
	echo
	echo 'static const uint8_t dsdt_code[] = {'
	tail -c +37 "$work/dsdt.aml" | od -An -v -tx1 -w12 | sed 's/ \(..\)/0x\1, /g; s/ $//; s/^/\t/'
	echo '};'
	echo
	echo '#endif'
} >"$work/dsdt.h"
if [ "$1" = --check ]; then
	cmp -s "$work/dsdt.h" vkvm/boot/dsdt.h && exit 0
	echo "vkvm/boot/dsdt.h is not what scripts/gen-dsdt.sh makes"
	exit 1
fi
cp "$work/dsdt.h" vkvm/boot/dsdt.h
