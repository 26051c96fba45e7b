# SPDX-License-Identifier: MIT
"""Makes seeds of the fuzz target vfio-user, for make_corpus.py."""

import os
import struct

from generator.regs_model import Registers

HERE = os.path.dirname(os.path.abspath(__file__))

# Moves of fuzz_vfio_user.c, and bytes that say how a message is sent: as it should be, without a
# reply, in two parts, damaged, or with too many descriptors.
VFU_MOVES = ('raw', 'command', 'map', 'unmap', 'read', 'write', 'irqs', 'info', 'poke', 'leave',
             'run', 'truncate', 'enable')
PLAIN, POSTED, PIECES, DAMAGED, FDS = 0, 1, 0x82, 4, 8


def vfu(name, *operands):
    return bytes([VFU_MOVES.index(name)]) + b''.join(
        bytes([x]) if isinstance(x, int) else x for x in operands)


def vfu_write(region, size, offset, data, how=PLAIN):
    return vfu('write', region | size.bit_length() - 1 << 4 | (0x80 if offset > 0xfff else 0),
               struct.pack('<I', offset), data, how)


def vfu_read(region, size, offset, how=PLAIN):
    return vfu('read', region | size.bit_length() - 1 << 4 | (0x80 if offset > 0xfff else 0),
               struct.pack('<I', offset), how)


def registers():
    """Returns a dict from the name of each register to its offset in BAR0."""
    model = Registers(os.path.join(HERE, '..', '..', 'uapi', 'onpu', 'registers.xml'))
    bar0 = next(domain for domain in model.domains if domain.name == 'ONPU')
    return {item.name: item.offset for item in bar0.items}


def vfio_user_seeds(_, rng):
    bar0 = registers()
    start, on = bytes([PLAIN]), vfu('enable', PLAIN)
    memory = vfu('map', 0, 16, 0, 0xe0, PLAIN)
    attach = vfu('irqs', 0x24, 2, 0, 5, 5, PLAIN)
    yield 'attach', start + memory + b''.join(
        vfu('info', index << 2 | kind, PLAIN) for kind in range(3) for index in range(10))
    yield 'config', start + b''.join(
        vfu_read(7, 4, offset) + vfu_write(7, 4, offset, b'\xff' * 4) for offset in
        [*range(0, 0xac, 4), *range(0x100, 0x12c, 4)])
    yield 'ends', start + b''.join(vfu_read(region, 64, offset) for region in range(10)
                                   for offset in (0, 4095, 8191, 0x7ffc0, 0xffffffff))
    yield 'maps', start + b''.join(
        vfu('map', rng.getrandbits(8), rng.getrandbits(4), rng.getrandbits(3), 0xc0 | fd, PLAIN)
        for fd in (0, 0x20, 0x21, 0x22, 0x23, 0x24) * 4) + vfu('unmap', 0, 0, PLAIN)
    yield 'spans', start + b''.join(vfu('map', i, 1, 15 - i, 0xe0, PLAIN) for i in range(12)) + \
        b''.join(vfu('unmap', i, 1, PLAIN) for i in range(12))
    yield 'shrinks', start + vfu('map', 0, 8, 0, 0xe1, PLAIN) + vfu('truncate', 1) + on + \
        vfu_write(0, 4, bar0['FW_SIZE'], bytes([0, 16, 0, 0])) + \
        vfu_write(0, 4, bar0['BOOT'], bytes([1, 0, 0, 0]))
    yield 'interrupts', start + on + attach + b''.join(
        vfu('irqs', flags, index, 0, 1, fds, PLAIN) for flags in (0x21, 0x22, 0x24, 0x0c, 0x14)
        for index in range(6) for fds in (0, 1, 0x19))
    boot = b''.join(vfu_write(0, 4, bar0[name], struct.pack('<I', value)) for name, value in (
        ('FW_ADDRESS_LO', 0), ('FW_SIZE', 128), ('BOOT', 1)))
    yield 'boot', start + memory + on + attach + vfu('poke', b'\0\0', b'ONFW') + boot + \
        vfu('run') + vfu_read(0, 4, bar0['STATUS'])
    yield 'reset', start + memory + on + attach + vfu('info', 3, PLAIN) + on + \
        vfu_write(7, 2, 0x68, b'\0\x80') + on + vfu_write(7, 2, 0x44, b'\3\0') + \
        vfu_write(7, 2, 0x44, b'\0\0')
    yield 'posted', start + on + b''.join(
        vfu_write(0, 4, bar0['DOORBELL'] + 4096 * i, bytes([1, 0, 0, 0]), POSTED) for i in range(6))
    yield 'pieces', start + b''.join(
        vfu_read(7, 4, 0, 2 | at << 4) for at in range(16)) + vfu('leave', PIECES)
    yield 'descriptors', start + b''.join(
        vfu('info', 3, FDS, count) for count in range(20)) + vfu('command', 2, 0, FDS, 17)
    yield 'damaged', start + b''.join(
        vfu_read(7, 4, 0, DAMAGED) + bytes([at, 1 << at % 8]) + start for at in range(20))
    yield 'commands', start + b''.join(
        vfu('command', number, 40, rng.randbytes(40), PLAIN) for number in range(20))
    yield 'raw', start + vfu('raw', 32, rng.randbytes(32), 3) + start + \
        vfu('raw', 16, struct.pack('<HHIII', 1, 13, 16, 0, 0), 0)
