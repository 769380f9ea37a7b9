# SPDX-License-Identifier: MIT
# fields.txt -> layout.h: structures, masks and named numbers.  With -v part=luks only what is
# called luks_*, which is LUKS's own and no part of qcow2's header; else all the rest.
BEGIN {
	FS = "|"
	if (part == "")
		part = "qcow2"
	guard = toupper(part) "_LAYOUT_H"
	print "/* SPDX-License-Identifier: MIT */"
	print "/* Structures on disk.  Made by scripts/gen-layout.sh from qcow2-spec/fields.txt: do not edit. */"
	print "#ifndef " guard "\n#define " guard "\n"
	print "#include \"blockdev/base/be.h\""
}
/^#/ || NF < 8 || ($1 ~ /^luks_/) != (part == "luks") { next }
{ sub(/^luks_/, "") }
$1 != open_name { finish(); start() }
{ add() }
END { finish(); print "\n#endif" }

function start() {
	open_name = $1
	unit = $5
	end = 0
	printf "\n/* Spec: %s */\n", $7
	if (unit == "byte")
		printf "struct %s_disk_%s {\n", part, open_name
	delete mask_hi
	delete mask_lo
	nr_masks = 0
}
function add(   type, array) {
	if (unit == "byte") {
		if ($3 != end) {
			print "gap before " $1 "." $2 >"/dev/stderr"
			exit 1
		}
		type = $4 == 2 ? "be16" : $4 == 4 ? "be32" : $4 == 8 ? "be64" : "uint8_t"
		array = (type == "uint8_t" && $4 > 1) ? "[" $4 "]" : ""
		printf "\t%s %s%s;\n", type, $2, array
		end = $3 + $4
	} else if (unit == "bit") {
		add_mask()
	} else {
		printf "#define QCOW2_%s_%s %s\n", toupper($1), toupper($2), $3
	}
}
# Masks are kept as two 32-bit halves: awk counts in floating point.
function add_mask(   i, b) {
	if (!($2 in mask_hi)) {
		mask_hi[$2] = mask_lo[$2] = 0
		mask_name[++nr_masks] = $2
	}
	for (i = 0; i < $4; i++) {
		b = $3 + i
		if (b >= 32)
			mask_hi[$2] += 2 ^ (b - 32)
		else
			mask_lo[$2] += 2 ^ b
	}
}
function finish(   i, n) {
	if (open_name == "")
		return
	if (unit == "byte") {
		printf "};\n_Static_assert(sizeof(struct %s_disk_%s) == %d, \"%s\");\n", \
			part, open_name, end, open_name
	} else if (unit == "bit") {
		for (i = 1; i <= nr_masks; i++) {
			n = mask_name[i]
			printf "#define QCOW2_%s_%s UINT64_C(0x%08x%08x)\n", \
				toupper(open_name), toupper(n), mask_hi[n], mask_lo[n]
		}
	}
}
