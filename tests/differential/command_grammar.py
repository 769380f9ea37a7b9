# SPDX-License-Identifier: MIT
"""Random command lines for qemu-img: what its commands take, and what they do not take."""

# What an option takes: a kind of value below, or None.  Options of QEMU 7.2 only: a newer one is
# an error there.
COMMANDS = {
    "amend": {"-o": "options", "-f": "format", "-t": "cache", "-p": None, "-q": None,
              "--force": None, "--object": "object", "--image-opts": None},
    "bench": {"-c": "count", "-d": "depth", "-f": "format", "--flush-interval": "count",
              "-i": "aio", "-n": None, "--no-drain": None, "-o": "size", "--pattern": "number",
              "-q": None, "-s": "block", "-S": "block", "-t": "cache", "-w": None, "-U": None},
    "bitmap": {"--add": None, "--remove": None, "--clear": None, "--enable": None,
               "--disable": None, "--merge": "bitmap", "-b": "image", "-F": "format",
               "-g": "size", "-f": "format", "--image-opts": None, "--object": "object"},
    "check": {"-q": None, "-f": "format", "--output": "output", "-r": "repair", "-T": "cache",
              "-U": None, "--image-opts": None, "--object": "object"},
    "commit": {"-q": None, "-f": "format", "-t": "cache", "-b": "image", "-r": "size",
               "-d": None, "-p": None, "--image-opts": None, "--object": "object"},
    "compare": {"-f": "format", "-F": "format", "-T": "cache", "-p": None, "-q": None,
                "-s": None, "-U": None, "--image-opts": None, "--object": "object"},
    "convert": {"--target-image-opts": None, "--target-is-zero": None, "--bitmaps": None,
                "--skip-broken-bitmaps": None, "-U": None, "-C": None, "-c": None, "-p": None,
                "-q": None, "-n": None, "-f": "format", "-t": "cache", "-T": "cache",
                "-O": "format", "-B": "image", "-F": "format", "-o": "options",
                "-l": "snapshot", "-S": "sparse", "-m": "number", "-W": None,
                "--salvage": None, "--image-opts": None, "--object": "object"},
    "create": {"-q": None, "-f": "format", "-b": "image", "-F": "format", "-u": None,
               "-o": "options", "--object": "object"},
    "dd": {"-U": None, "-f": "format", "-O": "format", "--image-opts": None,
           "--object": "object"},
    "info": {"-f": "format", "--output": "output", "--backing-chain": None, "-U": None,
             "--image-opts": None, "--object": "object"},
    "map": {"-f": "format", "--start-offset": "size", "--max-length": "size",
            "--output": "output", "-U": None, "-s": "size", "-l": "size",
            "--image-opts": None, "--object": "object"},
    "measure": {"--output": "output", "-O": "format", "-o": "options", "--size": "size",
                "-f": "format", "-l": "snapshot", "-U": None, "--image-opts": None,
                "--object": "object"},
    "rebase": {"-U": None, "-q": None, "-f": "format", "-t": "cache", "-T": "cache",
               "-p": None, "-u": None, "-b": "image", "-F": "format", "--image-opts": None,
               "--object": "object"},
    "resize": {"-f": "format", "--preallocation": "preallocation", "-q": None,
               "--shrink": None, "--image-opts": None, "--object": "object"},
    "snapshot": {"-U": None, "-q": None, "-l": None, "-a": "name", "-c": "name", "-d": "name",
                 "--image-opts": None, "--object": "object"},
}

# Files of the folder in which a command line runs (fixtures.py makes them).
IMAGES = ["raw.img", "zero.img", "odd.img", "a.qcow2", "over.qcow2", "v2.qcow2", "sub.qcow2",
          "snap.qcow2", "bitmap.qcow2", "packed.qcow2", "data.qcow2", "tiny.qcow2",
          "leak.qcow2", "empty.img"]
BROKEN = ["head.qcow2", "hurt.qcow2", "lost.qcow2", "nofile", "folder", "folder/new", ""]
NEW = ["new.img", "new.qcow2", "new"]

SIZES = ["0", "1", "511", "512", "513", "1000", "64k", "65536", "65537", "1M", "1m", "2M", "3M",
         "4M", "4194304", "8M", "1.5M", "0x100000", "123b", "1K"]
LARGE = ["1G", "1.5G", "1T", "64T", "1P", "7E"]
BAD_SIZES = ["-1", "", "x", "1x", "1MM", "1 M", "9E", "1e6", "0x", "99999999999999999999", "+",
             "1.M", ".5M", "inf", "nan", "-0", "1,5M", "16E"]

