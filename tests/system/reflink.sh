# SPDX-License-Identifier: MIT
# convert -C shares blocks where the file system can: raw and qcow2, in any direction.
. "$TESTS/common.sh"
command -v mkfs.xfs >/dev/null || skip "no mkfs.xfs"
truncate -s 400M fs
mkfs.xfs -q -m reflink=1 fs || skip "no reflinks"
mkdir mnt
mount -o loop fs mnt 2>/dev/null || skip "only root can mount"
trap 'cd ..; umount -l mnt' EXIT
cd mnt || exit 1
make_data raw 40
# Edges off every cluster's border, and a tail that is no whole sector.
truncate -s 90000123 raw
"$QIMG" convert -f raw -O qcow2 raw one || fail "convert"
sync
used() { df -k --output=used . | tail -n 1; }
for how in "-f raw -O raw raw" "-f raw -O qcow2 raw" "-f qcow2 -O qcow2 one" "-f qcow2 -O raw one"; do
	sync
	before=$(used)
	# shellcheck disable=SC2086
	"$QIMG" convert -C $how out || fail "$how"
	sync
	took=$(($(used) - before))
	[ $took -lt 8000 ] || fail "$how: took $took KiB"
	format=$(echo "$how" | sed 's/.*-O \([a-z0-9]*\).*/\1/')
	"$QIMG" compare -q -f raw -F "$format" raw out || fail "$how: another disk"
	[ "$format" = raw ] || "$QIMG" check -q out || fail "$how: check"
	rm out
done
