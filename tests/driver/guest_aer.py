#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# guest: --root --root-port --modprobe=aer_inject
# guest: --allow-log='pcieport .*AER: ' --allow-log='onpu .*(PCIe Bus Error|device \[|\[ *[0-9]+\] |AER: )'
# guest: --allow-log='onpu .*\[drm\].* (reset: |device is wedged: )'
"""Tests PCIe errors while programs compute, as TAP: guest_aer.py [ROUNDS].

The kernel's aer_inject simulates the errors; what follows, such as the reset of the bus, is real. A
corrected error has no effect. After a non-fatal error the driver resets the device, and programs go
on. After a fatal error the root port resets the bus: existing contexts are lost, new ones work.
"""

import glob
import os
import struct
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOAD = os.path.join(os.environ.get('ONPU_DRIVER_TESTS', f'{TOP}/build/gcc/tests/driver'), 'driver-load')
NODE = '/dev/accel/accel0'
PATIENCE = 60 * float(os.environ.get('ONPU_PATIENCE', '1'))

# Bits of the AER status registers: receiver error; poisoned TLP; data link protocol error and
# malformed TLP, which are fatal.
CORRECTED, NOT_FATAL, FATAL, MALFORMED = 1 << 0, 1 << 12, 1 << 4, 1 << 18


class Device:
    def __init__(self):
        self.path = os.path.realpath(glob.glob('/sys/bus/pci/drivers/onpu/0000:*')[0])
        bus, rest = os.path.basename(self.path).split(':')[1:]
        device, function = rest.split('.')
        self.number = bytes((int(bus, 16), int(device, 16), int(function)))

    def inject(self, uncorrected=0, corrected=0):
        """Writes a struct aer_error_inj of the kernel, up to the end of its header log."""
        with open('/dev/aer_inject', 'wb', buffering=0) as file:
            file.write(struct.pack('<3sxII4I', self.number, uncorrected, corrected, 1, 2, 3, 4))

    def read(self, name):
        with open(f'{self.path}/{name}', encoding='ascii') as file:
            return file.read()

    def resets(self):
        return int(self.read('reset_count'))

    def corrected(self):
        """Returns how many corrected errors the kernel has counted."""
        return int(self.read('aer_dev_correctable').split()[-1])


class Tap:
    def __init__(self):
        self.number = self.failures = 0

    def ok(self, good, name):
        self.number += 1
        self.failures += not good
        print(f'{"ok" if good else "not ok"} {self.number} - {name}', flush=True)


def comes(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def computes():
    """Returns whether a new program computes correctly."""
    return subprocess.run([LOAD, NODE, 'once'], check=False).returncode == 0


def start():
    """Starts a program that computes until its context is lost, waits until it computes, and
    returns it. The program accepts that the device works again before it notices the loss.
    """
    program = subprocess.Popen([LOAD, NODE, 'lost'])

    def works():
        # Files of fdinfo come and go while the program starts.
        lines = subprocess.run(['grep', '-hs', '^drm-engine-npu:.*[1-9]', '-r', f'/proc/{program.pid}/fdinfo'],
                               check=False, stdout=subprocess.PIPE).stdout
        return bool(lines)

    if not comes(works):
        print('Bail out! the program does not compute', flush=True)
        sys.exit(1)
    return program


def corrected(device, tap):
    program, resets, errors = start(), device.resets(), device.corrected()
    device.inject(corrected=CORRECTED)
    tap.ok(comes(lambda: device.corrected() == errors + 1), 'corrected: the error is counted')
    tap.ok(computes() and program.poll() is None and device.resets() == resets, 'corrected: nothing happens')
    program.kill()
    program.wait()


def not_fatal(device, tap):
    program, resets = start(), device.resets()
    device.inject(NOT_FATAL)
    tap.ok(comes(lambda: device.resets() == resets + 1), 'not fatal: the driver resets the device')
    tap.ok(computes() and program.poll() is None, 'not fatal: programs go on')
    tap.ok(device.resets() == resets + 1, 'not fatal: one reset is enough')
    program.kill()
    program.wait()


def fatal(device, tap, bits):
    program = start()
    device.inject(bits)
    try:
        status = program.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        program.kill()
        status = None
    tap.ok(status == 0, 'fatal: the contexts are lost')
    tap.ok(comes(computes), 'fatal: new contexts compute after the reset of the bus')


def main():
    device, tap = Device(), Tap()
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
        corrected(device, tap)
        not_fatal(device, tap)
        fatal(device, tap, FATAL)
        fatal(device, tap, MALFORMED)
    print(f'1..{tap.number}')
    return tap.failures > 0


if __name__ == '__main__':
    sys.exit(main())
