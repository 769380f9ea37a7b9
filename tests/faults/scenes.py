# SPDX-License-Identifier: MIT
"""Small images and what is done to them.  A scene is a function that makes its images in the
current folder and gives the command (words), the images to check, and the layers whose disks must
be as before or as after it.  In the scenes of WRITES the command is a list of writes and flushes.
"""
SCENES, WRITES = {}, {}


def scene(table):
    def add(function):
        table[function.__name__.replace("_", "-")] = function
        return function
    return add


class Maker:
    """Makes images with the programs under test, without faults."""

    def __init__(self, call):
        self.call = call

    def create(self, name, *options, size="64k"):
        self.call("qimg", "create", "-q", "-f", "qcow2", *options, name, *([size] if size else []))

    def io(self, name, *commands):
        self.call("qimg-io", "-f", "qcow2", *[word for command in commands
                                              for word in ("-c", command)], name)

    def img(self, *words):
        self.call("qimg", *words)

    def mixed(self, name="image", options="cluster_size=512", size="64k"):
        """Plain, zero and compressed clusters, with a snapshot and a bitmap."""
        self.create(name, "-o", options, size=size)
        self.io(name, "write -P 1 0 9k", "write -c -P 2 16k 512", "write -c -P 3 17k 512",
                "write -z 20k 2k")
        self.img("snapshot", "-c", "one", name)
        self.img("bitmap", "--add", "-g", "512", name, "bits")
        self.io(name, "write -P 4 4k 3k", "write -P 5 40k 2k")


@scene(SCENES)
def snapshot_create(make):
    make.mixed()
    return ["qimg", "snapshot", "-c", "two", "image"], ["image"], ["image"]


@scene(SCENES)
def snapshot_delete(make):
    make.mixed()
    return ["qimg", "snapshot", "-d", "one", "image"], ["image"], ["image"]


@scene(SCENES)
def snapshot_apply(make):
    make.mixed()
    make.img("bitmap", "--remove", "image", "bits")
    return ["qimg", "snapshot", "-a", "one", "image"], ["image"], ["image"]


@scene(SCENES)
def snapshot_apply_resized(make):
    make.mixed()
    make.img("bitmap", "--remove", "image", "bits")
    make.img("resize", "-q", "image", "200k")
    return ["qimg", "snapshot", "-a", "one", "image"], ["image"], ["image"]


@scene(SCENES)
def bitmap_add(make):
    make.mixed()
    return ["qimg", "bitmap", "--add", "image", "more"], ["image"], ["image"]


@scene(SCENES)
def bitmap_merge(make):
    make.mixed()
    make.img("bitmap", "--add", "-g", "512", "image", "more")
    make.io("image", "write -P 5 50k 2k")
    return ["qimg", "bitmap", "--merge", "more", "image", "bits"], ["image"], ["image"]


@scene(SCENES)
def bitmap_remove(make):
    make.mixed()
    return ["qimg", "bitmap", "--remove", "image", "bits"], ["image"], ["image"]


@scene(SCENES)
def resize_grow(make):
    make.mixed()
    return ["qimg", "resize", "-q", "image", "9M"], ["image"], ["image"]


@scene(SCENES)
def resize_metadata(make):
    make.mixed()
    return (["qimg", "resize", "-q", "--preallocation=metadata", "image", "300k"], ["image"],
            ["image"])


@scene(SCENES)
def resize_falloc(make):
    make.mixed()
    return (["qimg", "resize", "-q", "--preallocation=falloc", "image", "200k"], ["image"],
            ["image"])


@scene(SCENES)
def resize_full(make):
    make.mixed()
    return ["qimg", "resize", "-q", "--preallocation=full", "image", "200k"], ["image"], ["image"]


@scene(SCENES)
def resize_shrink(make):
    make.create("image", "-o", "cluster_size=512", size="2M")
    make.io("image", "write -P 1 0 9k", "write -P 2 1M 200k")
    make.img("bitmap", "--add", "-g", "512", "image", "bits")
    return ["qimg", "resize", "-q", "--shrink", "image", "100k"], ["image"], ["image"]


