# SPDX-License-Identifier: MIT
"""Inputs of the suite: a real file system, and a large image that is all metadata."""
import os
import subprocess

import bench


def file_system(path, mib):
    """An ext4 image of @mib MiB, five eighths of it filled with files of this machine."""
    tree = path + ".tree"
    os.makedirs(tree)
    left = mib * 5 // 8 << 20
    with open(path + ".list", "wb") as names:
        for folder, _, files in os.walk("/usr"):
            for name in sorted(files):
                file = os.path.join(folder, name)
                if left <= 0:
                    break
                if os.path.isfile(file) and not os.path.islink(file):
                    names.write(file.encode("utf8", "surrogateescape") + b"\0")
                    left -= os.path.getsize(file) + 4096
    copy = "tar --create --null --files-from='%s.list' 2>/dev/null | tar --extract -C '%s'" % (
        path, tree)
    subprocess.run(["sh", "-c", copy], check=True)
    bench.Run(["truncate", "-s", "%dM" % mib, path])
    bench.Run(["mkfs.ext4", "-q", "-F", "-d", tree, path])
    subprocess.run(["rm", "-rf", tree, path + ".list"], check=True)


def metadata(path, gib):
    """An image of @gib GiB whose tables are all there."""
    bench.qimg("create", "-q", "-f", "qcow2", "-o", "preallocation=metadata", path, "%dG" % gib)
