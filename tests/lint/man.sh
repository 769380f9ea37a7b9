#!/bin/sh
# SPDX-License-Identifier: MIT
# The option lists of the manual pages are those of --help, and each command is in a page.
BUILD=${BUILD:-build}
make -s BUILD="$BUILD" all >/dev/null || exit 1
exec scripts/gen-man.sh --check
