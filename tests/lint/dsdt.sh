#!/bin/sh
# SPDX-License-Identifier: MIT
# The machine's ACPI code is that of its source.
exec scripts/gen-dsdt.sh --check
