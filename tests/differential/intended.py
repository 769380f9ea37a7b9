# SPDX-License-Identifier: MIT
"""Differences from QEMU 7.2 that are meant; each is in docs/differences.md."""
import re


def reason(words, ours, theirs):
    """Why the results of a command line may differ, or None: then it is a fault."""
    for text, fits in RULES:
        if fits(words, ours, theirs):
            return text
    return None


def without_progress(text):
    return re.sub(r"    \(\d+\.\d\d/100%\)\r", "", text)


def has(text, *phrases):
    return any(phrase in text for phrase in phrases)


def same_but(ours, theirs, change):
    """Equal once @change is made to our standard error."""
    return (ours.status, ours.out, change(ours.err)) == (theirs.status, theirs.out,
                                                         change(theirs.err))


RULES = [
    ("help is per command", lambda words, ours, theirs:
     any(word in ("-h", "--help") for word in words)),
    ("each message ends its line", lambda words, ours, theirs:
     same_but(ours, theirs, str.rstrip) and ours.err.endswith("\n")),
    ("an image with a data file is written only if its format is given",
     lambda words, ours, theirs: has(ours.err, "Image with an external data file cannot be")),
    ("qemu-img ends with a signal", lambda words, ours, theirs:
     isinstance(theirs.status, int) and theirs.status < 0 and ours.status == 1),
    ("qemu-img does not end", lambda words, ours, theirs: theirs.status == "no end"),
    ("both sizes are named", lambda words, ours, theirs:
     has(ours.err, "The output has room for")),
    ("rebase of a version 2 image keeps its zeros", lambda words, ours, theirs:
     words[0] == "rebase" and "v2.qcow2" in words and ours == theirs),
    ("a snapshot that is refused leaves no lost clusters", lambda words, ours, theirs:
     words[0] == "snapshot" and ours == theirs and ours.status == 1),
    ("a file that was there is not removed after a failure", lambda words, ours, theirs:
     words[0] in ("create", "convert") and ours == theirs and ours.status == 1),
    ("convert checks the cache mode of the target first", lambda words, ours, theirs:
     words[0] == "convert" and has(ours.err, "Invalid cache option")),
    ("resize finds its size wherever it stands", lambda words, ours, theirs:
     words[0] == "resize" and (words[-2].startswith("--") or
                              not re.match(r"[+-]?[0-9.]", words[-1]))),
    ("measure fails where an option is wrong", lambda words, ours, theirs:
     words[0] == "measure" and theirs.status == 0 and has(theirs.out, "Command syntax:")),
    ("bench refuses loads that make no sense", lambda words, ours, theirs:
     words[0] == "bench" and has(ours.err, "The request size must be between",
                                 "Invalid request count", "Invalid queue depth")),
    ("bench stays within the image", lambda words, ours, theirs:
     words[0] == "bench" and has(theirs.err, "Failed request: Input/output error")),
    ("rebase of a format without backing files copies nothing", lambda words, ours, theirs:
     words[0] == "rebase" and has(ours.err, "Operation not supported") and ours.err == theirs.err),
    ("a node that is read-only is not opened for writing", lambda words, ours, theirs:
     has(ours.err, "Block node is read-only") and theirs.status == 1),
    ("a repair that would lose data is not done", lambda words, ours, theirs:
     words[0] == "check" and has(ours.err, "Not repaired:")),
    ("a repair works in place", lambda words, ours, theirs:
     words[0] == "check" and has(ours.err, "Rebuilding refcount structure")),
    ("no image is written over its own source", lambda words, ours, theirs:
     words[0] == "convert" and "-U" in words and words[-1] == "a.qcow2"),
    ("dd without of= writes to standard output", lambda words, ours, theirs:
     words[0] == "dd" and not any(word.startswith("of=") for word in words)),
    ("names beside an image that is named by options", lambda words, ours, theirs:
     has(theirs.err, "Cannot use relative backing file names for 'json:")),
    ("a raw image of odd length is written with O_DIRECT", lambda words, ours, theirs:
     has(theirs.err, "Cannot get 'write' permission without 'resize'")),
    ("progress in other steps", lambda words, ours, theirs: "-p" in words and
     same_but(ours, theirs._replace(out=ours.out), str) and
     without_progress(ours.out) == without_progress(theirs.out)),
    ("an offset is said as bytes of the disk", lambda words, ours, theirs:
     words[0] == "dd" and has(ours.err, "error while reading at byte")),
    ("rebase without -F fails before it copies", lambda words, ours, theirs:
     words[0] == "rebase" and has(ours.err, "backing format must be specified") and
     ours.status == theirs.status),
    ("a warning is said once", lambda words, ours, theirs:
     words[0] == "snapshot" and theirs.err.count("WARNING") == 2 and
     ours.err.count("WARNING") == 1 and ours.status == theirs.status),
    ("sizes end at 2^63", lambda words, ours, theirs:
     has(ours.err, "out of range") and has(" ".join(words), "9E")),
    ("a file is named, not its node", lambda words, ours, theirs:
     has(theirs.err, "#block") and ours.status == theirs.status),
    ("a part of a file is named as info names it", lambda words, ours, theirs:
     words[0] == "map" and has(ours.out, "json:{")),
    ("of several errors another one is named", lambda words, ours, theirs:
     ours.status == theirs.status != 0 and ours.err and theirs.err and
     ("" in words or any("--object" in word for word in words))),
    ("measure names a backing format without a file", lambda words, ours, theirs:
     words[0] == "measure" and has(ours.err, "Backing format cannot be used without")),
    ("which of two wrong options is named", lambda words, ours, theirs:
     ours.status == theirs.status != 0 and
     has(theirs.err, "snapshot param", "mutually exclusive", "Invalid source cache")),
    ("a chain is named by its file", lambda words, ours, theirs:
     words[0] == "commit" and has(ours.err, "in the backing chain of")),
    ("salvage warns of ranges", lambda words, ours, theirs:
     words[0] == "convert" and "--salvage" in words and ours.status == theirs.status and
     ours.out == theirs.out),
    ("one text for a wrong level", lambda words, ours, theirs:
     words[0] == "measure" and has(theirs.err, "Invalid compatibility level")),
]
