#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random command lines, valid and not, by qimg and by the real qemu-img in twin folders.

usage: command_lines.py [--count N] [--seed N] [--jobs N] [--state FILE] [-v]
Compared are exit code, both streams, the files that are there afterwards, and the disks in them.
What differs on purpose (docs/differences.md) is counted apart, by reason.  With --state a run that
was broken off goes on behind the last block of lines that had passed.
Prints each line that differs, with its number as the seed, and "N passed, N failed".
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import command_grammar
import fixtures
import intended

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
SCRATCH = os.environ.get("TMPDIR") or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
ENV = dict(os.environ, LC_ALL="C", TZ="UTC")
BLOCK = 250

Result = collections.namedtuple("Result", "status out err")


def execute(program, folder, words):
    """The words after the program's name, in the folder; both tools go by QEMU's name."""
    try:
        done = subprocess.run(["qemu-img"] + words, executable=program, cwd=folder, env=ENV,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=30)
    except subprocess.TimeoutExpired:
        return Result("no end", "", "")
    return Result(done.returncode, normal(done.stdout, folder), normal(done.stderr, folder))


def normal(data, folder):
    """Text without what depends on the folder, the clock and the file system."""
    text = data.decode("utf8", "backslashreplace").replace(folder, "FOLDER")
    for pattern, instead in (
            (r"(disk size: ).*", r"\1SIZE"), (r"(\"actual-size\": )\d+", r"\1 0"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE TIME"),
            (r"(\"date-n?sec\": )\d+", r"\1 0"),
            # How often a rebase says that it is ready depends on the size of its steps.
            (r"(    \(100\.00/100%\)\r)+", r"    (100.00/100%)\r"),
            (r"completed in [\d.]+ seconds", "completed in N seconds")):
        text = re.sub(pattern, instead, text)
    return text


def same_output(ours, theirs):
    if ours == theirs:
        return True
    try:
        return json.loads(ours) == json.loads(theirs)
    except ValueError:
        return False


def content(path):
    with open(path, "rb") as image:
        return image.read()


def listing(folder):
    return sorted(name for name in os.listdir(folder) if not os.path.isdir(
        os.path.join(folder, name)))


class Twins:
    """Two folders with the same images, one for each tool."""

    def __init__(self, template, oracle):
        self.template, self.oracle = template, oracle
        self.base = tempfile.mkdtemp(prefix="qimg-lines.", dir=SCRATCH)
        self.folders = [os.path.join(self.base, side) for side in ("ours", "qemu")]
        for folder in self.folders:
            shutil.copytree(template, folder, copy_function=self.copy)

    @staticmethod
    def copy(source, target):
        subprocess.run(["cp", "--sparse=always", source, target], check=True)

    def restore(self):
        """Put back what a command line has changed."""
        for folder in self.folders:
            for name in os.listdir(os.path.join(folder, "folder")):
                os.unlink(os.path.join(folder, "folder", name))
            for name in listing(folder):
                if not os.path.exists(os.path.join(self.template, name)):
                    os.unlink(os.path.join(folder, name))
            for name in listing(self.template):
                path, source = os.path.join(folder, name), os.path.join(self.template, name)
                if os.path.exists(path):
                    one, two = os.stat(path), os.stat(source)
                    if one.st_size == two.st_size and one.st_size < 1 << 24 and \
                            content(path) == content(source):
                        continue
                self.copy(source, path)

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)

    def paths(self, name):
        return [os.path.join(folder, name) for folder in self.folders]

    def query(self, side, *words):
        return execute(self.oracle, self.folders[side], list(words))

    def differs(self, name):
        """What is different in a file of both folders, or None."""
        ours, theirs = self.paths(name)
        sizes = os.path.getsize(ours), os.path.getsize(theirs)
        if sizes[0] == sizes[1] and sizes[0] < 1 << 24 and content(ours) == content(theirs):
            return None
        info = [self.query(side, "info", "-U", "--output=json", name) for side in (0, 1)]
        if not same_output(info[0].out, info[1].out):
            return "info: %s %s / %s %s" % (info[0].out, info[0].err, info[1].out, info[1].err)
        if '"format": "raw"' in info[0].out and sizes[0] != sizes[1]:
            return "length %d / %d" % sizes
        check = [self.query(side, "check", "-q", name).status for side in (0, 1)]
        if check[0] != check[1]:
            return "check %s / %s" % tuple(check)
        compare = execute(self.oracle, self.base, ["compare", "-U", "ours/" + name, "qemu/" + name])
        if compare.status not in (0, 2, "no end"):
            return "disk: " + compare.out + compare.err
        return None


