#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make qcow2-spec/examples/*.txt: small images, byte by byte, with what each byte means.

usage: gen-examples.py [--check]
The images are made by qimg and qimg-io from BUILD.  With --check nothing is written; exit 1 if a
text is not up to date.  The bytes of a compressed stream depend on the library that packed it:
they are shown, and compared by what they expand to.
"""
import os
import subprocess
import sys
import tempfile
import zlib

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
EXAMPLES = os.path.join(TOP, "qcow2-spec", "examples")
CLUSTER = 512
IMAGES = {
    "fresh": ("An empty disk of 64 KiB", []),
    "data": ("The same with one cluster of data at guest offset 1024",
             ["write -P 0x61 1024 512"]),
    "compressed": ("The same with one compressed cluster at guest offset 0",
                   ["write -c -P 0x61 0 512"]),
}


def make(path, commands):
    subprocess.run([os.path.join(BUILD, "qimg"), "create", "-q", "-f", "qcow2", "-o",
                    "cluster_size=%d" % CLUSTER, path, "64k"], check=True)
    for command in commands:
        subprocess.run([os.path.join(BUILD, "qimg-io"), "-f", "qcow2", "-c", command, path],
                       check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        return file.read()


def fields(structure):
    """Name, offset, size and meaning of the fields of a structure, from fields.txt."""
    with open(os.path.join(TOP, "qcow2-spec", "fields.txt"), encoding="utf-8") as file:
        for line in file:
            part = line.rstrip("\n").split("|")
            if part[0] == structure:
                yield part[1], int(part[2]), int(part[3]), part[7]


class Dump:
    """One text: lines of bytes with their meaning."""

    def __init__(self, image):
        self.image = image
        self.lines = []

    def number(self, off, size=8):
        return int.from_bytes(self.image[off:off + size], "big")

    def title(self, text):
        self.lines += ["", text, "-" * len(text)]

    def put(self, off, size, text):
        shown = self.image[off:off + size]
        for at in range(0, len(shown), 8):
            self.lines.append(("%06x  %-24s  %s" % (off + at, shown[at:at + 8].hex(" "),
                                                    text if at == 0 else "")).rstrip())

    def rest(self, off, end):
        end = min(end, len(self.image))
        if off < end:
            assert not any(self.image[off:end]), "bytes nobody explains"
            self.lines.append("%06x  00 ... (%d bytes)" % (off, end - off))


def dump_header(dump):
    dump.title("Cluster 0: header (section header)")
    for name, off, size, meaning in fields("header"):
        value = "" if size > 8 or name in ("magic", "padding") else " = %d" % dump.number(off, size)
        dump.put(off, size, "%s%s: %s" % (name, value, meaning))
    dump.put(112, 8, "extension of type 0: the end of the list")
    dump.rest(120, CLUSTER)


def dump_refcounts(dump):
    table = dump.number(48)
    block = dump.number(table)
    dump.title("Refcount table (section refcounts)")
    dump.put(table, 8, "the first refcount block is at %#x" % block)
    dump.rest(table + 8, table + dump.number(56, 4) * CLUSTER)
    dump.title("Refcount block: 16 bits for each cluster")
    count = 0
    while dump.number(block + 2 * count, 2):
        dump.put(block + 2 * count, 2, "cluster %d is in use" % count)
        count += 1
    dump.rest(block + 2 * count, block + CLUSTER)


def dump_compressed(dump, idx, entry):
    bits = 62 - (CLUSTER.bit_length() - 1 - 8)
    off = entry & ((1 << bits) - 1)
    data = dump.image[off:]
    unpack = zlib.decompressobj(-12)
    assert unpack.decompress(data, CLUSTER) == b"a" * CLUSTER
    dump.title("Compressed data of guest cluster %d (section compression)" % idx)
    used = len(data) - len(unpack.unused_data)
    dump.put(off, used, "~ a deflate stream of 512 bytes 61")
    assert not any(data[used:])
    dump.lines.append("~ zeros up to %#x" % len(dump.image))


def dump_mapping(dump):
    table = dump.number(40)
    l2_table = dump.number(table) & 0x00fffffffffffe00
    dump.title("L1 table (section cluster-mapping)")
    if not l2_table:
        dump.put(table, 8, "no L2 table: nothing of the disk is allocated")
        dump.rest(table + 8, table + CLUSTER)
        return
    dump.put(table, 8, "bit 63: copied; the L2 table is at %#x" % l2_table)
    dump.put(table + 8, 8, "no L2 table for the second 32 KiB")
    dump.rest(table + 16, table + CLUSTER)
    dump.title("L2 table of guest bytes 0 .. 32 KiB")
    found = []
    for idx in range(CLUSTER // 8):
        entry = dump.number(l2_table + 8 * idx)
        if entry:
            found.append((idx, entry))
    first = found[0][0]
    if first:
        dump.rest(l2_table, l2_table + 8 * first)
    for idx, entry in found:
        dump.put(l2_table + 8 * idx, 8, "guest cluster %d: %s" % (
            idx, "bit 62: compressed" if entry >> 62 & 1 else "bit 63: copied; data at %#x" %
            (entry & 0x00fffffffffffe00)))
    dump.rest(l2_table + 8 * (found[-1][0] + 1), l2_table + CLUSTER)
    for idx, entry in found:
        if entry >> 62 & 1:
            dump_compressed(dump, idx, entry)
        else:
            off = entry & 0x00fffffffffffe00
            assert dump.image[off:off + CLUSTER] == b"a" * CLUSTER
            dump.title("Data of guest cluster %d" % idx)
            dump.put(off, 8, "and 504 more bytes 61")


def text_of(name, folder):
    title, commands = IMAGES[name]
    dump = Dump(make(os.path.join(folder, name), commands))
    dump.lines = [title, "=" * len(title), "", "qimg create -f qcow2 -o cluster_size=%d %s 64k" %
                  (CLUSTER, name)]
    dump.lines += ["qimg-io -f qcow2 -c '%s' %s" % (command, name) for command in commands]
    dump_header(dump)
    dump_refcounts(dump)
    dump_mapping(dump)
    return "\n".join(dump.lines) + "\n"


def comparable(text):
    """Without the bytes of a stream: the lines of its section."""
    lines, inside = [], False
    for line in text.split("\n"):
        if "~" in line:
            inside = True
            continue
        inside = inside and bool(line)
        if not inside:
            lines.append(line)
    return lines


def main():
    check = sys.argv[1:] == ["--check"]
    stale = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in IMAGES:
            path = os.path.join(EXAMPLES, name + ".txt")
            text = text_of(name, folder)
            old = ""
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    old = file.read()
            if comparable(old) == comparable(text):
                continue
            if check:
                print("%s is not up to date: run scripts/gen-examples.py" % path)
                stale = 1
            else:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    return stale


sys.exit(main())