@scene(SCENES)
def amend_wider(make):
    make.mixed()
    return ["qimg", "amend", "-o", "refcount_bits=64", "image"], ["image"], ["image"]


@scene(SCENES)
def amend_older(make):
    make.create("image", "-o", "cluster_size=512")
    make.io("image", "write -P 1 0 9k", "write -z 4k 2k", "write -z 20k 2k")
    return ["qimg", "amend", "-o", "compat=0.10", "image"], ["image"], ["image"]


@scene(SCENES)
def amend_newer(make):
    make.create("image", "-o", "cluster_size=512,compat=0.10")
    make.io("image", "write -P 1 0 9k")
    return ["qimg", "amend", "-o", "compat=1.1,lazy_refcounts=on", "image"], ["image"], ["image"]


@scene(SCENES)
def amend_size(make):
    make.mixed()
    return ["qimg", "amend", "-o", "size=1M", "image"], ["image"], ["image"]


@scene(SCENES)
def rebase(make):
    make.create("old", "-o", "cluster_size=512")
    make.io("old", "write -P 1 0 20k")
    make.create("new", "-o", "cluster_size=512")
    make.io("new", "write -P 2 10k 20k")
    make.create("image", "-b", "old", "-F", "qcow2", "-o", "cluster_size=512", size=None)
    make.io("image", "write -P 3 5k 2k")
    return ["qimg", "rebase", "-b", "new", "-F", "qcow2", "image"], ["image"], ["image"]


@scene(SCENES)
def commit(make):
    make.create("base", "-o", "cluster_size=512")
    make.io("base", "write -P 1 0 20k")
    make.create("image", "-b", "base", "-F", "qcow2", "-o", "cluster_size=512", size=None)
    make.io("image", "write -P 3 5k 2k", "write -z 10k 1k", "write -P 4 60k 2k")
    return ["qimg", "commit", "-q", "image"], ["image", "base"], ["image"]


def converted(make, *options):
    make.mixed("source", size="2M")
    make.io("source", "write -P 6 100k 700k", "write -P 7 1M 300k")
    return ["qimg", "convert", *options, "source", "target"], ["source"], ["source"]


@scene(SCENES)
def convert(make):
    return converted(make, "-O", "qcow2", "-o", "cluster_size=4k")


@scene(SCENES)
def convert_packed(make):
    return converted(make, "-c", "-O", "qcow2", "-o", "cluster_size=4k")


@scene(SCENES)
def convert_raw(make):
    return converted(make, "-O", "raw")


@scene(SCENES)
def convert_full(make):
    return converted(make, "-W", "-O", "qcow2", "-o", "preallocation=full,cluster_size=512")


@scene(SCENES)
def convert_bitmaps(make):
    return converted(make, "--bitmaps", "-O", "qcow2", "-o", "cluster_size=4k")


@scene(SCENES)
def convert_shared(make):
    """A target that is there, with a bitmap, is written to; it stays."""
    make.mixed("source", size="256k")
    make.mixed("image", "cluster_size=512", "256k")
    return (["qimg", "convert", "-n", "-O", "qcow2", "source", "image"], ["image", "source"],
            ["source"])


@scene(SCENES)
def repair_leaks(make):
    make.mixed()
    make.img("snapshot", "-c", "two", "image")
    # The table's first entry for the guest's last cluster is forgotten, not its count.
    make.io("image", "write -P 9 63k 512")
    with open("image", "r+b") as file:
        file.seek(40)
        table = int.from_bytes(file.read(8), "big")
        file.seek(table + 8)
        l2_table = int.from_bytes(file.read(8), "big") & 0xfffffffffffe00
        file.seek(l2_table + 8 * (63 % 32 * 2))
        file.write(bytes(8))
    return ["qimg", "check", "-q", "-r", "leaks", "image"], [], ["image"]


@scene(SCENES)
def rebuild(make):
    make.mixed()
    with open("image", "r+b") as file:
        file.seek(48)
        table = int.from_bytes(file.read(8), "big")
        file.seek(table)
        file.write(bytes(8))
    return ["qimg", "check", "-q", "-r", "all", "image"], [], ["image"]


