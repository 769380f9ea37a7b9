# SPDX-License-Identifier: MIT
"""What may stand on a disk after writes of which some failed: a set of values for each segment."""
KEPT = -1  # what was there at first
UNITS = {"k": 1 << 10, "M": 1 << 20}


def number(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


class Step:
    """One line of a scene: "write OFFSET LENGTH", "compressed", "zero", "discard", or "flush"."""

    def __init__(self, text, value):
        words = text.split()
        self.verb = words[0]
        self.start, self.end = 0, 0
        self.value = value if self.verb in ("write", "compressed") else 0
        if len(words) > 1:
            self.start = number(words[1])
            self.end = self.start + number(words[2])
        place = "%d %d" % (self.start, self.end - self.start)
        self.command = {"write": "write -q -P %d %s" % (value, place),
                        "compressed": "write -q -c -P %d %s" % (value, place),
                        "zero": "write -q -z -u " + place,
                        "discard": "discard -q " + place, "flush": "flush"}[self.verb]


def steps(texts):
    return [Step(text, 10 + at) for at, text in enumerate(texts)]


class Model:
    """@now: what a read would find; @durable: what the disk may hold later on."""

    def __init__(self, all_steps, initial):
        self.initial = initial
        ends = {0, len(initial)}
        for step in all_steps:
            ends |= {step.start, step.end}
        ends = sorted(end for end in ends if end <= len(initial))
        self.segments = list(zip(ends, ends[1:]))
        self.now = [{KEPT} for _ in self.segments]
        self.durable = [{KEPT} for _ in self.segments]

    def done(self, step, good):
        if step.verb == "flush":
            if good:
                self.durable = [set(values) for values in self.now]
            return
        for at, (start, end) in enumerate(self.segments):
            if start < step.start or end > step.end:
                continue
            # A discard is a hint.
            if good and step.verb != "discard":
                self.now[at] = {step.value}
            else:
                self.now[at].add(step.value)
            self.durable[at].add(step.value)

    def fault(self, content, closed):
        """What is wrong with this disk, or None.  @closed: the program ended well."""
        allowed = self.now if closed else self.durable
        if len(content) != len(self.initial):
            return "the disk has %d bytes" % len(content)
        for (start, end), values in zip(self.segments, allowed):
            part, old = content[start:end], self.initial[start:end]
            if KEPT in values and part == old or set(part) <= values:
                continue
            for at, byte in enumerate(part):
                if byte not in values and not (KEPT in values and byte == old[at]):
                    return "byte %d is %d, not one of %s" % (start + at, byte, sorted(values))
        return None
