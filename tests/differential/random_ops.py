#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random operations by qimg-io and by the real qemu-io on twin images: same disk, both clean.

usage: random_ops.py [--count N] [--ops N] [--seed N] [--engine NAME] [--jobs N]
Prints one line per failing sequence (with its seed) and "N passed, N failed".
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
QIMG, QIO = os.path.join(BUILD, "qimg"), os.path.join(BUILD, "qimg-io")
ORACLE, ORACLE_IO = "qemu-img", "qemu-io"
# In memory where there is room: a sequence flushes thousands of times.
SCRATCH = os.environ.get("TMPDIR") or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
SECRET = ["--object", "secret,id=s0,data=pass"]
CLUSTERS = [512, 1024, 4096, 65536, 65536, 65536, 2097152]


def run(*words, env=None, ok=(0,)):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=120, env=env)
    if done.returncode not in ok:
        raise RuntimeError("%s: exit %d: %s" % (" ".join(words)[:300], done.returncode,
                                                done.stdout.decode("utf8", "replace")[-2000:]))
    return done.stdout.decode("utf8", "replace")


class Sequence:
    def __init__(self, seed, nr_ops, folder, env):
        self.rng = random.Random(seed)
        self.nr_ops, self.folder, self.env = nr_ops, folder, env
        self.encrypted = []      # of each layer: "", "aes" or "luks"
        self.cluster = self.rng.choice(CLUSTERS)
        self.size = self.rng.randrange(1, 128) * max(self.cluster, 4096)
        self.size += self.rng.choice([0, 0, 512, 1536])
        if self.cluster == 512:
            self.size = min(self.size, 4 << 20)

    def path(self, side, layer):
        return os.path.join(self.folder, "%s%d" % (side, layer))

    def target(self, side, layer):
        """The image with its chain and its keys, as --image-opts takes it."""
        words = ["driver=qcow2", "file.filename=" + self.path(side, layer)]
        for depth in range(layer + 1):
            if self.encrypted[layer - depth]:
                words.append("backing." * depth + "encrypt.key-secret=s0")
        return ",".join(words)

    def encryption(self):
        self.encrypted.append(self.rng.choice(["", "", "", "", "aes", "luks", "luks"]))
        options = []
        if self.encrypted[-1]:
            options = ["encrypt.format=" + self.encrypted[-1], "encrypt.key-secret=s0"]
        if self.encrypted[-1] == "luks":
            options += ["encrypt.iter-time=1", self.rng.choice([
                "encrypt.cipher-alg=aes-256", "encrypt.cipher-alg=aes-128",
                "encrypt.cipher-mode=cbc,encrypt.ivgen-alg=essiv",
                "encrypt.cipher-alg=serpent-192"])]
        return options

    def options(self, layer):
        options = ["cluster_size=%d" % self.cluster] + self.encryption()
        kind = self.rng.randrange(8)
        if kind == 0 and not layer:
            options.append("compat=0.10")
        elif kind == 1 and self.cluster >= 16384:
            options.append("extended_l2=on")
        elif kind == 2:
            options.append("refcount_bits=%d" % self.rng.choice([1, 2, 4, 8, 32, 64]))
        elif kind == 3:
            options.append("lazy_refcounts=on")
        elif kind == 4:
            options.append("compression_type=zstd")
        return ",".join(options)

    def create(self, layer):
        options = self.options(layer)
        size = self.size
        if layer and self.rng.randrange(3) == 0:
            size += self.rng.choice([-1, 1]) * self.rng.randrange(8) * 4096
            size = max(size, 4096)
        for side in "qo":
            words = ["create", "-q", *SECRET, "-f", "qcow2", "-o", options]
            if layer:
                words += ["-F", "qcow2", "-b", self.path(side, layer - 1)]
            # QEMU cannot always make a LUKS image: it wants its time of the processor told.
            ours = side == "q" or self.encrypted[layer]
            run(QIMG if ours else ORACLE, *words, self.path(side, layer), str(size),
                env=self.env)
        self.size = size

    def operation(self):
        rng = self.rng
        unit = rng.choice([512, 512, 4096, self.cluster])
        off = rng.randrange(0, max(1, self.size // unit)) * unit
        most = rng.choice([unit, 4 * unit, 16 * self.cluster, 300000])
        length = min(rng.randrange(1, max(2, most // 512)) * 512, self.size - off)
        if unit == 512 and rng.randrange(3) == 0:
            off += rng.randrange(512)
            length = min(max(1, length - rng.randrange(512)), self.size - off)
        if length <= 0:
            return "flush"
        pattern = rng.randrange(1, 256)
        kind = rng.randrange(19)
        if kind < 9:
            return "write -q -P %d %d %d" % (pattern, off, length)
        if kind < 11:
            return "aio_write -q -P %d %d %d" % (pattern, off, length)
        if kind < 14:
            return "write -q -z %s%d %d" % (rng.choice(["", "-u "]), off, length)
        if kind < 16:
            return "discard -q %d %d" % (off, length)
        if kind == 16:
            return "aio_flush"
        if kind == 17:
            return "flush"
        off = off // self.cluster * self.cluster
        return "read -q %d %d" % (off, min(length, self.size - off))

    def compress(self, layer):
        """Compressed writes come first: over freed clusters QEMU 7.2 spoils its own image."""
        nr = self.size // self.cluster
        if self.rng.randrange(2) or not nr or any(self.encrypted):
            return
        clusters = self.rng.sample(range(nr), min(nr, self.rng.randrange(1, 12)))
        words = []
        for cluster in clusters:
            words += ["-c", "write -q -c -P %d %d %d" % (
                self.rng.randrange(1, 256), cluster * self.cluster, self.cluster)]
        for side in "qo":
            run(QIO if side == "q" else ORACLE_IO, "-f", "qcow2", *words,
                self.path(side, layer), env=self.env)

    def operate(self, layer):
        """The same words for both; a session is one run of the tool."""
        left = self.nr_ops
        while left > 0:
            nr = min(left, self.rng.randrange(1, 60))
            left -= nr
            words = ["-f", "qcow2", "-t", self.rng.choice(["writeback", "writethrough",
                                                           "unsafe"])]
            caches = self.rng.choice(["", "", "l2-cache-size=%d,l2-cache-entry-size=%d" %
                                      (2 * self.cluster, self.cluster)])
            for _ in range(nr):
                op = self.operation()
                # overlapping writes in flight have no defined order
                if op.startswith("aio_write"):
                    words += ["-c", op, "-c", "aio_flush"]
                else:
                    words += ["-c", op]
            for side in "qo":
                target = [*SECRET, "--image-opts", self.target(side, layer) +
                          ("," + caches if caches else "")]
                tool = QIO if side == "q" else ORACLE_IO
                run(tool, *words[2:], *target, env=self.env, ok=(0, 1))

    def verify(self, layer):
        ours, theirs = self.target("q", layer), self.target("o", layer)
        run(ORACLE, "compare", *SECRET, "--image-opts", ours, theirs)
        run(QIMG, "compare", *SECRET, "--image-opts", ours, theirs, env=self.env)
        run(ORACLE, "check", *SECRET, "--image-opts", ours)
        run(QIMG, "check", *SECRET, "--image-opts", ours, env=self.env)
        run(QIMG, "check", *SECRET, "--image-opts", theirs, env=self.env)

    def play(self):
        layers = self.rng.choice([1, 1, 2, 3])
        for layer in range(layers):
            self.create(layer)
            self.compress(layer)
            self.operate(layer)
            self.verify(layer)


def play(seed, args, env):
    """None, or what went wrong."""
    folder = tempfile.mkdtemp(prefix="qimg-diff-", dir=SCRATCH)
    keep = False
    try:
        Sequence(seed, args.ops, folder, env).play()
        return None
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        keep = args.keep
        return "seed %d: %s%s" % (seed, error, "\nkept: " + folder if keep else "")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--ops", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--engine")
    parser.add_argument("--keep", action="store_true", help="keep the images of a failure")
    args = parser.parse_args()
    env = dict(os.environ)
    if args.engine:
        env["QIMG_ENGINE"] = args.engine
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for text in pool.map(lambda seed: play(seed, args, env),
                             range(args.seed, args.seed + args.count)):
            if text:
                failed += 1
                print(text, flush=True)
    print("%d passed, %d failed" % (args.count - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
