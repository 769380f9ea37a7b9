# SPDX-License-Identifier: MIT
"""Random guest operations, and what each sector may hold after a power cut."""
import struct

SECTOR = 512
ZERO_VALUE, BASE_VALUE = 0, 1
TAG = 0xC0DE << 48


def content(value, sector, fills):
    """The bytes of a sector: each value its own, and each sector of it."""
    if value == ZERO_VALUE:
        return bytes(SECTOR)
    if value in fills:
        return bytes([fills[value]]) * SECTOR
    return struct.pack("<QQ", TAG | value, sector) * (SECTOR // 16)


class Op:
    """One command; @value is its index + 2.  Ops of one @batch are in flight together."""

    def __init__(self, kind, off=0, length=0, batch=0, fua=False):
        self.kind, self.off, self.len, self.batch, self.fua = kind, off, length, batch, fua
        self.value = 0

    def sectors(self):
        return range(self.off // SECTOR, (self.off + self.len) // SECTOR)


class Sequence:
    """Options of an image and the operations on it."""

    def __init__(self, rng):
        self.rng = rng
        # Crowded: many writes in flight, each new refcount block soon full, so that blocks and
        # their table entries are made while a write-back round is under way.
        self.crowded = rng.random() < 0.3
        self.extended = not self.crowded and rng.random() < 0.25
        self.cluster = rng.choice([16384, 65536] if self.extended
                                  else [512, 1024, 4096, 4096, 4096, 16384, 65536])
        if self.crowded:
            self.cluster = 512
        self.size = rng.randrange(8, 48) * max(self.cluster, 4096)
        self.size = min(self.size, 64 * 8192 if self.cluster == 512 else 1 << 20)
        self.refcount_bits = rng.choice([16, 16, 16, 1, 4, 8, 64])
        if self.crowded:
            self.refcount_bits, self.size = 64, 64 * 4096
        self.lazy = rng.random() < 0.15
        self.backing = rng.random() < 0.4
        self.encrypted = rng.choice(["luks", "aes"]) if rng.random() < 0.15 else None
        self.fills, self.ops, self.batch = {}, [], 0
        for _ in range(rng.randrange(12, 40)):
            self.add()

    def options(self):
        options = "cluster_size=%d,extended_l2=%s,refcount_bits=%d,lazy_refcounts=%s" % (
            self.cluster, "on" if self.extended else "off", self.refcount_bits,
            "on" if self.lazy else "off")
        if self.encrypted:
            options += ",encrypt.format=%s,encrypt.key-secret=s0" % self.encrypted
        if self.encrypted == "luks":
            options += ",encrypt.iter-time=1,encrypt.cipher-alg=aes-128"
        return options

    def range(self):
        unit = self.rng.choice([SECTOR, 4096, self.cluster, self.cluster])
        unit = max(unit, SECTOR)
        off = self.rng.randrange(0, max(1, self.size // unit)) * unit
        most = max(1, self.rng.choice([1, 4, 3 * self.cluster // unit, 9 * self.cluster // unit]))
        return off, min(self.rng.randrange(1, most + 1) * unit, self.size - off)

    def push(self, op):
        op.value = len(self.ops) + 2
        self.ops.append(op)
        return op

    def add(self):
        kind = self.rng.choices(["write", "fua", "zero", "unmap", "discard", "compress", "flush",
                                 "aio"], [34, 5, 10, 6, 12, 8, 15, 60 if self.crowded else 10])[0]
        self.batch += 1
        if kind == "flush":
            self.push(Op("flush", batch=self.batch))
        elif kind == "aio":
            self.add_batch()
        elif kind == "compress":
            self.add_compressed()
        elif kind == "fua":
            self.push(Op("write", *self.range(), self.batch, True))
        else:
            self.push(Op(kind, *self.range(), self.batch))

    def add_compressed(self):
        """Compressed data only go where nothing is."""
        at = self.rng.randrange(0, self.size // self.cluster) * self.cluster
        if not self.encrypted and all(op.off >= at + self.cluster or op.off + op.len <= at
                                      for op in self.ops):
            self.push(Op("compress", at, self.cluster, self.batch))

    def add_batch(self):
        """Writes that do not touch the same sectors, and one wait for all."""
        taken = []
        for _ in range(self.rng.randrange(8, 16) if self.crowded else self.rng.randrange(2, 6)):
            off, length = self.range()
            if len(self.fills) < 200 and all(off >= end or off + length <= start
                                             for start, end in taken):
                taken.append((off, off + length))
                op = self.push(Op("aio", off, length, self.batch))
                self.fills[op.value] = 20 + len(self.fills)

    def commands(self, folder):
        last = 0
        for op in self.ops:
            if last and (op.kind != "aio" or op.batch != last):
                yield "aio_flush"
            last = op.batch if op.kind == "aio" else 0
            where = "%d %d" % (op.off, op.len)
            if op.kind in ("write", "compress"):
                path = "%s/data%d" % (folder, op.value)
                with open(path, "wb") as source:
                    for sector in op.sectors():
                        source.write(content(op.value, sector, self.fills))
                flag = "-c " if op.kind == "compress" else "-f " if op.fua else ""
                yield "write -q %s-s %s %s" % (flag, path, where)
            elif op.kind == "aio":
                yield "aio_write -q -P %d %s" % (self.fills[op.value], where)
            else:
                yield {"zero": "write -q -z ", "unmap": "write -q -z -u ",
                       "discard": "discard -q ", "flush": "flush"}[op.kind] + \
                    ("" if op.kind == "flush" else where)
        if last:
            yield "aio_flush"

    # --- what may be on the disk ---

    def newest_seen(self, entries):
        """For each entry the highest value whose data it holds; 0: none."""
        by_fill = {bytes([fill]) * SECTOR: value for value, fill in self.fills.items()}
        newest = []
        for entry in entries:
            best = 0
            for at in range(0, len(entry.data), SECTOR):
                word, = struct.unpack_from("<Q", entry.data.ljust(at + 8, b"\0"), at)
                if word >> 48 == TAG >> 48:
                    best = max(best, word & 0xffffffff)
                elif word:
                    best = max(best, by_fill.get(entry.data[at:at + SECTOR], 0))
            newest.append(best if best > BASE_VALUE else 0)
        return newest

    def done_before(self, seen):
        """Operations (their number) that had ended when data of value @seen were written."""
        if not seen:
            return 0
        batch = self.ops[seen - 2].batch
        return next(i for i, op in enumerate(self.ops) if op.batch == batch)

    def begun_after(self, seen):
        """Operations that may have begun when nothing newer than @seen was in the log."""
        batch = self.ops[seen - 2].batch if seen else 0
        for i, op in enumerate(self.ops):
            # Only plain data show in the log; up to the next of them all may have begun.
            if op.batch > batch and op.kind in ("write", "aio"):
                batch = op.batch
                return max(k for k, other in enumerate(self.ops) if other.batch == batch) + 1
        return len(self.ops)

    def allowed(self, done, begun):
        """The values each sector may hold: @done operations have ended, @begun may have begun."""
        first = BASE_VALUE if self.backing else ZERO_VALUE
        now = [{first} for _ in range(self.size // SECTOR)]
        disk = [set(values) for values in now]
        for i, op in enumerate(self.ops[:begun]):
            for sector in op.sectors():
                value = ZERO_VALUE if op.kind in ("zero", "unmap", "discard") else op.value
                if i >= done:
                    disk[sector].add(value)
                    continue
                # A discard may leave parts of clusters as they were.
                now[sector] = now[sector] | {value} if op.kind == "discard" else {value}
                disk[sector] = set(now[sector]) if op.fua else disk[sector] | now[sector]
            if op.kind == "flush" and i < done:
                disk = [set(values) for values in now]
        return disk
