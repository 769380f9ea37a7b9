# SPDX-License-Identifier: MIT
# A convert that is stopped leaves no image that looks finished, and no lock.
. "$TESTS/common.sh"
make_data raw 64
sum=$(sha256sum <raw)
for signal in INT TERM; do
	for options in "-O qcow2 -c" "-O qcow2" "-O raw"; do
		# shellcheck disable=SC2086
		timeout -s $signal 0.4 "$QIMG" convert -f raw -r 40M $options raw disk >out 2>&1
		[ $? = 124 ] || fail "$signal $options: was not stopped: $(cat out)"
		[ -e disk ] && fail "$signal $options: the target is still there"
		"$QIO" -f raw -c 'write -q 0 0' raw >out 2>&1 || fail "locked: $(cat out)"
	done
	# A target that was there before stays there, with room for what comes next.
	truncate -s 64M disk
	timeout -s $signal 0.4 "$QIMG" convert -n -f raw -r 40M -O raw raw disk >out 2>&1
	[ -e disk ] || fail "$signal: an existing target was removed"
	rm disk
done
[ "$sum" = "$(sha256sum <raw)" ] || fail "the source has changed"
