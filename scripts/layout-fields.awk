# SPDX-License-Identifier: MIT
# fields.txt -> fields.c: the table of structures and fields for the annotated dump.
BEGIN {
	FS = "|"
	print "/* SPDX-License-Identifier: MIT */"
	print "/* All fields on disk.  Made by scripts/gen-layout.sh from qcow2-spec/fields.txt: do not edit. */"
	print "#include \"blockdev/format/qcow2/fields.h\"\n"
	print "const struct qcow2_field qcow2_fields[] = {"
}
/^#/ || NF < 8 || $1 == "limit" { next }
{
	for (i = 6; i <= 8; i++)
		gsub(/"/, "\\\"", $i)
	printf "\t{ \"%s\", \"%s\", QCOW2_UNIT_%s, %s, %s,\n\t  \"%s\",\n\t  \"%s\", \"%s\" },\n", \
		$1, $2, toupper($5), $3, $4, $6, $7, $8
}
END {
	print "\t{ 0 },\n};"
}