def compare_line(twins, words, program):
    """(what differs, both results); an empty list if nothing does."""
    ours = execute(program, twins.folders[0], words)
    theirs = execute(twins.oracle, twins.folders[1], words)
    faults = []
    if ours.status != theirs.status:
        faults.append("status: %s / %s" % (ours.status, theirs.status))
    if not same_output(ours.out, theirs.out):
        faults.append("stdout: %s / %s" % (ours.out[-1500:], theirs.out[-1500:]))
    if ours.err != theirs.err:
        faults.append("stderr: %s / %s" % (ours.err[-1500:], theirs.err[-1500:]))
    names = [listing(folder) for folder in twins.folders]
    if names[0] != names[1]:
        faults.append("files: %s" % " ".join(sorted(set(names[0]) ^ set(names[1]))))
    for name in sorted(set(names[0]) & set(names[1])):
        fault = twins.differs(name)
        if fault:
            faults.append("%s: %s" % (name, fault))
    return faults, ours, theirs


def run_lines(template, numbers, oracle):
    """A list of (number, words, reason or None, faults) of the lines that differ."""
    twins, found = Twins(template, oracle), []
    program = os.path.join(BUILD, "qimg")
    try:
        for number in numbers:
            words = command_grammar.Grammar(random.Random(number)).line()
            faults, ours, theirs = compare_line(twins, words, program)
            if faults:
                found.append((number, words, intended.reason(words, ours, theirs), faults))
            twins.restore()
    finally:
        twins.remove()
    return found


class Run:
    def __init__(self, args):
        self.args, self.passed, self.failed = args, 0, 0
        self.reasons = collections.Counter()

    def start(self):
        """The first number to run: behind what a run before has passed."""
        state = self.args.state
        if state and os.path.exists(state):
            with open(state, encoding="utf8") as text:
                self.passed, self.failed, done = json.load(text)
            return done
        return 0

    def report(self, found):
        for number, words, reason, faults in found:
            if reason:
                self.reasons[reason] += 1
                if not self.args.verbose:
                    continue
            else:
                self.failed += 1
            print("%s %d: qemu-img %s" % ("intended (%s)" % reason if reason else "FAILED",
                                          number, shlex.join(words)))
            print("\n".join("    " + line for fault in faults for line in fault.split("\n")),
                  flush=True)

    def all(self, template, oracle):
        jobs, done = self.args.jobs, self.start()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            while done < self.args.count:
                end = min(done + BLOCK, self.args.count)
                numbers = range(self.args.seed + done, self.args.seed + end)
                parts = [numbers[i::jobs] for i in range(jobs)]
                for found in pool.map(lambda part: run_lines(template, part, oracle), parts):
                    self.report(found)
                self.passed = end - self.failed
                done = end
                if self.args.state:
                    with open(self.args.state, "w", encoding="utf8") as text:
                        json.dump([self.passed, self.failed, done], text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--state")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    oracle = shutil.which("qemu-img")
    if not oracle:
        print("skipped: no qemu-img\n0 passed, 0 failed")
        return 0
    template = tempfile.mkdtemp(prefix="qimg-lines.", dir=SCRATCH)
    try:
        fixtures.make(template)
        run = Run(args)
        run.all(template, oracle)
    finally:
        shutil.rmtree(template, ignore_errors=True)
    for reason, count in run.reasons.most_common():
        print("%5d differ on purpose: %s" % (count, reason))
    print("%d passed, %d failed" % (run.passed, run.failed))
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
