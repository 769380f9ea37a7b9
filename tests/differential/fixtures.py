# SPDX-License-Identifier: MIT
"""Images on which random command lines work, all made by the installed qemu-img."""
import os
import subprocess

IMG, IO = "qemu-img", "qemu-io"


def run(folder, *words):
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)


def poke(path, offset, data):
    with open(path, "r+b") as image:
        image.seek(offset)
        image.write(data)


def be64(path, offset):
    with open(path, "rb") as image:
        image.seek(offset)
        return int.from_bytes(image.read(8), "big")


def create(folder, name, size, *options):
    run(folder, IMG, "create", "-q", "-f", "qcow2", *options, name, *([size] if size else []))


def write(folder, name, *commands):
    words = [word for command in commands for word in ("-c", command)]
    run(folder, IO, "-f", "qcow2", *words, name)


def raw_images(folder):
    with open(os.path.join(folder, "raw.img"), "wb") as image:
        image.write(b"\0" * 65536 + b"data" * 16384 + b"\0" * 262144 + b"more" * 1000)
        image.truncate(1 << 20)
    with open(os.path.join(folder, "zero.img"), "wb") as image:
        image.truncate(2 << 20)
    with open(os.path.join(folder, "odd.img"), "wb") as image:
        image.write(b"odd!" * 250)
    open(os.path.join(folder, "empty.img"), "wb").close()
    os.mkdir(os.path.join(folder, "folder"))


def good_images(folder):
    data = "write -P 1 0 192k", "write -P 2 1M 64k", "write -z 512k 64k"
    create(folder, "a.qcow2", "4M")
    write(folder, "a.qcow2", *data)
    create(folder, "over.qcow2", "6M", "-b", "a.qcow2", "-F", "qcow2")
    write(folder, "over.qcow2", "write -P 3 128k 64k", "write -P 4 5M 64k")
    create(folder, "v2.qcow2", "4M", "-o", "compat=0.10")
    write(folder, "v2.qcow2", *data[:2])
    create(folder, "sub.qcow2", "4M", "-o", "extended_l2=on")
    write(folder, "sub.qcow2", "write -P 5 2k 6k", "write -z 32k 4k", "write -P 6 1M 128k")
    create(folder, "snap.qcow2", "4M")
    write(folder, "snap.qcow2", *data)
    run(folder, IMG, "snapshot", "-c", "s1", "snap.qcow2")
    write(folder, "snap.qcow2", "write -P 7 64k 64k")
    run(folder, IMG, "snapshot", "-c", "s2", "snap.qcow2")
    create(folder, "bitmap.qcow2", "4M")
    run(folder, IMG, "bitmap", "--add", "bitmap.qcow2", "b0")
    write(folder, "bitmap.qcow2", *data)
    run(folder, IMG, "bitmap", "--add", "--disable", "-g", "128k", "bitmap.qcow2", "b1")
    run(folder, IMG, "convert", "-c", "-O", "qcow2", "raw.img", "packed.qcow2")
    create(folder, "data.qcow2", "4M", "-o", "data_file=data.raw")
    write(folder, "data.qcow2", *data[:2])
    create(folder, "tiny.qcow2", "1M", "-o", "cluster_size=512,refcount_bits=1")
    write(folder, "tiny.qcow2", "write -P 8 0 3k", "write -P 9 700k 1k")


def bad_images(folder):
    def path(name):
        return os.path.join(folder, name)
    with open(path("a.qcow2"), "rb") as image:
        content = image.read()
    for name in ("leak.qcow2", "hurt.qcow2", "lost.qcow2", "head.qcow2"):
        with open(path(name), "wb") as image:
            image.write(content[:80] if name == "head.qcow2" else content)
    blocks = be64(path("a.qcow2"), be64(path("a.qcow2"), 48))
    poke(path("leak.qcow2"), blocks + 2 * 12, b"\0\1")
    os.truncate(path("leak.qcow2"), 13 * 65536)
    table = be64(path("a.qcow2"), be64(path("a.qcow2"), 40)) & 0x00fffffffffffe00
    poke(path("hurt.qcow2"), table, (0x8000000000050200).to_bytes(8, "big"))
    poke(path("lost.qcow2"), blocks + 2 * 5, b"\0\0")


def make(folder):
    raw_images(folder)
    good_images(folder)
    bad_images(folder)
