# SPDX-License-Identifier: MIT
"""Building qcow2 images byte by byte, with the names of qcow2-spec/fields.txt."""
import os
import zlib

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAGIC = 0x514649fb
COPIED = 1 << 63
COMPRESSED = 1 << 62
OFFSET = 0x00fffffffffffe00


def read_fields():
    """{structure: {field: (offset, size)}} of all fields that are bytes."""
    table = {}
    with open(os.path.join(TOP, "qcow2-spec", "fields.txt"), encoding="utf-8") as file:
        for line in file:
            part = line.split("|")
            if len(part) > 4 and part[4] == "byte":
                table.setdefault(part[0], {})[part[1]] = (int(part[2]), int(part[3]))
    return table


FIELDS = read_fields()


def pack(structure, **values):
    """The bytes of one structure; fields not given are zero."""
    fields = FIELDS[structure]
    data = bytearray(max(off + size for off, size in fields.values()))
    for name, value in values.items():
        off, size = fields[name]
        if isinstance(value, int):
            value = value.to_bytes(size, "big")
        data[off:off + len(value)] = value
    return bytes(data)


def pad8(data):
    return data + bytes(-len(data) % 8)


def pattern(seed, size):
    """Bytes that tell which cluster they are of."""
    return bytes([seed]) * (size // 2) + bytes(i & 0xff for i in range(size - size // 2))


def deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -12)
    return packer.compress(data) + packer.flush()


def zstd_of_zeros_but(byte, size):
    """A frame of one block that repeats @byte."""
    head = b"\x28\xb5\x2f\xfd" + b"\xa0" + size.to_bytes(4, "little")
    return head + ((size << 3) | (1 << 1) | 1).to_bytes(3, "little") + bytes([byte])


class Image:
    """Header, refcounts, one L2 table for the first guest clusters, and what is added."""

    def __init__(self, bits=12, size=65536, **header):
        self.bits, self.cluster = bits, 1 << bits
        self.data = bytearray()
        self.refs = {}
        self.extensions = []
        self.unknown_header = b""
        self.backing = None
        self.entries = {}
        self.snapshots = []
        self.l1_more = {}
        self.header = {"magic": MAGIC, "version": 3, "cluster_bits": bits, "size": size,
                       "refcount_order": 4, "header_length": 112, "reftable_clusters": 1,
                       "l1_size": 1}
        self.header.update(header)
        self.alloc()
        self.reftable, self.refblock, self.l1, self.l2 = (self.alloc() for _ in range(4))
        self.header.setdefault("reftable_off", self.reftable)
        self.header.setdefault("l1_off", self.l1)

    def alloc(self, clusters=1, count=1):
        """New clusters at the end of the file, counted @count times."""
        off = len(self.data)
        for i in range(clusters):
            self.refs[(off >> self.bits) + i] = count
        self.data += bytes(clusters << self.bits)
        return off

    def put(self, off, data):
        end = off + len(data)
        if end > len(self.data):
            self.data += bytes(end - len(self.data))
        self.data[off:end] = data

    def number(self, off, value, size=8):
        self.put(off, value.to_bytes(size, "big"))

    def write(self, idx, seed=None, flags=COPIED):
        """Guest cluster @idx in a new cluster; its offset."""
        off = self.alloc()
        self.put(off, pattern(idx + 1 if seed is None else seed, self.cluster))
        self.entries[idx] = off | flags
        return off

    def packed(self, idx, data, off=None, sectors=None):
        """A compressed guest cluster: @data in a new cluster, or at @off."""
        if off is None:
            off = self.alloc()
        self.put(off, data)
        if sectors is None:
            sectors = (off % 512 + len(data) - 1) // 512
        self.entries[idx] = COMPRESSED | sectors << (62 - (self.bits - 8)) | off

    def extension(self, kind, data):
        self.extensions.append((kind, data))

    def snapshot(self, name, extra=None, **fields):
        """A snapshot with the same L2 table as the disk: call it last."""
        off = self.alloc()
        if extra is None:
            extra = pack("snapshot_extra", disk_size=self.header["size"], icount=2 ** 64 - 1)
        self.snapshots.append((off, name, extra, fields))
        return off

    def _entry_size(self):
        return 16 if self.header.get("incompatible", 0) & 16 else 8

    def _finish_snapshots(self):
        table = b""
        for idx, (off, name, extra, fields) in enumerate(self.snapshots):
            ident = str(idx + 1).encode()
            head = {"l1_off": off, "l1_size": 1, "id_len": len(ident), "name_len": len(name),
                    "date_sec": 1000000000, "extra_len": len(extra)}
            head.update(fields)
            table += pad8(pack("snapshot", **head) + extra + ident + name.encode())
            self.number(off, self.l2)
            shared = [self.l2] + [e & OFFSET for e in self.entries.values()
                                  if not e & COMPRESSED and e & OFFSET]
            for cluster in shared:
                self.refs[cluster >> self.bits] += 1
        if table:
            off = self.alloc()
            self.put(off, table)
            self.header.setdefault("nb_snapshots", len(self.snapshots))
            self.header.setdefault("snapshots_off", off)
            self.entries = {i: e & ~COPIED for i, e in self.entries.items()}

    def _finish_refcounts(self):
        order = self.header["refcount_order"] if self.header["version"] > 2 else 4
        order = min(order, 6)
        self.number(self.reftable, self.refblock)
        for cluster, count in self.refs.items():
            if order >= 3:
                size = 1 << (order - 3)
                self.number(self.refblock + cluster * size, count, size)
            else:
                bit = cluster << order
                self.data[self.refblock + bit // 8] |= count << bit % 8

    def _header_area(self):
        length = self.header["header_length"]
        known = pack("header", **self.header)
        area = known[:72] if self.header["version"] == 2 else \
            (known + self.unknown_header)[:min(length, 4096)]
        for kind, data in self.extensions:
            area += pad8(pack("extension", type=kind, len=len(data)) + data)
        return area + bytes(8)

    def finish(self):
        self._finish_snapshots()
        copied = 0 if self.snapshots else COPIED
        if self.entries:
            self.number(self.l1, self.l2 | copied)
        else:
            self.refs[self.l2 >> self.bits] = 0
        for idx, entry in self.entries.items():
            self.number(self.l2 + idx * self._entry_size(), entry)
        self._finish_refcounts()
        if self.backing is not None:
            self.header["backing_off"] = len(self._header_area())
            self.header["backing_len"] = len(self.backing)
        self.put(0, self._header_area() + (self.backing or b""))
        return self

    def poke(self, structure, name, value, base=0):
        """Change a field of the finished image."""
        off, size = FIELDS[structure][name]
        self.number(base + off, value, size)
