#!/bin/sh
# SPDX-License-Identifier: MIT
# Files under 500 lines, functions under 60, lines of at most 100 columns.
# tests/lint/sizes.allow: "path reason" or "path:function reason".
find blockdev qimg vkvm tests/unit -name '*.[ch]' 2>/dev/null | sort | xargs awk '
BEGIN {
	while ((getline line < "tests/lint/sizes.allow") > 0) {
		split(line, word, " ")
		if (word[1] !~ /^#/ && word[2] != "")
			allowed[word[1]] = 1
	}
}
FNR == 1 { file_end(); last = FILENAME; start = 0 }
{
	lines = FNR
	text = $0
	width = 0
	for (i = 1; i <= length(text); i++)
		width = substr(text, i, 1) == "\t" ? width + 8 - width % 8 : width + 1
	if (width > 100)
		bad(FILENAME ":" FNR, "line of " width " columns")
}
# The line with the name stands before the opening brace in column one.
/^[a-zA-Z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
/^\{/ { start = FNR }
/^\}/ {
	if (start && FNR - start - 1 >= 60 && !(FILENAME ":" name in allowed))
		bad(FILENAME ":" start, name "() has " FNR - start - 1 " lines")
	start = 0
}
function file_end() {
	if (last != "" && lines >= 500 && !(last in allowed))
		bad(last, "file of " lines " lines")
}
function bad(where, what) { print where ": " what; status = 1 }
END { file_end(); exit status }'
