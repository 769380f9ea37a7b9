# SPDX-License-Identifier: MIT
# For the tests here: each runs in its own folder, with $QIMG, $QIO and $TESTS set.
set -u
fail() {
	echo "$*"
	exit 1
}
skip() {
	echo "$*"
	exit 77
}
# Some data that compress by half, at $1, of $2 MiB.
make_data() {
	python3 - "$1" "$2" <<'END'
import random, sys
rng = random.Random(1)
with open(sys.argv[1], "wb") as out:
    for _ in range(int(sys.argv[2])):
        out.write((rng.randbytes(2048) + bytes(2048)) * 256)
END
}
