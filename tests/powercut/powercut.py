#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut the power at every moment of random operations and look at the image that is left.

usage: powercut.py [--count N] [--seed N] [--jobs N] [--engine NAME] [--save FOLDER]
The operations run through the "record" filter.  Each state a cut could have left must have no
corruption (leaks are no harm), must hold everything flushed, and each sector may only show what
was written to it.  Prints one line per failed sequence, with its seed, and
"N passed, N failed".
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import image      # noqa: E402
import record     # noqa: E402
import steps      # noqa: E402
from sequence import BASE_VALUE, SECTOR, ZERO_VALUE, Sequence, content      # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
QIMG, QIO = os.path.join(BUILD, "qimg"), os.path.join(BUILD, "qimg-io")
SECRET = ["--object", "secret,id=s0,data=pass"]
SUBSETS = 6          # random subsets of each epoch


class Violation(Exception):
    """A state that must not be."""


def run(words, ok=(0,), env=None):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, env=env)
    text = done.stdout.decode("utf8", "replace")
    if done.returncode not in ok:
        raise Violation("%s: exit %d: %s" % (" ".join(words)[:120], done.returncode, text[-600:]))
    return text


class Trial:
    """One sequence: run it, then try the states."""

    def __init__(self, seed, engine, folder):
        self.seed, self.folder = seed, folder
        self.rng = random.Random(seed)
        self.seq = Sequence(self.rng)
        self.env = dict(os.environ)
        if engine:
            self.env["QIMG_ENGINE"] = engine
        self.base, self.states = None, 0
        self.steps = None      # of encrypted images: their log does not show what was written
        self.known, self.contents = {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def create(self):
        words = [QIMG, "create", "-q", *SECRET, "-f", "qcow2", "-o", self.seq.options()]
        if self.seq.backing:
            self.base = b"".join(content(BASE_VALUE, sector, {})
                                 for sector in range(self.seq.size // SECTOR))
            with open(self.path("base"), "wb") as base:
                base.write(self.base)
            words += ["-b", self.path("base"), "-F", "raw"]
        run(words + [self.path("image"), str(self.seq.size)])
        with open(self.path("image"), "rb") as file:
            return bytearray(file.read())

    def key(self):
        return ",encrypt.key-secret=s0" if self.seq.encrypted else ""

    def record(self):
        words = [QIO, *SECRET, "--image-opts"]
        opened = ["driver=qcow2,discard=unmap,file.driver=record,file.log=%s,"
                  "file.image.filename=%s%s" % (self.path("log"), self.path("image"), self.key())]
        commands = list(self.seq.commands(self.folder))
        if self.seq.encrypted:
            self.steps = steps.Steps(words + opened, self.env, self.path("log"))
            text = self.steps.run(commands)
        else:
            for command in commands:
                words += ["-c", command]
            text = run(words + opened, env=self.env)
        if text.strip():
            raise Violation("qimg-io: " + text[-300:])
        return record.read_log(self.path("log"))

    def content(self, value, sector):
        key = value, 0 if value == ZERO_VALUE or value in self.seq.fills else sector
        if key not in self.contents:
            self.contents[key] = content(value, sector, self.seq.fills)
        return self.contents[key]

    def sectors_allowed(self, done, begun):
        if (done, begun) not in self.known:
            self.known[done, begun] = [
                {self.content(value, sector): value for value in values}
                for sector, values in enumerate(self.seq.allowed(done, begun))]
        return self.known[done, begun]

    def decrypted(self, data):
        with open(self.path("cut"), "wb") as file:
            file.write(data)
        run([QIMG, "convert", *SECRET, "-O", "raw", "--image-opts",
             "driver=qcow2,file.filename=" + self.path("cut") + self.key(), self.path("raw")])
        with open(self.path("raw"), "rb") as file:
            return file.read()

    def look_at(self, data, done, begun, whole=False):
        """Raise Violation or image.Broken if the image @data must not be."""
        view = image.Image(data, self.base)
        guest = view.guest()
        view.check()
        if self.seq.encrypted and not whole and self.rng.randrange(10):
            return      # a process for each would take too long
        if self.seq.encrypted:
            guest = self.decrypted(data)
        for sector, values in enumerate(self.sectors_allowed(done, begun)):
            found = guest[sector * SECTOR:(sector + 1) * SECTOR]
            if found not in values:
                raise Violation("sector %d: allowed %s, found %s" % (
                    sector, sorted(values.values()), found[:16].hex()))

    def tool_check(self, data):
        # Counts of an image with the dirty bit are made anew by whoever opens it for writing.
        repair = ["-r", "all"] if image.Image(data).incompat & image.INCOMPAT_DIRTY else []
        for tool in [QIMG] + ([shutil.which("qemu-img")] if shutil.which("qemu-img") else []):
            with open(self.path("cut"), "wb") as file:
                file.write(data)
            # 2: a table that was not linked yet looks to ours like one that was lost.
            text = run([tool, "check", *SECRET, *repair, "--output=json", "--image-opts",
                        "driver=qcow2,file.filename=" + self.path("cut") + self.key()],
                       ok=(0, 2, 3))
            found, _ = json.JSONDecoder().raw_decode(text[text.index("{"):])
            if found.get("corruptions"):
                raise Violation("%s: %s" % (tool, text))
            if repair:
                self.compare_repaired(tool, data)

    def compare_repaired(self, tool, data):
        with open(self.path("cut"), "rb") as file:
            repaired = image.Image(file.read(), self.base)
        if repaired.guest() != image.Image(data, self.base).guest():
            raise Violation("%s changed the disk when it repaired the counts" % tool)
        repaired.check()

    def describe(self, chosen, first, entries):
        lines = ["covered: entries 0..%d" % (first - 1)]
        for pos, torn in chosen:
            entry = entries[pos]
            cut = "" if torn is None else " torn at %d" % torn
            lines.append("entry %d: kind %d, %#x+%#x%s" % (pos, entry.kind, entry.off, entry.len,
                                                           cut))
        return "; ".join(lines)

    def begun(self, entries, newest, end):
        """Operations that may have begun when the first @end entries were in the log."""
        if not self.steps:
            return self.seq.begun_after(max(newest[:end], default=0))
        length = entries[end - 1].at if end else 0
        return self.steps.begun_before(length, len(self.seq.ops))

    def done(self, entries, newest, last):
        """Operations that had ended when entry @last came into the log."""
        if not self.steps:
            return self.seq.done_before(max(newest[:last + 1], default=0))
        return self.steps.done_before(entries[last].at if last >= 0 else 0)

    def try_epoch(self, disk, entries, newest, epoch):
        first, end, flush = epoch
        begun = self.begun(entries, newest, end)
        for chosen in record.choices(entries, first, end, self.rng, SUBSETS):
            data = bytearray(disk)
            for pos, torn in chosen:
                entries[pos].apply(data, torn)
            last = max([flush] + [pos for pos, _ in chosen])
            done = self.done(entries, newest, last)
            self.states += 1
            try:
                self.look_at(data, done, begun)
                if self.rng.randrange(80) == 0 or not self.states % 97:
                    self.tool_check(data)
            except (Violation, image.Broken) as error:
                with open(self.path("cut"), "wb") as file:
                    file.write(data)
                raise Violation("%s [%s; %d operations done]" % (
                    error, self.describe(chosen, first, entries)[-500:], done)) from error

    def run(self):
        disk = self.create()
        entries = self.record()
        newest = self.seq.newest_seen(entries)
        applied = 0
        for epoch in record.epochs(entries):
            for entry in entries[applied:epoch[0]]:
                if entry.kind != record.FLUSH:
                    entry.apply(disk)
            applied = max(applied, epoch[0])
            self.try_epoch(disk, entries, newest, epoch)
        with open(self.path("image"), "rb") as file:
            self.look_at(bytearray(file.read()), len(self.seq.ops), len(self.seq.ops), True)
        run([QIMG, "check", "-q", *SECRET, "--image-opts",
             "driver=qcow2,file.filename=" + self.path("image") + self.key()])


def trial(seed, engine, save):
    folder = tempfile.mkdtemp(prefix="qimg-powercut.")
    one = Trial(seed, engine, folder)
    try:
        one.run()
        return seed, one.states, None
    except (Violation, image.Broken, subprocess.TimeoutExpired) as error:
        if isinstance(error, subprocess.TimeoutExpired):
            error = "%s: no end after %d s" % (error.cmd[0], error.timeout)
        if save:
            shutil.copytree(folder, os.path.join(save, "seed%d" % seed), dirs_exist_ok=True)
        return seed, one.states, "%s: %s" % (one.seq.options(), error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="sequences")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the next is one more")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--engine", help="I/O engine")
    parser.add_argument("--save", help="folder for the images of failed sequences")
    args = parser.parse_args()
    passed = failed = states = 0
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(trial, seed, args.engine, args.save)
                for seed in range(args.seed, args.seed + args.count)]
        for job in jobs:
            seed, nr, error = job.result()
            states += nr
            if error is None:
                passed += 1
            else:
                failed += 1
                print("FAILED: --seed %d --count 1: %s" % (seed, error), flush=True)
    print("# %d states" % states)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
