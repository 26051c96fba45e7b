#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# guest: --root --append=iomem=relaxed --allow-log='onpu .*firmware failed: ' --allow-log='onpu .*request 8 in time'
# guest: --cpus=2
"""Takes the device away while programs work on it, as TAP; see --help.

Rounds of function resets, resets by the driver, unbinding, removal and unloading follow each other.
The programs (tests/driver/load.c) must go on after a reset, and end when the device is gone, each
within --patience seconds; in some rounds they are killed just before. The caller checks the
kernel's log.
"""

import argparse
import glob
import os
import re
import select
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DRIVER = '/sys/bus/pci/drivers/onpu'
RESET = re.compile(r'onpu .*\[drm\].* (reset: |the device is gone|device is wedged: )')


def fail(text):
    print(f'Bail out! {text}', flush=True)
    sys.exit(1)


def write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def node():
    """Returns the path of the device's node. Its number grows while somebody still holds the last
    device of that number.
    """
    return glob.glob('/dev/accel/accel*')[0]


def users():
    """Returns how many references the module has: each open file holds one, and so does each job
    until its end is handled.
    """
    with open('/sys/module/onpu/refcnt', encoding='ascii') as file:
        return int(file.read())


def comes(condition, patience):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def until(condition, patience, what):
    if not comes(condition, patience):
        fail(f'{what}: not within {patience} s')


