#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make small images, each with one feature or one fault: make.py FOLDER [NAME...].

They are made from the description of the format alone, by none of the programs under test.
"""
import os
import sys

from build import (COMPRESSED, COPIED, Image, deflate, pack, pattern, zstd_of_zeros_but)

BACKING_FORMAT, FEATURES, BITMAPS = 0xe2792aca, 0x6803f857, 0x23852875
CRYPTO, DATA_FILE, UNKNOWN = 0x0537be77, 0x44415441, 0x12345678
IMAGES = {}


def image(function):
    IMAGES[function.__name__.replace("_", "-")] = function
    return function


def add(name, function, *args):
    IMAGES[name] = lambda: function(*args)


def basic(**header):
    """Two clusters of data."""
    img = Image(**header)
    img.write(0)
    img.write(3)
    return img


def poked(structure, field, value):
    img = basic().finish()
    img.poke(structure, field, value)
    return img


def widths(order):
    img = Image(refcount_order=order)
    img.write(0)
    img.write(2)
    return img.finish()


def clusters(bits):
    img = Image(bits=bits, size=4 << bits)
    img.write(1)
    return img.finish()


# --- geometry and header ---------------------------------------------------------------------

add("v3-empty", lambda: Image().finish())
add("v2-empty", lambda: Image(version=2, header_length=72).finish())
add("v3-data", lambda: basic().finish())
add("v2-data", lambda: basic(version=2, header_length=72).finish())
add("size-odd", lambda: basic(size=65000).finish())
add("l1-longer", lambda: basic(l1_size=7).finish())
add("header-104", lambda: basic(header_length=104).finish())
for cluster_bits in (9, 10, 13, 14, 16, 18, 21):
    add("clusters-2-to-%d" % cluster_bits, clusters, cluster_bits)
for width in range(7):
    add("refcount-bits-%d" % (1 << width), widths, width)


@image
def header_longer():
    img = basic(header_length=128)
    img.unknown_header = b"unknown1unknown2"
    return img.finish()


@image
def extension_unknown():
    img = basic()
    img.extension(UNKNOWN, b"thirteen byte")
    return img.finish()


@image
def feature_table():
    img = basic()
    img.extension(FEATURES, pack("feature", kind=0, bit=0, name=b"dirty bit"))
    return img.finish()


add("compatible-unknown", lambda: basic(compatible=1 << 40).finish())
add("autoclear-unknown", lambda: basic(autoclear=1 << 40).finish())
add("lazy-refcounts", lambda: basic(compatible=1).finish())
add("dirty-but-right", lambda: basic(compatible=1, incompatible=1).finish())

@image
def size_0():
    img = Image(size=0, l1_size=0)
    img.refs[img.l1 >> img.bits] = 0
    return img.finish()


# --- mapping ---------------------------------------------------------------------------------


@image
def zero_clusters():
    img = basic()
    img.entries[1] = 1
    img.write(2, flags=COPIED | 1)
    return img.finish()


@image
def compressed():
    img = Image()
    img.packed(1, deflate(pattern(7, img.cluster)))
    return img.finish()


@image
def compressed_shared():
    img = Image()
    first = deflate(pattern(7, img.cluster))
    img.packed(0, first)
    off = img.entries[0] & 0xffff
    img.packed(1, deflate(pattern(9, img.cluster)), off + len(first))
    img.refs[off >> img.bits] = 2
    return img.finish()


@image
def compressed_across():
    img = Image()
    off = img.alloc(2)
    img.packed(1, deflate(pattern(7, img.cluster)), off + img.cluster - 101)
    return img.finish()


@image
def compressed_more_sectors():
    img = Image()
    img.packed(1, deflate(pattern(7, img.cluster)), sectors=6)
    return img.finish()


@image
def compressed_zstd():
    img = Image(incompatible=8, compression_type=1)
    img.packed(1, zstd_of_zeros_but(0x5a, img.cluster))
    return img.finish()


def subclusters(bitmap, backing=False, offset=True):
    img = Image(bits=14, size=65536, incompatible=16)
    if backing:
        img.backing = b"base.raw"
        img.extension(BACKING_FORMAT, b"raw")
    img.write(0)
    if not offset:
        img.refs[(img.entries[0] & 0xffffff) >> img.bits] = 0
        img.entries[0] = 0
    img.finish()
    img.number(img.l1, img.l2 | COPIED)
    img.number(img.l2 + 8, bitmap)
    return img


add("subclusters-all", subclusters, 0xffffffff)
add("subclusters-some", subclusters, 0x00000f0f)
add("subclusters-zero", subclusters, 0xf000000f0f)
add("subclusters-backing", subclusters, 0x000f00000000ff00, True)
add("subclusters-both", subclusters, 0x100000001)
add("subclusters-nowhere", subclusters, 0x1, False, False)
add("subclusters-too-small", lambda: basic(incompatible=16).finish())

# --- other files -----------------------------------------------------------------------------


def on_backing(name, fmt=b"raw", size=65536):
    img = Image(size=size)
    img.backing = name
    if fmt:
        img.extension(BACKING_FORMAT, fmt)
    img.write(1)
    return img.finish()


add("backing", on_backing, b"base.raw")
add("backing-no-format", on_backing, b"base.raw", None)
add("backing-shorter", on_backing, b"base.raw", b"raw", 262144)
add("backing-longer", on_backing, b"base.raw", b"raw", 8192)
add("backing-qcow2", on_backing, b"v3-data", b"qcow2")
add("backing-missing", on_backing, b"missing.raw")
add("backing-format-unknown", on_backing, b"base.raw", b"nonsense")
add("backing-format-long", on_backing, b"base.raw", b"sixteen-letters.")
add("backing-loop", on_backing, b"backing-loop", b"qcow2")
add("backing-json", on_backing, b'json:{"driver":"raw","file":{"driver":"file",'
    b'"filename":"base.raw"}}')


def external(raw=False, entry=COPIED, name=b"base.raw"):
    img = Image(incompatible=4, autoclear=2 if raw else 0)
    img.extension(DATA_FILE, name)
    img.entries[0] = entry
    img.entries[2] = 2 << 12 | COPIED
    return img.finish()


add("data-file", external)
add("data-file-raw", external, True)
add("data-file-elsewhere", external, False, 5 << 12 | COPIED)
add("data-file-compressed", external, False, COMPRESSED)
add("data-file-missing", external, False, COPIED, b"missing.raw")
add("raw-bit-alone", lambda: basic(autoclear=2).finish())

# --- snapshots -------------------------------------------------------------------------------


def with_snapshot(extra=None, **fields):
    img = basic()
    img.snapshot("first", extra, **fields)
    return img.finish()


add("snapshot", with_snapshot)
add("snapshot-extra-16", with_snapshot, pack("snapshot_extra", disk_size=65536)[:16])
add("snapshot-extra-more", with_snapshot, pack("snapshot_extra", disk_size=65536) + b"unknown!")
add("snapshot-extra-none", with_snapshot, b"")
add("snapshot-disk-larger", with_snapshot, pack("snapshot_extra", disk_size=1 << 20))
IMAGES["snapshot-extra-huge"] = lambda: with_snapshot(extra_len=2000)
IMAGES["snapshot-l1-unaligned"] = lambda: with_snapshot(l1_off=0x6200)
IMAGES["snapshot-l1-huge"] = lambda: with_snapshot(l1_size=0x7fffffff)
IMAGES["snapshot-l1-empty"] = lambda: with_snapshot(l1_size=0)


@image
def snapshots_two():
    img = basic()
    img.snapshot("first")
    img.snapshot("second")
    return img.finish()


@image
def snapshot_v2():
    img = basic(version=2, header_length=72)
    img.snapshot("first", b"")
    return img.finish()


# --- bitmaps ---------------------------------------------------------------------------------


def bitmap(entry=0, autoclear=1, ext=None, **fields):
    img = basic(autoclear=autoclear)
    directory, table = img.alloc(), img.alloc()
    values = {"table_off": table, "table_size": 1, "flags": 2, "type": 1,
              "granularity_bits": 16, "name_len": 5}
    values.update(fields)
    one = pack("bitmap", **values) + b"dirty"
    img.put(directory, one + bytes(-len(one) % 8))
    if entry == "stored":
        entry = img.alloc()
        img.put(entry, b"\1")
    img.number(table, entry)
    values = {"nr": 1, "dir_size": 32, "dir_off": directory}
    values.update(ext or {})
    img.extension(BITMAPS, pack("bitmaps_ext", **values))
    return img.finish()


add("bitmap", bitmap)
add("bitmap-ones", bitmap, 1)
add("bitmap-stored", bitmap, "stored")
add("bitmap-stale", bitmap, 0, 0)
add("bitmap-bits-behind-end", bitmap, 1 << 30)
add("bitmap-bits-unaligned", bitmap, 0x200)
add("bitmaps-none", bitmap, 0, 1, {"nr": 0})
add("bitmaps-too-many", bitmap, 0, 1, {"nr": 70000})
add("bitmaps-two-of-one", bitmap, 0, 1, {"nr": 2})
add("bitmaps-reserved", bitmap, 0, 1, {"reserved": 1})
add("bitmaps-dir-unaligned", bitmap, 0, 1, {"dir_off": 0x200})
add("bitmaps-dir-huge", bitmap, 0, 1, {"dir_size": 1 << 40})
add("bitmaps-dir-short", bitmap, 0, 1, {"dir_size": 16})
IMAGES["bitmap-in-use"] = lambda: bitmap(flags=3)
IMAGES["bitmap-flags"] = lambda: bitmap(flags=0x10)
IMAGES["bitmap-granularity"] = lambda: bitmap(granularity_bits=40)
IMAGES["bitmap-type"] = lambda: bitmap(type=2)
IMAGES["bitmap-table-huge"] = lambda: bitmap(table_size=0xffffffff)
IMAGES["bitmap-table-unaligned"] = lambda: bitmap(table_off=0x200)
IMAGES["bitmap-extra"] = lambda: bitmap(extra_len=8)


@image
def bitmaps_extension_short():
    img = basic(autoclear=1)
    img.extension(BITMAPS, bytes(8))
    return img.finish()


# --- faults of the header --------------------------------------------------------------------

for what, field, number in (
        ("version-1", "version", 1), ("version-4", "version", 4),
        ("cluster-bits-8", "cluster_bits", 8), ("cluster-bits-22", "cluster_bits", 22),
        ("backing-outside", "backing_off", 5000), ("backing-in-header", "backing_off", 8),
        ("crypt-3", "crypt_method", 3), ("size-uncovered", "size", 1 << 40),
        ("size-too-large", "size", (1 << 64) - 1), ("l1-huge", "l1_size", 1 << 30),
        ("l1-unaligned", "l1_off", 0x3200), ("l1-missing", "l1_size", 0),
        ("l1-behind-end", "l1_off", 1 << 30),
        ("reftable-unaligned", "reftable_off", 0x1200),
        ("reftable-none", "reftable_clusters", 0),
        ("reftable-huge", "reftable_clusters", 1 << 20),
        ("reftable-behind-end", "reftable_off", 1 << 30),
        ("snapshots-too-many", "nb_snapshots", 70000),
        ("snapshots-unaligned", "snapshots_off", 0x200),
        ("incompatible-unknown", "incompatible", 1 << 50),
        ("corrupt-bit", "incompatible", 2), ("compression-bit-alone", "incompatible", 8),
        ("compression-type-alone", "compression_type", 1),
        ("compression-type-2", "compression_type", 2),
        ("refcount-order-7", "refcount_order", 7), ("header-short", "header_length", 96),
        ("header-too-long", "header_length", 8192)):
    add(what, poked, "header", field, number)


@image
def backing_name_too_long():
    img = on_backing(b"base.raw")
    img.poke("header", "backing_len", 1024)
    return img


@image
def incompatible_named():
    img = basic(incompatible=1 << 50)
    img.extension(FEATURES, pack("feature", kind=0, bit=50, name=b"quantum clusters"))
    return img.finish()


@image
def extension_too_long():
    img = basic()
    img.extension(UNKNOWN, b"12345678")
    img.finish().poke("extension", "len", 1 << 20, 112)
    return img


@image
def crypto_extension_alone():
    img = basic()
    img.extension(CRYPTO, bytes(16))
    return img.finish()


add("luks-without-extension", lambda: basic(crypt_method=2).finish())

# --- faults of tables ------------------------------------------------------------------------


def entry(value):
    img = basic()
    img.entries[1] = value
    return img.finish()


add("l2-entry-unaligned", entry, 0x6200 | COPIED)
add("l2-entry-behind-end", entry, 1 << 30 | COPIED)
add("l2-entry-reserved", entry, 2)
add("l2-entry-in-header", entry, COPIED | 1 << 12)
add("l2-entry-in-l1", entry, COPIED | 3 << 12)
add("l2-entry-twice", entry, COPIED | 5 << 12)
add("compressed-behind-end", entry, COMPRESSED | 1 << 30)
add("compressed-copied", entry, COMPRESSED | COPIED | 5 << 12)


@image
def zero_bit_in_v2():
    img = basic(version=2, header_length=72)
    img.entries[1] = 1
    return img.finish()


@image
def compressed_nonsense():
    img = Image()
    img.packed(1, b"\xff" * 300)
    return img.finish()


def l1_entry(value):
    img = basic().finish()
    img.number(img.l1, value)
    return img


add("l1-entry-unaligned", l1_entry, 0x4200 | COPIED)
add("l1-entry-behind-end", l1_entry, 1 << 30 | COPIED)
add("l1-entry-reserved", l1_entry, 0x4000 | COPIED | 1)
add("l1-entry-not-copied", l1_entry, 0x4000)
add("l1-entry-empty", l1_entry, 0)


def counted(cluster, count):
    img = basic()
    img.alloc()
    img.refs[cluster] = count
    img.refs.setdefault(7, 0)
    if cluster != 7:
        img.refs[7] = 0
    return img.finish()


add("count-leak", counted, 7, 1)
add("count-of-data-0", counted, 5, 0)
add("count-of-data-2", counted, 5, 2)
add("count-of-header-0", counted, 0, 0)
add("count-of-l1-0", counted, 3, 0)
add("count-of-l2-0", counted, 4, 0)
add("count-of-block-0", counted, 2, 0)


@image
def copied_bit_missing():
    img = basic()
    img.entries = {idx: value & ~COPIED for idx, value in img.entries.items()}
    return img.finish()


def reftable_entry(value):
    img = basic().finish()
    img.number(img.reftable, value)
    return img


add("refblock-none", reftable_entry, 0)
add("refblock-unaligned", reftable_entry, 0x2200)
add("refblock-behind-end", reftable_entry, 1 << 30)
add("refblock-reserved", reftable_entry, 0x2001)
add("refblock-is-l1", reftable_entry, 0x3000)


def cut(length):
    img = basic().finish()
    del img.data[length:]
    return img


add("cut-in-last-cluster", cut, 0x6800)
add("cut-before-data", cut, 0x5000)
add("cut-before-l2", cut, 0x4000)
add("cut-before-l1", cut, 0x3000)
add("cut-in-header", cut, 64)


def write_sparse(path, data):
    step = 4096
    with open(path, "wb") as file:
        for off in range(0, len(data), step):
            part = data[off:off + step]
            if any(part):
                file.seek(off)
                file.write(part)
        file.truncate(len(data))


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "base.raw"), "wb") as file:
        file.write(b"".join(pattern(0x80 + i, 4096) for i in range(16)))
    for name in names or IMAGES:
        write_sparse(os.path.join(folder, name), IMAGES[name]().data)
    print("\n".join(names or IMAGES))


main()
