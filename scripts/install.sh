#!/bin/sh
# SPDX-License-Identifier: MIT
# Install and uninstall: install.sh install|uninstall|dropin DESTDIR PREFIX [VERSION LIBS]
set -e

what=$1
prefix=$3
dest=$2$3
bin=$dest/bin

# Ours is a link to one of our programs, nothing else.
ours() {
	case $(readlink "$1") in
	qimg | qimg-io) return 0 ;;
	esac
	return 1
}

install_all() {
	mkdir -p "$bin" "$dest/lib/pkgconfig" "$dest/include/qimg" \
		"$dest/share/man/man1" "$dest/share/man/man7"
	for prog in qimg qimg-io vkvm; do
		[ ! -x "$BUILD/$prog" ] || install -m 755 "$BUILD/$prog" "$bin/$prog"
	done
	install -m 644 "$BUILD/libqimg.a" "$dest/lib/libqimg.a"
	for header in blockdev/include/*.h; do
		sed 's,^#include "blockdev/include/\(.*\)",#include <qimg/\1>,' "$header" \
			>"$dest/include/qimg/$(basename "$header")"
	done
	for page in man/*.[17]; do
		[ ! -f "$page" ] || install -m 644 "$page" "$dest/share/man/man${page##*.}/"
	done
	mkdir -p "$dest/share/bash-completion/completions" "$dest/share/zsh/site-functions"
	for name in qimg qimg-io; do
		install -m 644 completion/qimg.bash "$dest/share/bash-completion/completions/$name"
	done
	install -m 644 completion/_qimg "$dest/share/zsh/site-functions/_qimg"
	cat >"$dest/lib/pkgconfig/qimg.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: qimg
Description: Disk images: raw and qcow2, reading, writing, checking, converting
Version: $1
Libs: -L\${libdir} -lqimg $2
Cflags: -I\${includedir}
END
	echo "installed in $dest"
}

dropin() {
	for pair in qemu-img:qimg qemu-io:qimg-io; do
		name=$bin/${pair%%:*}
		[ -x "$bin/${pair#*:}" ] || continue
		if [ -e "$name" ] || [ -L "$name" ]; then
			if ! ours "$name"; then
				echo "install-dropin: $name exists and is not ours: left alone" >&2
				echo "install-dropin: choose another PREFIX, or remove it first" >&2
				exit 1
			fi
		fi
	done
	for pair in qemu-img:qimg qemu-io:qimg-io; do
		[ -x "$bin/${pair#*:}" ] || continue
		ln -sf "${pair#*:}" "$bin/${pair%%:*}"
		name=$dest/share/bash-completion/completions/${pair%%:*}
		if [ ! -e "$name" ]; then ln -s "${pair#*:}" "$name"; fi
		echo "installed $bin/${pair%%:*}"
	done
}

uninstall() {
	for name in qemu-img qemu-io; do
		if ours "$bin/$name"; then rm -f "$bin/$name"; fi
	done
	for prog in qimg qimg-io vkvm; do
		rm -f "$bin/$prog" "$dest/share/man/man1/$prog.1"
	done
	rm -f "$dest/share/man/man1/qimg-bench.1" "$dest/share/man/man7/qimg-formats.7"
	for name in qimg qimg-io qemu-img qemu-io; do
		name=$dest/share/bash-completion/completions/$name
		if cmp -s "$name" completion/qimg.bash || ours "$name"; then rm -f "$name"; fi
	done
	rm -f "$dest/share/zsh/site-functions/_qimg"
	rm -f "$dest/lib/libqimg.a" "$dest/lib/pkgconfig/qimg.pc"
	rm -rf "$dest/include/qimg"
}

case $what in
install) install_all "$4" "$5" ;;
dropin) dropin ;;
uninstall) uninstall ;;
*) echo "usage: install.sh install|uninstall|dropin DESTDIR PREFIX [VERSION LIBS]" >&2; exit 1 ;;
esac