class Device:
    """The machine's only NPU, whatever its address is."""

    def __init__(self, options):
        self.options = options
        self.address = os.path.basename(glob.glob(f'{DRIVER}/0000:*')[0])
        self.path = f'/sys/bus/pci/devices/{self.address}'
        self.load = None

    def read(self, name):
        with open(f'{self.path}/{name}', encoding='ascii') as file:
            return file.read().strip()

    def bound(self):
        return os.path.exists(f'{DRIVER}/{self.address}') and bool(glob.glob('/dev/accel/accel*'))

    def wait_bound(self):
        until(self.bound, self.options.patience, 'the driver is bound')

    def wait_busy(self):
        """Waits until the device has been busy for 100 ms after this call."""
        before = int(self.read('npu_busy_time_us'))
        until(lambda: int(self.read('npu_busy_time_us')) > before + 100000, self.options.patience,
              'the device is busy')

    # Each of the following functions disturbs the device or takes it away, and returns whether
    # programs can go on after that. bind(), rescan() and reload() give the device back, and return
    # nothing.

    def reset(self):
        resets = int(self.read('reset_count'))
        write(f'{self.path}/reset', '1')
        if int(self.read('reset_count')) <= resets:
            fail('reset_count did not grow')
        return True

    def disturb(self):
        """Resets or confuses the device behind the driver's back. Returns True once the driver has
        reset the device, or fails the test.
        """
        resets = int(self.read('reset_count'))
        what = ('reset', 'request')[resets % 2]
        # The request index is lost if the driver writes its next one before the firmware has seen
        # this one.
        for _ in range(3 if what == 'request' else 1):
            subprocess.run([self.options.poke, f'{self.path}/resource0', what], check=True)
            if comes(lambda: int(self.read('reset_count')) > resets, self.options.patience):
                return True
        fail(f'the driver resets the device: not within {self.options.patience} s')

    def unbind(self):
        write(f'{DRIVER}/unbind', self.address)
        return False

    def abandon(self):
        """Kills the programs and unbinds the driver, so that files are closed, contexts end and
        buffers are freed during unbind.
        """
        self.load.kill()
        return self.unbind()

    def cut(self):
        """Unbinds the driver while a job runs: rounds() starts a job that does not end."""
        return self.unbind()

    def bind(self):
        write(f'{DRIVER}/bind', self.address)

    def remove(self):
        write(f'{self.path}/remove', '1')
        return False

    def rescan(self):
        write('/sys/bus/pci/rescan', '1')

    def unload(self):
        """Unbinds the driver with a file open, which must hold the module."""
        file = os.open(node(), os.O_RDWR)
        write(f'{DRIVER}/unbind', self.address)
        until(lambda: users() <= 1, self.options.patience, 'only the file holds the module')
        if subprocess.run(['rmmod', 'onpu'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            fail('the module went although a file is open')
        os.close(file)
        return False

    def reload(self):
        until(lambda: not users(), self.options.patience, 'nothing holds the module')
        subprocess.run(['rmmod', 'onpu'], check=True)
        subprocess.run(['insmod', self.options.module], check=True)


def engine_ns(program):
    """Returns the nanoseconds for which the program has had the device, from fdinfo."""
    if program.poll() is not None:
        fail(f'a program ended with {program.returncode}')
    total = 0
    for name in glob.glob(f'/proc/{program.pid}/fdinfo/*'):
        try:
            with open(name, encoding='ascii') as file:
                fields = dict(line.split(':', 1) for line in file if ':' in line)
        except OSError:
            continue  # the file was closed meanwhile
        if fields.get('drm-driver', '').strip() == 'onpu':
            total += int(fields['drm-engine-npu'].split()[0])
    return total


class Load:
    """Programs that work, or one program whose jobs do not end. With --stay, programs that work go
    on with the next device.
    """

    def __init__(self, options, endless):
        self.options = options
        self.status = 0
        self.stays = options.stay and not endless
        how = 'endless' if endless else 'again' if self.stays else ''
        self.programs = [subprocess.Popen([options.load, node(), how],
                                          stdout=subprocess.PIPE if self.stays else None)
                         for _ in range(1 if endless else options.programs)]

    def wait_working(self):
        """Waits until each program has used the device for some time after this call."""
        for program in self.programs:
            before = engine_ns(program)
            until(lambda p=program, b=before: engine_ns(p) > b, self.options.patience,
                  'the programs work')

    def wait_left(self):
        """Waits until each program has printed that it has closed the device that is gone."""
        for program in self.programs:
            if not select.select([program.stdout], [], [], self.options.patience)[0] or \
                    not program.stdout.readline():
                fail(f'the programs leave: not within {self.options.patience} s')

    def wait_ended(self):
        until(lambda: all(p.poll() is not None for p in self.programs), self.options.patience,
              'the programs end')
        if any(p.returncode != self.status for p in self.programs):
            fail(f'they ended with {[p.returncode for p in self.programs]}')

    def kill(self):
        self.status = -signal.SIGKILL
        for program in self.programs:
            program.kill()


def resets():
    """Returns the driver's messages about resets, asked for or not, and about a device that it
    gives up.
    """
    log = subprocess.run(['dmesg'], check=True, text=True, stdout=subprocess.PIPE).stdout
    return [line for line in log.splitlines() if RESET.search(line)]


def rounds(number, device, options, take, give_back):
    load = None
    before = len(resets())
    for _ in range(options.rounds):
        load = load or Load(options, take == device.cut)
        device.load = load
        if take == device.cut:
            device.wait_busy()
        else:
            load.wait_working()
        if not take():
            if load.stays and not load.status:
                load.wait_left()
            else:
                load.wait_ended()
                load = None
            give_back()
            device.wait_bound()
    if load:
        load.wait_working()
        load.kill()
        load.wait_ended()
    # Each round that asks for a reset has one; any other reset would cost programs their jobs.
    said = resets()[before:]
    wanted = 0 if give_back else options.rounds
    if len(said) != wanted:
        fail(f'{wanted} resets were asked for, but:\n' + '\n'.join(said))
    print(f'ok {number} - {take.__name__}, {options.rounds} times', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--module', metavar='FILE',
                        default=f'{TOP}/build/driver/{os.uname().release}/gcc/onpu.ko')
    parser.add_argument('--load', metavar='PROGRAM',
                        default=f'{TOP}/build/gcc/tests/driver/driver-load')
    parser.add_argument('--poke', metavar='PROGRAM',
                        default=f'{TOP}/build/gcc/tests/driver/driver-poke')
    parser.add_argument('--programs', type=int, default=3)
    parser.add_argument('--stay', action='store_true')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--patience', type=float,
                        default=60 * float(os.environ.get('ONPU_PATIENCE', 1)))
    parser.add_argument('--only', action='append', default=[],
                        choices=['reset', 'disturb', 'unbind', 'cut', 'abandon', 'remove', 'unload'])
    options = parser.parse_args()
    device = Device(options)
    pairs = [(device.reset, None), (device.disturb, None), (device.unbind, device.bind),
             (device.cut, device.bind), (device.abandon, device.bind),
             (device.remove, device.rescan), (device.unload, device.reload)]
    if options.only:
        pairs = [pair for pair in pairs if pair[0].__name__ in options.only]
    print(f'1..{len(pairs)}', flush=True)
    for number, (take, give_back) in enumerate(pairs, 1):
        rounds(number, device, options, take, give_back)
    return 0


if __name__ == '__main__':
    sys.exit(main())
