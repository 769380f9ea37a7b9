#!/bin/sh
# SPDX-License-Identifier: MIT
# Install what building, testing or benchmarking needs: install-deps.sh build|quickstart|test|bench...
# (Debian)
set -e

build="gcc libc6-dev make pkg-config libzstd-dev libaio-dev liburing-dev libdeflate-dev libjansson-dev
	nettle-dev libxxhash-dev zlib1g-dev libedit-dev"
quickstart="e2fsprogs mawk"
test="check qemu-utils seabios xfsprogs clang libclang-rt-14-dev strace xxd python3 e2fsprogs util-linux"
guest="qemu-system-x86 seabios grub-pc-bin grub-common busybox-static cpio e2fsprogs fio linux-image-amd64 python3 qemu-utils"
bench="fio qemu-utils python3 e2fsprogs gnuplot-nox time tar"

if [ $# = 0 ]; then
	echo "usage: install-deps.sh build|quickstart|test|bench..." >&2
	exit 1
fi

wanted=
for group; do
	case $group in
	quickstart) wanted="$wanted $build $quickstart" ;;
	build) wanted="$wanted $build" ;;
	test) wanted="$wanted $test" ;;
	guest) wanted="$wanted $build $guest" ;;
	bench) wanted="$wanted $bench" ;;
	*) echo "install-deps.sh: unknown group $group" >&2; exit 1 ;;
	esac
done

missing=
for package in $wanted; do
	case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
	"install ok installed") ;;
	*) missing="$missing $package" ;;
	esac
done

if [ -z "$missing" ]; then
	echo "install-deps: everything is installed"
	exit 0
fi

root=
[ "$(id -u)" = 0 ] || root=sudo
echo "install-deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! $root apt-get install -y --no-install-recommends $missing; then
	echo "install-deps: once more with a fresh package list"
	$root apt-get update
	# shellcheck disable=SC2086
	$root apt-get install -y --no-install-recommends $missing
fi
