#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# guest: --root
"""After unbinding, the driver has nothing mapped for the device, as TAP; guest_dma.py [ROUNDS].

Programs (tests/driver/hold.c) have files open, and make and free what is mapped, while the driver is
unbound. The kernel's trace tells what was mapped and allocated for the device from before the driver
was bound, so at the end of unbind it comes out even.
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


def is_small(line):
    """A mapping of more than 128 runs of memory has no record, or a truncated one."""
    return 'TRUNCATED' not in line and line.partition('phys_addrs=')[2].count(',') < 128


def balance(address):
    """By kind of memory: how often it came, and how often more than it went."""
    lost = [read(path) for path in glob.glob(f'{TRACE}/per_cpu/cpu*/stats')]
    if not all(re.search(r'^overrun: 0$', text, re.M) for text in lost):
        print('Bail out! the trace is too long')
        sys.exit(1)
    kinds = {'alloc': [0, 0], 'map_sg': [0, 0]}
    event = re.compile(rf': dma_(alloc|free|map_sg|unmap_sg): {address} ')
    for line in filter(is_small, read(f'{TRACE}/trace').splitlines()):
        match = event.search(line)
        if not match:
            continue
        if match[1] in kinds:
            kinds[match[1]][0] += 1
            kinds[match[1]][1] += 1
        else:
            kinds['alloc' if match[1] == 'free' else 'map_sg'][1] -= 1
    return kinds


def tell(number, good, name):
    print(f'{"ok" if good else "not ok"} {number} - {name}', flush=True)
    return good


def one_round(number, address):
    """With the driver unbound before and after."""
    write(f'{TRACE}/trace', '')
    write(f'{DRIVER}/bind', address)
    holder = subprocess.Popen([HOLD, node()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ready = holder.stdout.readline() == b'ready\n'
    churning = [subprocess.Popen([HOLD, node(), 'churn']) for _ in range(3)]
    time.sleep(0.3)
    write(f'{DRIVER}/unbind', address)
    kinds = balance(address)
    print(f'# round {number}: ' + ', '.join(
        f'{kind} {total} times, {left} left' for kind, (total, left) in kinds.items()))
    even = all(total and not left for total, left in kinds.values())
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
    for event in ('alloc', 'free', 'map_sg', 'unmap_sg'):
        write(f'{TRACE}/events/dma/dma_{event}/enable', '1')
    return 0 if all([one_round(number, address) for number in range(1, rounds + 1)]) else 1


if __name__ == '__main__':
    sys.exit(main())
