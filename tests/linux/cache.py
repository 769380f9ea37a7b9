#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cache.py MARKS: what the counters of disks with different caches must be, before, after, and idle.
A line of MARKS is "DISK LOAD WHEN JSON", JSON what query-blockstats says of all disks."""
import json
import sys

CACHES = {"virtio1": "none", "virtio2": "small", "virtio3": "full", "virtio4": "file"}
marks = {}
for line in open(sys.argv[1], encoding="utf8"):
    disk, load, when, text = line.split(" ", 3)
    if load not in ("mixed", "idle"):
        continue
    marks[disk, when] = {disk["device"]: disk for disk in json.loads(text)}
faults = []


def expect(what, holds, *figures):
    print("%s %s %s" % ("ok" if holds else "WRONG", what, " ".join(map(str, figures))))
    if not holds:
        faults.append(what)


def l2(mark, device):
    return mark[device]["driver-specific"]["l2-cache"]


idle = marks["all", "after"]
for index, device in enumerate(CACHES):
    name, key = CACHES[device], "vd" + "bcde"[index]
    before, after = marks[key, "before"], marks[key, "after"]
    lookups = [l2(mark, device)["hits"] + l2(mark, device)["misses"] for mark in (before, after)]
    requests = [sum(mark[device]["stats"][kind + "_operations"] for kind in ("rd", "wr"))
                for mark in (before, after)]
    found, last = l2(after, device), l2(idle, device)
    expect(name + ": the load was seen", requests[1] - requests[0] > 0, *requests)
    expect(name + ": a request looks up at least once",
           lookups[1] - lookups[0] >= requests[1] - requests[0], *lookups)
    expect(name + ": within its size", found["resident-bytes"] <= found["max-bytes"],
           found["resident-bytes"], found["max-bytes"])
    for mark in (before, after, idle):
        cache = l2(mark, device)
        entries = cache["misses"] - cache["evictions"] - cache["cleaned"]
        # Memory comes and goes in runs of tables, so some of it may be unused.
        expect(name + ": what was loaded is resident or gone", name == "none" or
               0 <= entries * 4096 <= cache["resident-bytes"],
               cache["resident-bytes"], entries)
    expect(name + ": idle tables are given back", name == "none" or
           (last["cleaned"] > 0 and last["resident-bytes"] == 0),
           last["cleaned"], last["resident-bytes"])
small, full, file = (l2(marks["vd" + key, "after"], "virtio%d" % n)
                     for key, n in (("c", 2), ("d", 3), ("e", 4)))
expect("the full cache evicts nothing", full["evictions"] == 0, full["evictions"])
expect("the small one does", small["evictions"] > 0, small["evictions"])
expect("the file answers what was evicted", file["file-hits"] > 0, file["file-hits"])
sys.exit(1 if faults else 0)
