#!/bin/sh
# SPDX-License-Identifier: MIT
# Quoted includes name the file from the top and go only to layers below.
find blockdev qimg vkvm tests/unit -name '*.[ch]' 2>/dev/null | sort | xargs awk '
function layer(path, part) {
	split(path, part, "/")
	if (part[1] == "vkvm" && part[2] == "virtio")
		return part[2] # devices without a machine around them
	if (part[1] != "blockdev")
		return part[1]
	if (part[2] == "format" && part[4] != "")
		return "format/" part[3]
	return part[2]
}
BEGIN {
	allow["include"] = " include "
	allow["base"] = " include base "
	allow["io"] = " include base io "
	allow["crypto"] = " include base crypto "
	allow["core"] = " include base io crypto core "
	allow["format"] = " include base crypto core "
	allow["qimg"] = " include qimg "
	allow["virtio"] = " include virtio "
	allow["vkvm"] = " include virtio vkvm "
}
/^#[ \t]*include "/ {
	split($0, quoted, "\"")
	from = layer(FILENAME)
	name = quoted[2]
	to = layer(name)
	if (name == "config.h" || from == "tests")
		next
	base = from
	sub(/\/.*/, "", base)
	if (name !~ /^(blockdev|qimg|vkvm)\//)
		bad("is not named from the top")
	else if (to == from || index(allow[base], " " to " "))
		next
	else if (base == "format" && name == "blockdev/io/file.h")
		next
	else
		bad("goes from " from " to " to)
}
function bad(why) {
	printf "%s:%d: include \"%s\" %s\n", FILENAME, FNR, name, why
	status = 1
}
END { exit status }'
