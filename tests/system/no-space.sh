# SPDX-License-Identifier: MIT
# A full disk: one line, exit 1, nothing half-finished, and existing images stay whole.
. "$TESTS/common.sh"
make_data raw 24
mkdir small
mount -t tmpfs -o size=12M none small 2>/dev/null || skip "only root can mount a small disk"
trap 'umount -l small' EXIT
for options in "-O qcow2" "-O raw" "-O qcow2 -o preallocation=full"; do
	# shellcheck disable=SC2086
	"$QIMG" convert -f raw $options raw small/disk >out 2>&1
	[ $? = 1 ] || fail "$options: exit code; $(cat out)"
	[ "$(wc -l <out)" = 1 ] || fail "$options: not one line: $(cat out)"
	grep -q 'No space left on device' out || fail "$options: $(cat out)"
	[ -e small/disk ] && fail "$options: the target is still there"
done
"$QIMG" create -q -f qcow2 small/disk 24M
"$QIO" -c 'write -q -P 1 0 4M' small/disk
"$QIO" -c 'write -q -P 2 4M 20M' small/disk >out 2>&1
"$QIMG" check -q small/disk
case $? in 0 | 3) ;; *) fail "the image is damaged" ;; esac
"$QIO" -c 'read -q -P 1 0 4M' small/disk >out 2>&1 || fail "data are gone: $(cat out)"
"$QIMG" snapshot -c one small/disk >/dev/null 2>&1
"$QIO" -c 'write -q -P 3 0 4M' small/disk >out 2>&1
"$QIMG" check -q small/disk
case $? in 0 | 3) ;; *) fail "the image is damaged after a snapshot" ;; esac
