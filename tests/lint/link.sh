#!/bin/sh
# SPDX-License-Identifier: MIT
# No layer calls upwards: an own symbol that no layer below (or the layer itself) defines.
BUILD=${BUILD:-build}
obj=$BUILD/obj/blockdev
make -s BUILD="$BUILD" "$BUILD/libqimg.a" >/dev/null || exit 1
status=0

# objects FOLDER: those whose source still exists
objects() {
	find "blockdev/$1" -name '*.c' 2>/dev/null | sed "s,^,$BUILD/obj/,; s,c\$,o,"
}

# layer NAME FOLDERS...: everything undefined in them that is ours must be defined in them
layer() {
	name=$1
	shift
	files=
	for folder; do files="$files $(objects "$folder")"; done
	[ -n "$(echo $files)" ] || return 0
	nm -g $files | awk -v name="$name" '
		/:$/ { file = $0 }
		$1 == "U" && $2 !~ /^io_(uring_|setup$|destroy$|submit$|getevents$)/ && $2 ~ /^(bd|io|qcow2|metacache|luks)_/ { want[$2] = file }
		$3 != "" { have[$3] = 1 }
		END {
			for (s in want)
				# The one upward reference is data: the table of formats.
				if (!(s in have) && s != "bd_formats") {
					print "layer " name " calls upwards: " s " in " want[s]
					bad = 1
				}
			exit bad
		}' || status=1
}

[ -d "$obj" ] || exit 1
layer base base
layer io base io
layer crypto base crypto
layer core base io crypto core
layer all base io crypto core format
# The devices link without the monitor: no KVM below virtio-blk.
make -s BUILD="$BUILD" "$BUILD/libvkvm.a" >/dev/null || exit 1
nm -g "$BUILD"/obj/vkvm/virtio/*.o | awk '
	/:$/ { file = $0 }
	$1 == "U" && $2 ~ /^(vm|machine|vcpu|bus|pci|report|control)_/ {
		print "vkvm/virtio calls upwards: " $2 " in " file
		bad = 1
	}
	END { exit bad }' || status=1
exit $status
