#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests onpu-emu as a program: options, the line that says that it listens, clients, the end.

  test_program.py ONPU_EMU
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

EMU = None
PATIENCE = 60
VERSION = struct.pack('<HHIII', 1, 1, 20, 0, 0) + bytes(4)


def receive(client, size):
    data = b''
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            return data
        data += part
    return data


def call(client, message):
    client.sendall(message)
    header = receive(client, 16)
    return header + receive(client, struct.unpack_from('<I', header, 4)[0] - 16)


def irq_count(client, index):
    reply = call(client, struct.pack('<HHIII4I', 2, 7, 32, 0, 0, 16, 0, index, 0))
    return struct.unpack_from('<I', reply, 28)[0]


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, 'npu.sock')
        self.process = None

    def start(self, *options):
        self.process = subprocess.Popen([EMU, '--socket', self.path, *options], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end)
        self.assertEqual(self.process.stdout.readline(), f'listening on {self.path}\n')

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(client.close)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def run_emu(self, *options):
        return subprocess.run([EMU, *options], text=True, capture_output=True, timeout=PATIENCE,
                              check=False)

    def test_faults(self):
        """Tests that options and lines of input ask for faults, and that an error names what is
        wrong.
        """
        for words, message in ((['--inject=parity,ms=3'], 'this fault has no time'),
                               (['--inject=parity,vector=3'], 'this fault has no vector'),
                               (['--inject=parity,after=1000000001'], 'N is from 0 to 1000000000'),
                               (['--inject=nothing'], 'there is no such fault'),
                               (['--inject=-', '--sync'], 'exclude each other')):
            done = self.run_emu('--socket', self.path, *words)
            self.assertEqual(done.returncode, 64)
            self.assertIn(message, done.stderr)
        self.process = subprocess.Popen([EMU, '--socket', self.path, '--inject=all-ones', '--inject=-'], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end)
        self.process.stdout.readline()
        for line, answer in (('hits all-ones', 'ok 0'), ('late-message,ms=20', 'ok'), ('nothing', 'error: there is no'),
                             ('hits none', 'error: hits takes'),
                             ('none', 'ok')):
            self.process.stdin.write(line + '\n')
            self.process.stdin.flush()
            self.assertTrue(self.process.stdout.readline().startswith(answer), line)

    def test_recording(self):
        """Tests that the recording of a server's device can be replayed, and that an incomplete
        file is refused.
        """
        file = os.path.join(self.folder.name, 'record')
        self.start('--once', '--record', file, '--queues=4', '--sram=65536')
        client = self.connect()
        call(client, VERSION)
        memory_enable = struct.pack('<HHIIIQII', 3, 10, 34, 0, 0, 4, 7, 2) + b'\2\0'
        call(client, memory_enable)
        call(client, struct.pack('<HHIIIQII', 4, 9, 32, 0, 0, self.register(), 0, 4))
        client.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        done = self.run_emu('--replay', file)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout, 'record: the device does the same in all [1-9][0-9]* events as when they were recorded\n')
        with open(file, 'rb') as record:
            data = record.read()
        self.assertEqual(data[32:64], b'onpu-custom'.ljust(32, b'\0'))
        # Change the recorded value of the register's read, and make the checksum right again.
        at = data.index(struct.pack('<II', self.register(), 65536)) + 4
        data = data[:at] + b'\1' + data[at + 1:]
        data = data[:-8] + struct.pack('<Q', zlib.crc32(data[:-24]))
        for content, status, told in ((data, 2, ': the replay does not do what was recorded; recorded: a register is read'),
                                      (data[:-1], 1, 'it ends in the middle'), (b'', 1, 'is empty or not a regular file'),
                                      (bytes(88), 1, 'it is no recording'), (data[:-1] + b'x', 1, 'its checksum'),
                                      (data[:8] + b'\1' + data[9:], 1, 'another version')):
            with open(file, 'wb') as record:
                record.write(content)
            done = self.run_emu('--replay', file)
            self.assertEqual(done.returncode, status, content[:40])
            self.assertIn(told, done.stdout + done.stderr)
        self.assertEqual(self.run_emu('--replay', '/nonexistent/record').returncode, 1)
        done = self.run_emu('--socket', self.path, '--record-limit=1')
        self.assertEqual(done.returncode, 64)
        self.assertIn('give --record FILE, too', done.stderr)

    def test_help(self):
        result = self.run_emu('--help')
        self.assertEqual(result.returncode, 0)
        for option in ('--socket', '--sync', '--no-msix', '--tlb', '--machine', '--sram', '--queues',
                       '--threads', '--once', '--quiet', 'memory-backend-memfd'):
            self.assertIn(option, result.stdout)

    def test_wrong_options(self):
        socket_option = ('--socket', self.path)
        for options, word in ((('--sync',), '--socket PATH'),
                              ((*socket_option, 'more'), "'more'"),
                              ((*socket_option, '--queues=65'), '1 to 64'),
                              ((*socket_option, '--queues=0'), '--queues 0'),
                              ((*socket_option, '--machine=onpu-ref0'), 'onpu-ref0: there is no such machine; there are onpu-ref1'),
                              ((*socket_option, '--sram=-4096'), '-4096'),
                              ((*socket_option, '--sram=4T'), '4T'),
                              ((*socket_option, '--sram=5000'), 'a multiple of 4096 bytes up to 1073741824'),
                              ((*socket_option, '--queues=099'), '--queues 099'),
                              ((*socket_option, '--threads=0x41'), '--threads 0x41'),
                              ((*socket_option, '--sram=2G'), '2G'),
                              ((*socket_option, '--sram=1025M'), '1025M'),
                              ((*socket_option, '--threads='), '--threads'),
                              ((*socket_option, '--threads=2', '--record=/nonexistent/record'), 'one thread'),
                              ((*socket_option, '--record=/nonexistent/record'), '/nonexistent/record'),
                              ((*socket_option, '--replay=record'), '--replay FILE, to repeat'),
                              ((*socket_option, '--threads=65'), '1 to 64'),
                              ((*socket_option, '--tlb=none'), 'sticky'),
                              ((*socket_option, '--no-such'), 'no-such'),
                              (('--socket', '/nonexistent/npu.sock'), '/nonexistent/npu.sock'),
                              (('--socket', self.path + 'x' * 200), 'too long')):
            result = self.run_emu(*options)
            self.assertNotEqual(result.returncode, 0, options)
            self.assertIn(word, result.stderr, options)
            self.assertEqual(result.stdout, '')
            self.assertFalse(os.path.exists(self.path))

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start()
            client = self.connect()
            self.assertEqual(len(call(client, VERSION)[:16]), 16)
            self.process.send_signal(number)
            self.assertEqual(self.process.wait(PATIENCE), 0)
            self.assertEqual(client.recv(1), b'')
            self.assertFalse(os.path.exists(self.path))
            self.assertIn('client connected', self.process.communicate()[1])

    def test_once(self):
        self.start('--once', '--quiet')
        client = self.connect()
        call(client, VERSION)
        second = self.connect()
        self.assertEqual(second.recv(1), b'')
        second.close()
        self.assertIsNone(self.process.poll())
        client.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(self.process.communicate(), ('', ''))

    def test_clients_in_turn(self):
        self.start()
        for _ in range(3):
            client = self.connect()
            self.assertEqual(struct.unpack_from('<I', call(client, VERSION), 8)[0], 1)
            client.close()

    def test_options_reach_the_device(self):
        self.start('--queues=05', '--sram=0064K', '--threads=2', '--tlb=sticky', '--sync')
        client = self.connect()
        call(client, VERSION)
        self.assertEqual(irq_count(client, 2), 6)
        self.assertEqual(irq_count(client, 1), 1)
        memory_enable = struct.pack('<HHIIIQII', 3, 10, 34, 0, 0, 4, 7, 2) + b'\2\0'
        call(client, memory_enable)
        # Read CAP_SRAM_BYTES at its offset in registers.xml.
        reply = call(client, struct.pack('<HHIIIQII', 4, 9, 32, 0, 0, self.register(), 0, 4))
        self.assertEqual(struct.unpack_from('<I', reply, 32)[0], 65536)

    @staticmethod
    def register():
        import re
        top = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
        with open(os.path.join(top, 'uapi', 'onpu', 'registers.xml'), encoding='utf-8') as file:
            match = re.search(r'offset="(0x\w+)" name="CAP_SRAM_BYTES"', file.read())
        return int(match.group(1), 16)

    def test_no_msix(self):
        self.start('--no-msix')
        client = self.connect()
        call(client, VERSION)
        self.assertEqual(irq_count(client, 2), 0)
        self.assertEqual(irq_count(client, 1), 1)

    def test_socket_in_use(self):
        self.start()
        result = self.run_emu('--socket', self.path)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('in use', result.stderr)
        self.connect()

    def test_stale_socket(self):
        self.start()
        self.process.kill()
        self.process.wait()
        self.assertTrue(os.path.exists(self.path))
        self.start()
        self.connect()

    def test_file_in_the_way(self):
        with open(self.path, 'w', encoding='utf-8') as file:
            file.write('precious')
        result = self.run_emu('--socket', self.path)
        self.assertNotEqual(result.returncode, 0)
        with open(self.path, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'precious')

    def test_socket_is_private(self):
        self.start()
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)


if __name__ == '__main__':
    EMU = sys.argv.pop(1)
    unittest.main(verbosity=0)