CREATE = {
    "cluster_size": ["512", "1k", "4k", "64k", "65536", "128k", "2M", "4M", "100", "0", "3k", "x"],
    "compat": ["0.10", "1.1", "v2", "v3", "2", ""],
    "refcount_bits": ["1", "2", "8", "16", "64", "0", "3", "128", "x"],
    "lazy_refcounts": ["on", "off", "yes", "true", ""],
    "extended_l2": ["on", "off", "maybe"],
    "compression_type": ["zlib", "zstd", "lzma"],
    "preallocation": ["off", "metadata", "falloc", "full", "none"],
    "size": SIZES + BAD_SIZES,
    "backing_file": IMAGES + BROKEN,
    "backing_fmt": ["raw", "qcow2", "nosuch"],
    "data_file": ["new.data", "raw.img", "folder"],
    "data_file_raw": ["on", "off"],
    "nocow": ["on", "off"],
    "nosuch": ["1"],
    "version": ["2", "v3"],
    "encrypt.format": ["rc4"],
}

KINDS = {
    "format": ["qcow2"] * 6 + ["raw"] * 4 + ["nosuch", "", "QCOW2"],
    "cache": ["none", "writeback", "writethrough", "directsync", "unsafe", "off", "nosuch", ""],
    "aio": ["threads", "native", "io_uring", "nosuch"],
    "output": ["json"] * 4 + ["human"] * 2 + ["xml", ""],
    "repair": ["leaks", "all", "none", "x", ""],
    "count": ["1", "2", "10", "0", "x", "-1"],
    "depth": ["1", "4", "0", "x"],
    "number": ["1", "4", "16", "0", "17", "-1", "x", "255", "256"],
    "block": ["512", "4k", "64k", "0", "1", "x", "1000"],
    "sparse": ["0", "512", "4k", "64k", "1M", "16M", "513", "17M", "x", "-1"],
    "preallocation": ["off", "metadata", "falloc", "full", "x"],
    "bitmap": ["b0", "b1", "nosuch", ""],
    "name": ["s1", "s2", "1", "2", "nosuch", "new", ""],
    "snapshot": ["s1", "s2", "1", "snapshot.name=s1", "snapshot.id=2", "snapshot.nosuch=1",
                 "nosuch", "snapshot.id=1,snapshot.name=s1", "snapshot.id=1,snapshot.name=s2"],
    "object": ["secret,id=s0,data=x", "secret,id=s0", "secret,data=x", "nosuch,id=x", "secret",
               "secret,id=s0,file=nofile", ""],
}
SPELLINGS = {"--output": ["--output={}", "--output {}", "--out={}"],
             "--object": ["--object {}", "--object={}"]}


