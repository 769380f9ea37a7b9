# SPDX-License-Identifier: MIT
# Output that cannot be written is an error, and the locale plays no part.
. "$TESTS/common.sh"
"$QIMG" create -q -f qcow2 disk 4M
"$QIMG" create -q -f qcow2 -b disk -F qcow2 overlay
"$QIMG" bitmap --add disk bits
"$QIMG" snapshot -c one disk
for command in "info disk" "info --output=json disk" "map disk" "map --output=json disk" "check disk" \
	"check --output=json disk" "--help" "--version" "convert --help" "measure -O raw disk" \
	"create -f raw other 1M" "snapshot -l disk" "bitmap --list disk" \
	"compare disk disk" "commit overlay" "convert -p -O raw disk other" "bench -c 1 disk" \
	"rebase -p -u -b disk -F qcow2 overlay" "resize disk +1M" "amend -p -o compat=1.1 disk" \
	"dd if=disk bs=512 count=1" "inspect disk" "checksum disk"; do
	# shellcheck disable=SC2086
	"$QIMG" $command >/dev/full 2>err && fail "$command: full standard output"
	[ "$(wc -l <err)" = 1 ] || fail "$command: not one line: $(cat err)"
	# shellcheck disable=SC2086
	python3 - "$QIMG" $command <<'END' || fail "$command: closed pipe"
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.DEVNULL).returncode != 1)
END
done
LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 "$QIMG" create -f qcow2 other 1.5G >out || fail "$(cat out)"
grep -q size=1610612736 out || fail "a fraction depends on the locale: $(cat out)"