KEYS = ["--object", "secret,id=p,data=first", "--object", "secret,id=q,data=second"]


def keyed(make, options, prefix, change):
    """A change of key slots.  The image is encrypted, with the password "first"."""
    make.img("create", "-q", *KEYS, "-f", options.split(",")[0][7:], "-o",
             "%skey-secret=p,%siter-time=1%s" % (prefix, prefix,
             ",encrypt.format=luks,cluster_size=512" if prefix else ""), "image", "64k")
    make.call("qimg-io", *KEYS, "--image-opts", "-c", "write -P 5 1k 30k",
              "%s,%skey-secret=p,file.filename=image" % (options, prefix))
    for one in change[:-1]:
        make.img(*amended(options, prefix, one))
    return ["qimg", *amended(options, prefix, change[-1])], [], []


def amended(options, prefix, change):
    return ["amend", *KEYS, "--image-opts",
            "%s,%skey-secret=p,file.filename=image" % (options, prefix), "-o",
            ",".join(prefix + one for one in change.split(","))]


ADD = "state=active,new-secret=q,iter-time=1"


@scene(SCENES)
def key_added(make):
    return keyed(make, "driver=luks", "", [ADD])


@scene(SCENES)
def key_removed(make):
    return keyed(make, "driver=luks", "", [ADD, "state=inactive,old-secret=q"])


@scene(SCENES)
def key_added_inside(make):
    return keyed(make, "driver=qcow2", "encrypt.", [ADD])


@scene(SCENES)
def key_removed_inside(make):
    return keyed(make, "driver=qcow2", "encrypt.", [ADD, "state=inactive,old-secret=q"])


# --- writes ------------------------------------------------------------------------------------

@scene(WRITES)
def fresh(make):
    make.create("image", "-o", "cluster_size=512", size="256k")
    return ["write 3k 6k", "flush", "write 100k 20k", "write 1k 5k", "flush", "zero 2k 30k",
            "write 200k 700", "flush", "discard 100k 10k", "write 3k 100"]


@scene(WRITES)
def shared(make):
    make.mixed(size="256k")
    return ["write 1k 2k", "flush", "write 16k 1k", "write 4k 9k", "flush", "zero 0 30k",
            "write 250k 2k", "flush", "write 0 100"]


@scene(WRITES)
def backed(make):
    make.create("base", "-o", "cluster_size=512", size="256k")
    make.io("base", "write -P 99 0 100k")
    make.create("image", "-b", "base", "-F", "qcow2", "-o", "cluster_size=16k,extended_l2=on",
                size=None)
    return ["write 1k 2k", "flush", "write 14k 3k", "zero 4k 9k", "flush", "zero 16k 33k",
            "write 90k 20k", "flush", "discard 16k 32k", "write 17k 100"]


@scene(WRITES)
def narrow(make):
    """The refcount table grows."""
    make.create("image", "-o", "cluster_size=512,refcount_bits=64,lazy_refcounts=on", size="4M")
    return ["write 0 1M", "flush", "write 1M 1100k", "flush", "zero 0 2M", "flush", "write 0 9k"]


@scene(WRITES)
def packed(make):
    make.create("image", "-o", "cluster_size=512", size="64k")
    make.img("bitmap", "--add", "-g", "512", "image", "bits")
    return ["compressed 0 512", "compressed 1k 512", "flush", "compressed 2k 512", "write 1k 512",
            "write 30k 2k", "flush", "write 2k 1k"]


@scene(WRITES)
def version_2(make):
    make.create("image", "-o", "cluster_size=512,compat=0.10", size="256k")
    return ["write 3k 6k", "flush", "discard 3k 3k", "write 100k 20k", "zero 1k 5k", "flush",
            "write 4k 600", "write 200k 700"]


@scene(WRITES)
def external(make):
    make.create("image", "-o", "cluster_size=512,data_file=data", size="256k")
    return ["write 3k 6k", "flush", "discard 3k 3k", "write 100k 20k", "zero 1k 5k", "flush",
            "write 4k 600", "write 200k 700"]
