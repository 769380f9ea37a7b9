#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Power cuts under commands that change the tables of a whole image.

usage: verbs.py [--subsets N] [--seed N] [NAME...]
Each command runs with its image behind the "record" filter.  Whatever part of the writes since the
last flush a cut lets through, the disk must read as before the command (or as after it, where it
changes the disk), and "check -r all" must find no corruption, or mend what the dirty mark covers.
Ends with "N passed, N failed".
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), os.environ.get("BUILD", "build"))
QIMG = os.path.join(BUILD, "qimg")
QIO = os.path.join(BUILD, "qimg-io")
sys.path.insert(0, HERE)
import record     # noqa: E402

DATA = ["write -q -P 1 0 200k", "write -q -P 2 1M 70k", "write -q -P 3 3000k 1k"]
# Name, options of the image, commands before, the command, does the disk change?
VERBS = [
    ("commit", "", [], ["commit", "-q"], False),
    ("commit-512", "cluster_size=512", [], ["commit", "-q"], False),
    ("commit-lazy", "lazy_refcounts=on", [], ["commit", "-q"], False),
    ("commit-v2", "compat=0.10", [], ["commit", "-q"], False),
    ("commit-snapshot", "", [["snapshot", "-q", "-c", "s"]], ["commit", "-q"], False),
    ("snapshot-create", "", [], ["snapshot", "-q", "-c", "s"], False),
    ("snapshot-delete", "cluster_size=512", [["snapshot", "-q", "-c", "s"]],
     ["snapshot", "-q", "-d", "s"], False),
    ("snapshot-apply", "", [["snapshot", "-q", "-c", "s"]], ["snapshot", "-q", "-a", "s"], True),
    ("refcount-bits", "", [], ["amend", "-q", "-o", "refcount_bits=64"], False),
    ("downgrade", "", [], ["amend", "-q", "-o", "compat=0.10"], False),
]


class Violation(Exception):
    pass


def run(*words, ok=(0,)):
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    if done.returncode not in ok:
        raise Violation("%s: %d: %s" % (" ".join(words), done.returncode, done.stderr.decode()))
    return done.stdout


def disk(name):
    run(QIMG, "convert", "-f", "qcow2", "-O", "raw", name, "disk")
    with open("disk", "rb") as file:
        return file.read()


def prepare(options, before):
    run(QIMG, "create", "-q", "-f", "qcow2", "base", "4M")
    run(QIMG, "create", "-q", "-f", "qcow2", *(["-o", options] if options else []), "-b", "base",
        "-F", "qcow2", "image")
    run(QIO, "-f", "qcow2", *sum((["-c", text] for text in DATA), []), "image")
    for words in before:
        run(QIMG, *words, "image")
    if before:
        run(QIO, "-f", "qcow2", "-c", "write -q -P 4 100k 300k", "image")


def look_at(state, allowed):
    """Read the image that a cut left, have it repaired, read it again."""
    with open("image", "wb") as file:
        file.write(state)
    if disk("image") not in allowed:
        raise Violation("the disk is neither the old nor the new one")
    if state[7] == 3 and state[79] & 1:     # the dirty mark: counts are made anew
        run(QIMG, "check", "-q", "-f", "qcow2", "-r", "all", "image")
        if disk("image") not in allowed:
            raise Violation("repair changed the disk")
    run(QIMG, "check", "-q", "-f", "qcow2", "image", ok=(0, 2, 3))
    found = run(QIMG, "check", "--output=json", "-f", "qcow2", "image", ok=(0, 2, 3))
    if b'"corruptions"' in found:
        raise Violation("corrupt: " + found.decode())


def states(old, entries, rng, subsets):
    """Every state of the file, as bytes, each once."""
    seen, certain, disk_now = set(), 0, bytearray(old)
    for first, end, _ in record.epochs(entries):
        for entry in entries[certain:first]:
            if entry.kind != record.FLUSH:
                entry.apply(disk_now)
        certain = max(certain, first)
        for chosen in record.choices(entries, first, end, rng, subsets):
            state = bytearray(disk_now)
            for pos, torn in chosen:
                entries[pos].apply(state, torn)
            state = bytes(state)
            if state not in seen:
                seen.add(state)
                yield state


def trial(verb, rng, subsets):
    _, options, before, command, changes = verb
    prepare(options, before)
    with open("image", "rb") as file:
        old = file.read()
    allowed = [disk("image")]
    opened = "driver=qcow2,file.driver=record,file.log=log,file.image.filename=image"
    run(QIMG, *command, "--image-opts", opened)
    if changes:
        allowed.append(disk("image"))
    count = 0
    for state in states(old, record.read_log("log"), rng, subsets):
        look_at(state, allowed)
        count += 1
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--subsets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    passed = failed = total = 0
    for verb in VERBS:
        if args.names and verb[0] not in args.names:
            continue
        with tempfile.TemporaryDirectory(prefix="qimg-verbs.") as folder:
            os.chdir(folder)
            try:
                count = trial(verb, random.Random(args.seed), args.subsets)
                total += count
                passed += 1
                print("ok: %s: %d states" % (verb[0], count))
            except Violation as violation:
                failed += 1
                print("FAILED: %s: %s" % (verb[0], violation))
            os.chdir(HERE)
    print("# %d states" % total)
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


sys.exit(main())
