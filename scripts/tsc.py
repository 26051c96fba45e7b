# SPDX-License-Identifier: MIT
"""Tells guest.py how fast the guest's TSC counts: under TCG, as fast as the host's.

A kernel that has to find this out while the host is busy may be wrong by ten times, and with it all
its clocks and time limits.
"""

import ctypes
import mmap
import platform
import time


def option():
    """Returns a list of the kernel's option that tells the speed of the TSC, or an empty one."""
    if platform.machine() != "x86_64":
        return []
    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3")
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def reading():
        """Returns the clock and the counter at one time: the closest pair of several."""
        looks = []
        for _ in range(100):
            before, count, after = time.monotonic_ns(), counter(), time.monotonic_ns()
            looks.append((after - before, before, count))
        return min(looks)[1:]

    ns, count = reading()
    time.sleep(0.05)
    later_ns, later_count = reading()
    return [f"tsc_early_khz={(later_count - count) * 1000000 // (later_ns - ns)}"]
