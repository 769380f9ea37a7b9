# SPDX-License-Identifier: MIT
"""A second, independent reader of qcow2: what the guest sees, and whether the counts are right."""
import array
import struct
import sys
import zlib

INCOMPAT_DIRTY = 1
INCOMPAT_EXTENDED_L2 = 16
OFFSET_MASK = 0x00fffffffffffe00
COPIED = 1 << 63
COMPRESSED = 1 << 62


class Broken(Exception):
    """The image has an error that "check" would call a corruption, or worse."""


class Image:
    """@data: the file; @base: what the guest sees of the backing file, or None."""

    def __init__(self, data, base=None):
        self.data, self.base = data, base
        if len(data) < 72 or data[:4] != b"QFI\xfb":
            raise Broken("no header")
        self.version, = struct.unpack_from(">I", data, 4)
        bits, self.size = struct.unpack_from(">IQ", data, 20)
        self.l1_size, self.l1_off, self.reftable_off, self.reftable_clusters = \
            struct.unpack_from(">IQQI", data, 36)
        self.incompat, order = 0, 4
        if self.version >= 3:
            self.incompat, = struct.unpack_from(">Q", data, 72)
            order, = struct.unpack_from(">I", data, 96)
        self.cluster = 1 << bits
        self.bits, self.refcount_bits = bits, 1 << order
        self.extended = bool(self.incompat & INCOMPAT_EXTENDED_L2)
        self.entry_size = 16 if self.extended else 8
        self.refs = {}           # cluster number -> references found
        self.copied = []         # (cluster number, flag, what)

    def table(self, off, length, what):
        if off % self.cluster:
            raise Broken("%s at %#x is not aligned" % (what, off))
        raw = bytes(self.data[off:off + length]).ljust(length, b"\0")
        words = array.array("Q", raw)
        if sys.byteorder == "little":
            words.byteswap()
        return words

    def reference(self, off, length=1):
        for number in range(off >> self.bits, (off + length - 1 >> self.bits) + 1):
            self.refs[number] = self.refs.get(number, 0) + 1

    # --- what the guest sees ---

    def backing(self, off, length):
        part = b"" if self.base is None else bytes(self.base[off:off + length])
        return part.ljust(length, b"\0")

    def host(self, off, length):
        return bytes(self.data[off:off + length]).ljust(length, b"\0")

    def inflate(self, entry):
        shift = 62 - (self.bits - 8)
        off = entry & ((1 << shift) - 1)
        sectors = (entry & (COMPRESSED - 1)) >> shift
        length = (sectors + 1) * 512 - off % 512
        self.reference(off, length)
        if entry & COPIED:
            raise Broken("compressed cluster at %#x with copied flag" % off)
        try:
            stream = zlib.decompressobj(-12)
            out = stream.decompress(self.host(off, length), self.cluster)
        except zlib.error as error:
            raise Broken("compressed cluster at %#x: %s" % (off, error)) from error
        if len(out) != self.cluster:
            raise Broken("compressed cluster at %#x is too short" % off)
        return out

    def subclusters(self, entry, bitmap, guest):
        if bitmap & bitmap >> 32 & 0xffffffff:
            raise Broken("subcluster both zero and allocated at guest %#x" % guest)
        off, step, parts = entry & OFFSET_MASK, self.cluster // 32, []
        if not off and bitmap & 0xffffffff:
            raise Broken("subclusters without cluster at guest %#x" % guest)
        for i in range(32):
            if bitmap >> i & 1:
                parts.append(self.host(off + i * step, step))
            elif bitmap >> 32 + i & 1:
                parts.append(bytes(step))
            else:
                parts.append(self.backing(guest + i * step, step))
        return b"".join(parts)

    def read_cluster(self, entry, bitmap, guest):
        if entry & COMPRESSED:
            return self.inflate(entry)
        off = entry & OFFSET_MASK
        if off % self.cluster:
            raise Broken("data cluster at %#x is not aligned" % off)
        if off:
            self.reference(off)
            self.copied.append((off >> self.bits, bool(entry & COPIED), "data"))
        if self.extended:
            return self.subclusters(entry, bitmap, guest)
        if entry & 1:
            return bytes(self.cluster)
        return self.host(off, self.cluster) if off else self.backing(guest, self.cluster)

    def l2_table(self, entry, guest, parts):
        per_table = self.cluster // self.entry_size
        if not entry & OFFSET_MASK:
            parts.append(self.backing(guest, min(per_table * self.cluster, self.size - guest)))
            return
        off = entry & OFFSET_MASK
        self.reference(off)
        self.copied.append((off >> self.bits, bool(entry & COPIED), "L2 table"))
        words = self.table(off, self.cluster, "L2 table")
        for i in range(per_table):
            at = guest + i * self.cluster
            word = words[2 * i] if self.extended else words[i]
            bitmap = words[2 * i + 1] if self.extended else 0
            if at >= self.size:
                if word & OFFSET_MASK:
                    raise Broken("cluster behind the end of the disk")
                continue
            parts.append(self.read_cluster(word, bitmap, at) if word or bitmap
                         else self.backing(at, self.cluster))

    def guest(self):
        """All bytes of the disk; references are counted on the way."""
        parts, per_table = [], self.cluster // self.entry_size * self.cluster
        self.reference(0, self.cluster)
        self.reference(self.l1_off, max(self.l1_size * 8, 1))
        for i, entry in enumerate(self.table(self.l1_off, self.l1_size * 8, "L1 table")):
            if i * per_table < self.size:
                self.l2_table(entry, i * per_table, parts)
        return b"".join(parts)[:self.size]

    # --- counts ---

    def count(self, block, idx):
        bits = self.refcount_bits
        if bits < 8:
            return block[idx * bits // 8] >> idx * bits % 8 & (1 << bits) - 1
        width = bits // 8
        return int.from_bytes(block[idx * width:idx * width + width], "big")

    def counts(self):
        """Cluster number -> stored count, where it is not 0."""
        found, per_block = {}, self.cluster * 8 // self.refcount_bits
        self.reference(self.reftable_off, self.reftable_clusters * self.cluster)
        table = self.table(self.reftable_off, self.reftable_clusters * self.cluster, "refcounts")
        for nr, off in enumerate(table):
            if not off:
                continue
            if off % self.cluster:
                raise Broken("refcount block at %#x is not aligned" % off)
            self.reference(off)
            block = self.host(off, self.cluster)
            used = len(block.rstrip(b"\0")) * 8
            for i in range(min(per_block, -(-used // self.refcount_bits))):
                value = self.count(block, i)
                if value:
                    found[nr * per_block + i] = value
        return found

    def check(self):
        """After guest(): Broken if a count is too small or a flag wrong; leaks do no harm."""
        stored = self.counts()
        if self.incompat & INCOMPAT_DIRTY:
            # The counts are rebuilt at the next open: only sharing would be fatal.
            for number, flag, what in self.copied:
                if self.refs[number] > 1:
                    raise Broken("cluster %d (%s) is used %d times"
                                 % (number, what, self.refs[number]))
            return
        for number, refs in self.refs.items():
            if stored.get(number, 0) < refs:
                raise Broken("cluster %d: refcount %d, references %d"
                             % (number, stored.get(number, 0), refs))
        for number, flag, what in self.copied:
            if flag != (stored.get(number, 0) == 1):
                raise Broken("cluster %d (%s): copied flag %d, refcount %d"
                             % (number, what, flag, stored.get(number, 0)))
