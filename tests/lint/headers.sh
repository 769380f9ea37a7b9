#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header compiles alone, and twice.
BUILD=${BUILD:-build}
[ -f "$BUILD/config.h" ] || ./configure --build-dir="$BUILD" >/dev/null || exit 1
status=0
for header in $(find blockdev qimg vkvm tests/unit -name '*.h' 2>/dev/null | sort); do
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -I. -I"$BUILD" \
			-fsyntax-only -x c - || status=1
done
exit $status
