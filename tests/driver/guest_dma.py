#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# guest: --root
"""Tests that the driver has nothing mapped for the device after unbinding, as TAP: guest_dma.py
[ROUNDS].

While the driver is unbound, programs (tests/driver/hold.c) have files open, and map and free
memory. The kernel's trace has all mappings and allocations for the device since before the driver
was bound, so that they and their removals must come out even when unbinding ends.
"""

import glob
import os
import re
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOLD = os.path.join(os.environ.get('ONPU_DRIVER_TESTS', f'{TOP}/build/gcc/tests/driver'),
                    'driver-hold')
DRIVER = '/sys/bus/pci/drivers/onpu'
TRACE = '/sys/kernel/tracing'
# Reads the device's name in a kprobe: a kobject is the first member of struct device, and its name
# is the first member of the kobject.
NAME = 'device=+0(+0($arg1)):string'
# Seconds that an expected event may take: the machine may be slow and busy.
PATIENCE = 120 * float(os.environ.get('ONPU_PATIENCE', '1'))


def read(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def node():
    end = time.monotonic() + PATIENCE
    while not (nodes := glob.glob('/dev/accel/accel*')):
        if time.monotonic() > end:
            print('Bail out! the driver is not bound')
            sys.exit(1)
        time.sleep(0.01)
    return nodes[0]


def trace_mappings():
    """Enables trace events for allocations and mappings. Kprobes trace the mappings, since the
    kernel's own events list each run of memory of a mapping, and hundreds of runs do not fit in an
    event.
    """
    write(f'{TRACE}/kprobe_events', f'p:onpu/map dma_map_sgtable {NAME} runs=+12($arg2):u32\n'
                                    f'p:onpu/unmap dma_unmap_sg_attrs {NAME} runs=$arg3:u32\n')
    for event in ('dma/dma_alloc', 'dma/dma_free', 'onpu/map', 'onpu/unmap'):
        write(f'{TRACE}/events/{event}/enable', '1')


def balance(address):
    """Returns, for memory that was allocated and for memory that was mapped, three numbers: how
    often the driver took some, how many of these it has not given back, and how much that is, in
    bytes (allocated) or runs (mapped).
    """
    lost = [read(path) for path in glob.glob(f'{TRACE}/per_cpu/cpu*/stats')]
    if any(re.search(r'^(overrun|dropped events): [1-9]', text, re.M) for text in lost):
        print('Bail out! the trace is too long')
        sys.exit(1)
    kinds = {'alloc': [0, 0, 0], 'map': [0, 0, 0]}
    event = re.compile(rf': (?:dma_)?(alloc|free|map|unmap): (?:\(.*\) device=")?{address}\b.* (?:size|runs)=(\d+)')
    for match in event.finditer(read(f'{TRACE}/trace')):
        kind = {'free': 'alloc', 'unmap': 'map'}.get(match[1], match[1])
        sign = 1 if kind == match[1] else -1
        kinds[kind][0] += kind == match[1]
        kinds[kind][1] += sign
        kinds[kind][2] += sign * int(match[2])
    return kinds


def tell(number, good, name):
    print(f'{"ok" if good else "not ok"} {number} - {name}', flush=True)
    return good


def one_round(number, address):
    """Binds the driver, and unbinds it while programs use the device. Returns whether all tests are
    ok. The driver must be unbound before the call, and is unbound afterwards.
    """
    write(f'{TRACE}/trace', '')
    write(f'{DRIVER}/bind', address)
    holder = subprocess.Popen([HOLD, node()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ready = holder.stdout.readline() == b'ready\n'
    churning = [subprocess.Popen([HOLD, node(), 'churn']) for _ in range(3)]
    time.sleep(0.3)
    write(f'{DRIVER}/unbind', address)
    kinds = balance(address)
    print(f'# round {number}: ' + ', '.join(
        f'{kind} {total} times, {left} left, of {size}' for kind, (total, left, size) in kinds.items()))
    even = all(total and not left and not size for total, left, size in kinds.values())
    holder.communicate(timeout=PATIENCE)
    whole = not holder.returncode and not any(p.wait(PATIENCE) for p in churning)
    good = tell(3 * number - 2, ready and even, 'nothing is mapped after unbind')
    good &= tell(3 * number - 1, whole, 'the programs keep their memory')
    return good & tell(3 * number, balance(address) == kinds, 'nothing is given back later')


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    address = os.path.basename(glob.glob(f'{DRIVER}/0000:*')[0])
    print(f'1..{3 * rounds}', flush=True)
    write(f'{TRACE}/buffer_size_kb', '16384')
    write(f'{DRIVER}/unbind', address)
    trace_mappings()
    return 0 if all([one_round(number, address) for number in range(1, rounds + 1)]) else 1


if __name__ == '__main__':
    sys.exit(main())