class Grammar:
    """Draws command lines from a random.Random."""

    def __init__(self, rng):
        self.rng = rng

    def some(self, values):
        return self.rng.choice(values)

    def chance(self, percent):
        return self.rng.randrange(100) < percent

    def size(self):
        kind = self.rng.randrange(12)
        return self.some(BAD_SIZES if kind == 0 else LARGE if kind == 1 else SIZES)

    def image(self):
        if self.chance(12):
            return self.some(BROKEN)
        return self.some(IMAGES)

    def named_by_options(self, name):
        """An image as --image-opts takes it."""
        form = self.some(["driver=qcow2,file.filename=%s", "driver=raw,file.filename=%s",
                          "file.filename=%s", "driver=qcow2,file.driver=file,file.filename=%s",
                          "driver=qcow2", "driver=nosuch,file.filename=%s", "filename=%s",
                          "driver=qcow2,file.filename=%s,nosuch=1", "driver=raw,size=512,"
                          "offset=512,file.filename=%s", "%s", "driver=qcow2,file.filename=%s,"
                          "lazy-refcounts=on", "driver=raw,file.filename=%s,read-only=on"])
        return form % name if "%s" in form else form

    def create_options(self):
        parts = []
        for _ in range(self.some([1, 1, 1, 2, 2, 3])):
            key = self.some(list(CREATE))
            value = self.some(CREATE[key])
            if self.chance(6):
                parts.append(key)
            elif key == "backing_file" and self.chance(10):
                parts.append("backing_file=a,,b")
            else:
                parts.append("%s=%s" % (key, value))
        text = ",".join(parts)
        if self.chance(6):
            text = self.some(["", ",", text + ",", "," + text, "help", "?", text + ",,",
                              "=", text + ",help", text.replace("=", "==")])
        return text

    def value(self, kind):
        if kind == "size":
            return self.size()
        if kind == "image":
            return self.image()
        if kind == "options":
            return self.create_options()
        return self.some(KINDS[kind])

    def option(self, name, kind):
        """The words of one option."""
        if kind is None:
            return [name]
        if self.chance(2):
            return [name]            # its value is missing, or what follows becomes it
        value = self.value(kind)
        if name.startswith("--"):
            return self.some([[name, value], [name + "=" + value]])
        return self.some([[name, value], [name, value], [name + value]] if value
                         else [[name, value]])

    def operands(self, command, by_options):
        def image():
            name = self.image()
            return self.named_by_options(name) if by_options else name
        if command == "create":
            words = [self.some(NEW * 4 + IMAGES + BROKEN)]
            return words + ([self.size()] if self.chance(80) else [])
        if command == "convert":
            words = [image() for _ in range(self.some([1] * 9 + [2, 3]))]
            return words + [self.some(NEW * 4 + IMAGES[:6] + BROKEN)]
        if command == "compare":
            return [image(), image()]
        if command == "bitmap":
            return [self.some([image(), "bitmap.qcow2"]), self.value("bitmap")]
        if command == "resize":
            return [image(), self.some(["", "", "", "+", "-"]) + self.size()]
        if command == "dd":
            return self.dd_operands(image())
        if command == "measure" and self.chance(50):
            return []
        if command == "snapshot":
            return [self.some([image(), "snap.qcow2"])]
        return [image()]

    def dd_operands(self, source):
        words = ["if=" + source, "of=" + self.some(NEW * 3 + ["raw.img", "a.qcow2"])]
        for key, values in (("bs", ["512", "4k", "64k", "1M", "0", "x", "-1"]),
                            ("count", ["0", "1", "3", "100", "x"]),
                            ("skip", ["0", "1", "3", "100", "x"]), ("nosuch", ["1"])):
            if self.chance(3 if key == "nosuch" else 45):
                words.append("%s=%s" % (key, self.some(values)))
        self.rng.shuffle(words)
        return words

    def usual(self, command):
        """Options without which the command mostly fails, left out now and then."""
        words = []
        if command in ("convert", "measure", "create") and self.chance(75):
            words.append(["-f" if command == "create" else "-O", self.some(["qcow2"] * 3 + ["raw"])])
        if command == "rebase" and self.chance(90):
            words += [["-b", self.some(["a.qcow2", "raw.img", "", self.image()])]]
            words += [["-F", self.some(["qcow2", "raw"])]] if self.chance(80) else []
        if command == "amend" and self.chance(90):
            words.append(["-o", self.create_options()])
        if command == "snapshot" and self.chance(85):
            words.append(self.some([["-l"], ["-a", self.value("name")],
                                    ["-c", self.value("name")], ["-d", self.value("name")]]))
        if command == "bitmap" and self.chance(85):
            words.append(self.some([["--add"], ["--remove"], ["--clear"], ["--enable"],
                                    ["--disable"], ["--merge", self.value("bitmap")]]))
        return words

    def line(self):
        """A command line as a list of words, without the program's name."""
        command = self.some(list(COMMANDS) + ["convert", "create", "resize", "rebase", "info"])
        table = COMMANDS[command]
        groups = self.usual(command)
        for _ in range(self.some([0, 0, 1, 1, 2, 3])):
            name = self.some(list(table))
            if name == "--image-opts" and self.chance(40):
                continue
            groups.append(self.option(name, table[name]))
        if self.chance(3):
            groups.append([self.some(["--nosuch", "-Z", "-", "--", "-h", "--help",
                                      "--image"])])
        by_options = any(group[0] == "--image-opts" for group in groups)
        operands = self.operands(command, by_options)
        if self.chance(4):
            operands = operands[:-1]
        elif self.chance(4):
            operands.append(self.image())
        if self.chance(15):
            self.rng.shuffle(groups)
            at = self.rng.randrange(len(operands) + 1)
            operands[at:at] = [word for group in groups for word in group]
            groups = []
        words = [command] + [word for group in groups for word in group] + operands
        if self.chance(1):
            words[0] = self.some(["nosuch", "Create", "", "crea"])
        return self.bounded(words)

    @staticmethod
    def bounded(words):
        """The same without sizes that would fill the disk."""
        text = " ".join(words)
        if any(mode in text for mode in ("falloc", "full", "metadata", "-S")) or "dd" in words[:1]:
            return ["8M" if word.lstrip("+-") in LARGE else word for word in words]
        return words
