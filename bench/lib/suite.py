# SPDX-License-Identifier: MIT
"""Rows of the suite: our command, the peer's, and what nothing can be faster than."""
import os
import shutil

import bench


class Row:
    """
    @ours, @peer: words of a command; "{out}" in them is a path that is removed before each run.
    @limit: words of a command that is a bound, or None.  @check(): are both results right?
    @least: times faster than the peer, as aimed at.
    """

    def __init__(self, name, ours, peer, limit=None, check=None, least=1.0, before=None):
        self.name, self.ours, self.peer, self.limit = name, ours, peer, limit
        self.check, self.least, self.before = check, least, before


def _fill(words, out):
    return [word.replace("{out}", out) for word in words]


def run(name, title, rows, folder):
    """Time @rows, print and save them."""
    table, result = [], []
    for row in rows:
        out = folder("out")

        def before(side, row=row, out=out):
            if os.path.isdir(out):
                shutil.rmtree(out)
            elif os.path.exists(out):
                os.unlink(out)
            if row.before:
                row.before(side, out)

        sides = {"ours": _fill(row.ours, out)}
        if row.peer and shutil.which(bench.PEER):
            sides["peer"] = _fill(row.peer, out)
        if row.limit:
            sides["limit"] = _fill(row.limit, out)
        try:
            if row.check:
                for side in ("ours", "peer"):
                    if side in sides:
                        before(side)
                        bench.Run(sides[side])
                        row.check(out)
            found = bench.alternate(sides, before=before)
        except bench.Failed as error:
            raise bench.Failed("%s: %s" % (row.name, error)) from error
        ours, peer, limit = found["ours"], found.get("peer"), found.get("limit")
        ratio = peer / ours if peer else None
        table.append([row.name, ours, peer, ratio, row.least, limit,
                      limit / ours if limit else None])
        result.append({"row": row.name, "ours": ours, "peer": peer, "ratio": ratio,
                       "aim": row.least, "limit": limit,
                       "part-of-limit": limit / ours if limit else None})
        before("clean")
    bench.table(title, ["work", "qimg s", "peer s", "x", "aim", "limit s", "of limit"], table)
    bench.save(name, {"title": title, "rows": result})
