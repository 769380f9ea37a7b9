# SPDX-License-Identifier: MIT
# Output that cannot be written is an error, and the locale plays no part.
. "$TESTS/common.sh"
"$QIMG" create -q -f qcow2 disk 1G
for command in "info disk" "map disk" "check disk" "--help" "--version" "measure -O raw disk" \
	"create -f raw other 1M"; do
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
