# SPDX-License-Identifier: MIT
"""Commands timed in turn, medians, tables, JSON.  Every experiment and every row starts here."""
import json
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
QIMG = os.path.join(BUILD, "qimg")
QIMG_IO = os.path.join(BUILD, "qimg-io")
PEER = os.environ.get("BENCH_PEER", "qemu-img")
OUT = os.path.join(BUILD, "bench")
SMOKE = bool(os.environ.get("BENCH_SMOKE"))     # tiny inputs, one run: only correctness counts
RUNS = 1 if SMOKE else int(os.environ.get("BENCH_RUNS", "7"))
DISK = os.environ.get("BENCH_DISK", "/var/tmp")
MEMORY = os.environ.get("BENCH_MEMORY", "/dev/shm")


class Failed(Exception):
    """A command or a comparison of results failed: its time means nothing."""


class Run:
    """One execution: seconds, processor seconds, output."""

    def __init__(self, words, cwd=None, env=None):
        environment = dict(os.environ, **(env or {}))
        begin = time.monotonic()
        with subprocess.Popen(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            self.output = process.stdout.read().decode("utf8", "replace")
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        if process.returncode:
            raise Failed("%s: exit %d: %s" % (" ".join(words), process.returncode,
                                              self.output[-500:]))


def peak_memory(words):
    """
    KiB.  Through time(1), because what a process had before exec() counts as its own, and this
    interpreter has more than most commands.
    """
    run = Run(["/usr/bin/time", "-f", "peak %M", "--"] + words)
    return int(run.output.rsplit("peak ", 1)[1])


def json_of(text):
    """The first JSON value in @text."""
    return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]


def touch_memory():
    """
    Use free memory once.  A host may have taken it away meanwhile, and who needs it first waits
    until it is back: ten times what is measured.
    """
    if SMOKE:
        return
    with open("/proc/meminfo", encoding="ascii") as info:
        free = next(int(line.split()[1]) for line in info if line.startswith("MemFree"))
    size = min(free * 1024 // 2, 2 << 30) & ~4095
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE):
        pass


def alternate(sides, runs=RUNS, before=None, value=lambda run: run.seconds, **how):
    """
    Run each side's command in turn, so that what slows the machine down slows all of them.
    @sides: name -> words of a command.  @before(name) prepares each run.
    Returns name -> median of @value(Run).
    """
    values = {name: [] for name in sides}
    for _ in range(runs):
        for name, words in sides.items():
            if before:
                before(name)
            touch_memory()
            values[name].append(value(Run(words, **how)))
    return {name: statistics.median(found) for name, found in values.items()}


def table(title, head, rows):
    """Print @rows of texts and numbers under @head."""
    texts = [[("%.3g" % cell if abs(cell) < 100 else "%.0f" % cell)
              if isinstance(cell, (int, float)) else "" if cell is None else str(cell)
              for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head)] + texts) for i in range(len(head))]
    print("\n" + title)
    for line in [list(head), ["-" * width for width in widths]] + texts:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip())
    sys.stdout.flush()


def save(name, result):
    """Keep @result as JSON, with what it was measured on."""
    os.makedirs(OUT, exist_ok=True)
    result = dict(result, name=name, machine=machine(), date=time.strftime("%Y-%m-%d"),
                  smoke=SMOKE, runs=RUNS)
    with open(os.path.join(OUT, name + ".json"), "w", encoding="utf8") as out:
        json.dump(result, out, indent=4)
        out.write("\n")


def machine():
    """Processors, memory, kernel, versions."""
    def first_line(*words):
        try:
            return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False).stdout.decode("utf8", "replace").split("\n")[0]
        except OSError:
            return "not there"
    with open("/proc/cpuinfo", encoding="utf8") as cpuinfo:
        models = [line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")]
    return {
        "processors": os.cpu_count(), "model": models[0] if models else "unknown",
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": os.uname().release, "qimg": first_line(QIMG, "--version"),
        "qemu-img": first_line(PEER, "--version"), "fio": first_line("fio", "--version"),
    }


class Folder:
    """A working folder on @where, gone at the end."""

    def __init__(self, where):
        self.path = os.path.join(where, "qimg-bench.%d" % os.getpid())

    def __enter__(self):
        os.makedirs(self.path)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def __call__(self, name):
        return os.path.join(self.path, name)


def qimg(*words):
    """Run our tool for its effect."""
    return Run([QIMG] + list(words)).output


def equal(first, second, formats=("qcow2", "qcow2")):
    """The two images hold the same disk, or Failed."""
    Run([PEER if shutil.which(PEER) else QIMG, "compare", "-f", formats[0], "-F", formats[1],
         first, second])


def bench(image, *options, seconds=None):
    """The result of "qimg bench" on @image as a dictionary."""
    words = [QIMG, "bench", "--output=json", "--stats"]
    if seconds:
        words += ["--time", str(seconds)]
    return json_of(Run(words + list(options) + [image]).output)


def main(function):
    """What each script ends with."""
    try:
        function()
    except Failed as error:
        print("FAILED: %s" % error)
        sys.exit(1)
