#!/bin/sh
# SPDX-License-Identifier: MIT
# layout.h and the tables of the text are what qcow2-spec/fields.txt makes of them.
exec scripts/gen-layout.sh --check
