#!/bin/sh
# SPDX-License-Identifier: MIT
# The example images of qcow2-spec are what the programs make today.
BUILD=${BUILD:-build}
make -s BUILD="$BUILD" all >/dev/null || exit 1
exec python3 -B scripts/gen-examples.py --check
