# SPDX-License-Identifier: MIT
# Fill the tables between "<!-- table NAME -->" and "<!-- end -->" of a text from fields.txt.
/^<!-- table / {
	print
	table($3)
	skip = 1
}
/^<!-- end -->/ { skip = 0 }
!skip { print }

function table(name,   line, part, n, found) {
	while ((getline line <fields) > 0) {
		n = split(line, part, "|")
		if (line ~ /^#/ || n < 8 || part[1] != name)
			continue
		if (!found++)
			head(part[5])
		row(part)
	}
	close(fields)
	if (!found) {
		print "no structure " name >"/dev/stderr"
		exit 1
	}
}
function head(unit) {
	if (unit == "value")
		print "| name | value | limits | meaning |\n| --- | --- | --- | --- |"
	else if (unit == "bit")
		print "| bits | field | limits | meaning |\n| --- | --- | --- | --- |"
	else
		print "| offset | bytes | field | limits | meaning |\n| --- | --- | --- | --- | --- |"
}
function row(part) {
	if (part[5] == "value")
		printf "| %s | %s | %s | %s |\n", part[2], part[3], part[6], part[8]
	else if (part[5] == "bit")
		printf "| %s | %s | %s | %s |\n", \
			part[4] == 1 ? part[3] : part[3] "-" (part[3] + part[4] - 1), \
			part[2], part[6], part[8]
	else
		printf "| %d | %d | %s | %s | %s |\n", part[3], part[4], part[2], part[6], part[8]
}
