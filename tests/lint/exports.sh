#!/bin/sh
# SPDX-License-Identifier: MIT
# Every global name of the library starts with one of our prefixes.
BUILD=${BUILD:-build}
make -s BUILD="$BUILD" "$BUILD/libqimg.a" >/dev/null || exit 1
nm -g --defined-only "$BUILD/libqimg.a" 2>/dev/null | awk '
	/\.o:$/ { file = $0 }
	$3 ~ /^(__asan|__odr_asan|__ubsan|__tsan|\.)/ { next }
	$3 != "" && $3 !~ /^(bd|io|qcow2|metacache|luks)_/ { print file " " $3; bad = 1 }
	END { exit bad }'
