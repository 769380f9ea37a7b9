# SPDX-License-Identifier: MIT
# 1 GiB written in sequence to a fresh image costs fewer than 200 writes of metadata.
. "$TESTS/common.sh"
"$QIMG" create -q -f qcow2 disk 1G
truncate -s 0 log
"$QIMG" bench -q -w -c 1024 -d 4 -s 1M -t writeback --image-opts \
	driver=qcow2,file.driver=record,file.log=log,file.image.driver=file,file.image.filename=disk \
	>out 2>&1 || fail "$(cat out)"
python3 - "$TESTS/../powercut" log <<'END' || fail "wrong number of writes"
import sys
sys.path.insert(0, sys.argv[1])
from record import ENTRY, WRITE
data = metadata = 0
# The log is larger than memory should be: entry by entry.
with open(sys.argv[2], "rb") as log:
    log.seek(8)
    while head := log.read(ENTRY.size):
        kind, _, _, length, _ = ENTRY.unpack(head)
        if kind != WRITE:
            continue
        log.seek(length, 1)
        if length >= 1 << 20:
            data += length
        else:
            metadata += 1
print("data", data, "metadata writes", metadata)
sys.exit(data != 1 << 30 or metadata >= 200)
END
