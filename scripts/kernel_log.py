# SPDX-License-Identifier: MIT
"""Reads the log of a guest's kernel and finds what is bad in it. scripts/guest.py has one for each
guest.
"""

import fcntl
import os
import re

# Warnings that every module which does not come with the kernel causes, and those of a slow machine.
EXPECTED = (r"loading out-of-tree module taints kernel",
            r"module verification failed: signature and/or required key missing - tainting kernel",
            r"^hrtimer: interrupt took ", r"^workqueue: .* hogged CPU for ", r"^clocksource: ",
            r"^hpet: Lost \d+ RTC interrupts", r"^sched: DL replenish lagged too much",
            r"lapic is not functional\.$", r"^Could not switch to high resolution mode")
# Messages that are a failure at every level, also with --allow-warnings.
SPLAT = re.compile(r"\b(BUG|WARNING|Oops|KASAN|KCSAN|UBSAN|Kernel panic)\b.*(:|at )|cut here"
                   r"|general protection fault|possible recursive locking|possible circular locking"
                   r"|inconsistent lock state|suspicious RCU usage|blocked for more than|refcount_t: "
                   r"|soft lockup|rcu_preempt self-detected stall|sleeping function called from"
                   r"|possible .* lock inversion|Possible unsafe locking|DMA-API: |ODEBUG: |kmemleak: \d+ new")
# Bits of /proc/sys/kernel/tainted: died, bad page, warned, locked up.
TAINT_BAD = 1 << 7 | 1 << 5 | 1 << 9 | 1 << 14

# A record of /dev/kmsg: priority, number, microseconds; text. Records from before init's start are
# not judged, as they are about hardware that is not there and the like.
LOG_LINE = re.compile(rb"(\d+),(\d+),(\d+),[^;]*;(.*)")


class KernelLog:
    """Writes the guest's records of /dev/kmsg to a file, and judges them."""

    def __init__(self, path, allowed, allow_warnings):
        self.path, self.file = self.open(path)
        self.allowed = [re.compile(text) for text in (*EXPECTED, *allowed)]
        self.allow_warnings = allow_warnings
        self.judging = False
        self.ended = False
        self.rest = b""
        self.bad = []

    @staticmethod
    def open(path):
        """Opens the log and clears it; returns its path and file. When another running guest has
        the name, a number is put in the name.
        """
        os.makedirs(os.path.dirname(path), exist_ok=True)
        base, suffix = os.path.splitext(path)
        number = 1
        while True:
            file = open(path, "ab")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.truncate(0)
                return path, file
            except BlockingIOError:
                file.close()
                number += 1
                path = f"{base}-{number}{suffix}"

    def feed(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.line(line)
        self.file.flush()

    def line(self, line):
        match = LOG_LINE.match(line)
        if not match:  # a record's variables
            return
        priority, micros = int(match[1]), int(match[3])
        text = match[4].decode(errors="replace")
        written = f"<{priority & 7}>[{micros / 1e6:12.6f}] {text}"
        self.file.write(written.encode() + b"\n")
        if text == "onpu-guest: end":
            self.ended = True
        elif text.startswith("Run /") and text.endswith("as init process"):
            self.judging = True
        elif self.is_bad(priority, text):
            self.bad.append(written)

    def is_bad(self, priority, text):
        if not self.judging or priority >= 8:  # 8 and more: not from the kernel
            return False
        if SPLAT.search(text):
            return True
        return priority <= 4 and not self.allow_warnings and \
            not any(pattern.search(text) for pattern in self.allowed)

    def append(self, title, text):
        if text:
            self.file.write(f"--- {title}\n{text}\n".encode())
            self.file.flush()
