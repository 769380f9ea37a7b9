#!/bin/sh
# SPDX-License-Identifier: MIT
# Each function of a public header has a comment above it, or stands directly below one that has;
# a comment at the end of its own line also counts.  Each "Spec:" names a section of qcow2-spec.
status=0
awk '
FNR == 1 { doc = 0; open = 0 }
/\/\*/ && !/\*\// { open = 1 }
open { if (/\*\//) { open = 0; doc = 1 } next }
/^\/\*.*\*\// { doc = 1; next }
/^$/ || /^#/ { doc = 0; next }
/^[a-z].*\(/ && !/^static inline/ && !/__attribute__/ {
	if (/\/\*/) doc = 1
	if (!doc) { print FILENAME ":" FNR ": no comment: " $0; bad = 1 }
}
END { exit bad }' blockdev/include/*.h || status=1
if [ -d qcow2-spec ]; then
	for section in $(grep -rhoE 'Spec: [a-z0-9-]+' blockdev | sed 's/Spec: //' | sort -u); do
		grep -rqE "^#+ .*\\b$section\\b|name=\"$section\"|\\{#$section\\}|\`$section\`" qcow2-spec || {
			echo "Spec: $section is no section of qcow2-spec"
			status=1
		}
	done
fi
exit $status
