# SPDX-License-Identifier: MIT
"""All the memory a command takes, page cache included: the peak of its control group."""
import os
import time

import bench


def _root():
    if os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        return "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"
    return "/sys/fs/cgroup", "memory.max", "memory.peak"


class Group:
    """A control group for one command after the other; usable() is false without the right."""

    def __init__(self, limit=None):
        self.limit = limit
        root, self.limit_name, self.peak_name = _root()
        self.path = os.path.join(root, "qimg-bench.%d" % os.getpid())

    def __enter__(self):
        try:
            os.mkdir(self.path)
            if self.limit:
                with open(os.path.join(self.path, self.limit_name), "w",
                          encoding="ascii") as file:
                    file.write(str(self.limit))
        except OSError:
            self.remove()
            self.path = None
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        """Processes leave a group a moment after they have ended."""
        for _ in range(50):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except (OSError, TypeError):
                time.sleep(0.02)

    def usable(self):
        return bool(self.path) and os.path.exists(os.path.join(self.path, self.peak_name))

    def run(self, words):
        """bench.Run inside the group."""
        enter = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
        return bench.Run(["sh", "-c", enter, self.path] + words)

    def peak(self):
        """Bytes."""
        with open(os.path.join(self.path, self.peak_name), encoding="ascii") as file:
            return int(file.read())
