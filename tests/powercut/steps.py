# SPDX-License-Identifier: MIT
"""Operations one by one, with the length of the log after each: which had ended at an entry?"""
import os
import re
import select
import subprocess
import time

TIMEOUT = 60     # seconds for one operation
LENGTH = re.compile(rb"[0-9.]+ (KiB|MiB|bytes)\n")     # what "length" says


class Steps:
    def __init__(self, words, env, log):
        self.log, self.said = log, b""
        self.marks = [(0, 0)]      # (bytes of the log, operations that have ended)
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def wait_for_length(self):
        end = time.monotonic() + TIMEOUT
        text = b""
        while not LENGTH.search(text):
            if not select.select([self.process.stdout], [], [], end - time.monotonic())[0]:
                raise subprocess.TimeoutExpired(self.process.args, TIMEOUT)
            part = os.read(self.process.stdout.fileno(), 4096)
            if not part:
                break
            text += part
        self.said += LENGTH.sub(b"", text)

    def run(self, commands):
        """Run all; what was said besides the prompt."""
        begun = 0
        for command in commands:
            self.process.stdin.write(command.encode() + b"\nlength\n")
            self.process.stdin.flush()
            self.wait_for_length()
            begun += command != "aio_flush"
            if not command.startswith("aio_write"):
                self.marks.append((os.path.getsize(self.log), begun))
        self.process.stdin.close()
        self.said += self.process.stdout.read()
        self.process.stdout.close()
        if self.process.wait(TIMEOUT):
            self.said += b"exit %d" % self.process.returncode
        return re.sub(r"\S+> ", "", self.said.decode("utf8", "replace")).strip()

    def done_before(self, length):
        """Operations that had ended when the log had @length bytes."""
        return max(done for size, done in self.marks if size <= length)

    def begun_before(self, length, operations):
        """Those that may have begun: the ones after these go on when the next mark is made."""
        done = self.done_before(length)
        later = [count for _, count in self.marks if count > done]
        return min(later) if later else operations
