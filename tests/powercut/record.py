# SPDX-License-Identifier: MIT
"""The log of the "record" filter and the states a power cut can leave."""
import struct

WRITE, ZERO, DISCARD, FLUSH, RESIZE = 1, 2, 3, 4, 5
ENTRY = struct.Struct(">IIQQQ")
SECTOR = 512


class Entry:
    __slots__ = ("kind", "flags", "off", "len", "covers", "data", "at")

    def __init__(self, fields, data, at):
        self.kind, self.flags, self.off, self.len, self.covers = fields
        self.data = data
        self.at = at            # bytes of the log before it

    def apply(self, file, torn=None):
        """Change the bytearray @file; @torn: only that many bytes reach the disk."""
        if self.kind == RESIZE:
            del file[self.len:]
            file.extend(bytes(self.len - len(file)))
            return
        length = self.len if torn is None else min(torn, self.len)
        end = self.off + length
        if len(file) < end:
            file.extend(bytes(end - len(file)))
        if self.kind == WRITE:
            file[self.off:end] = self.data[:length]
        elif self.kind in (ZERO, DISCARD):
            file[self.off:end] = bytes(length)


def read_log(path):
    with open(path, "rb") as log:
        raw = log.read()
    if raw[:8] != b"QIMGLOG1":
        raise RuntimeError("%s is no record" % path)
    entries, at = [], 8
    while at + ENTRY.size <= len(raw):
        fields, start = ENTRY.unpack_from(raw, at), at
        at += ENTRY.size
        data = b""
        if fields[0] == WRITE:
            data = raw[at:at + fields[3]]
            at += fields[3]
        entries.append(Entry(fields, data, start))
    return entries


def epochs(entries):
    """
    (first, end, flush): the entries before @first are on the disk for certain since the flush at
    position @flush; of first..end-1 any may be.
    """
    first, at, found = 0, -1, []
    for pos, entry in enumerate(entries):
        if entry.kind == FLUSH and entry.covers > first:
            found.append((first, pos, at))
            first, at = entry.covers, pos
    found.append((first, len(entries), at))
    return found


def choices(entries, first, end, rng, subsets):
    """Lists of (position, torn): every prefix, one of them torn, and some random subsets."""
    open_ones = [pos for pos in range(first, end) if entries[pos].kind != FLUSH]

    def tear(pos):
        sectors = entries[pos].len // SECTOR
        if entries[pos].kind != WRITE or sectors < 2:
            return None
        return rng.randrange(1, sectors) * SECTOR

    yield []
    for nr in range(1, len(open_ones) + 1):
        yield [(pos, None) for pos in open_ones[:nr]]
        last = open_ones[nr - 1]
        torn = tear(last)
        if torn:
            yield [(pos, None) for pos in open_ones[:nr - 1]] + [(last, torn)]
    if len(open_ones) < 2:
        return
    for _ in range(subsets):
        share = rng.choice([0.2, 0.5, 0.8])
        chosen = [(pos, None) for pos in open_ones if rng.random() < share]
        if chosen and rng.random() < 0.5:
            last = chosen[-1][0]
            chosen[-1] = (last, tear(last))
        yield chosen
