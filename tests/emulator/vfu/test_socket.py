#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests onpu-emu with clients that are killed, slow or hostile, or that leave after any byte: the
next client must be served.

  test_socket.py ONPU_EMU [--rounds N] [--seed N]

The clients are random; a seed repeats them, but for the timing of the kernel's scheduler. After
each, a well-behaved client reads registers; the server's descriptors and memory must not grow.
"""

import argparse
import fcntl
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE = 60
HEADER = struct.Struct('<HHIII')
VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, REGION_FDS, IRQ_INFO, SET_IRQS, READ, WRITE, _, _, RESET = range(1, 14)
CONFIG = 7


def memory(size):
    """Returns a file like that in which QEMU has the guest's memory."""
    fd = os.memfd_create('onpu-test', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return fd


def message(command, payload=b'', number=1):
    return HEADER.pack(number, command, HEADER.size + len(payload), 0, 0) + payload


def access(region, offset, data=None):
    head = struct.pack('<QII', offset, region, len(data) if data else 4)
    return message(WRITE if data else READ, head + (data or b''))


def session():
    """Yields the messages of a well-behaved client, each as its bytes and its descriptors."""
    yield message(VERSION, bytes(4)), []
    yield message(GET_INFO, struct.pack('<4I', 16, 0, 0, 0)), []
    for index in range(9):
        yield message(REGION_INFO, struct.pack('<4I2Q', 32, 0, index, 0, 0, 0)), []
    for index in range(5):
        yield message(IRQ_INFO, struct.pack('<4I', 16, 0, index, 0)), []
    yield message(DMA_MAP, struct.pack('<2I3Q', 32, 3, 0, 0, 1 << 20)), [memory(1 << 20)]
    yield message(SET_IRQS, struct.pack('<5I', 20, 4 | 32, 2, 0, 1)), [os.eventfd(0)]
    yield access(CONFIG, 4, b'\x06\x00'), []
    for offset in range(0, 64, 4):
        yield access(0, offset), []
    yield access(0, 0x100, b'\x01\x00\x00\x00'), []
    yield message(DMA_UNMAP, struct.pack('<2I2Q', 24, 0, 0, 1 << 20)), []
    yield message(RESET), []


class Server:
    def __init__(self, program, path):
        self.path = path
        # The sanitizer would keep freed memory, which must not count as memory in use.
        options = os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=4'
        self.process = subprocess.Popen([program, '--socket', path, '--quiet'], stdout=subprocess.PIPE,
                                        env={**os.environ, 'ASAN_OPTIONS': options})
        self.process.stdout.readline()

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def resident(self):
        """Returns the resident memory in KiB."""
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as file:
            return next(int(line.split()[1]) for line in file if line.startswith('VmRSS:'))

    def alive(self):
        return self.process.poll() is None


def receive(client, size):
    data = b''
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            raise ConnectionError('the server has closed the connection')
        data += part
    return data


def reply(client):
    header = receive(client, HEADER.size)
    return receive(client, HEADER.unpack(header)[2] - HEADER.size)


def ask(client, what, files=()):
    socket.send_fds(client, [what], list(files))
    return reply(client)


def served(server):
    """Returns what a well-behaved client reads. Tries again while the server refuses it because it
    still has the client before.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with server.connect() as client:
                ask(client, message(VERSION, bytes(4)))
                ask(client, access(CONFIG, 4, b'\x02\x00'))
                return [ask(client, access(CONFIG, 0))[16:], ask(client, access(0, 0))[16:],
                        ask(client, message(GET_INFO, struct.pack('<4I', 16, 0, 0, 0)))]
        except (ConnectionError, BrokenPipeError):
            if not server.alive() or time.monotonic() > end:
                raise
            time.sleep(0.005)


# The clients. Each function returns when its client has gone.


def gone(rng, server):
    """Leaves after any byte of a session, with some replies unread."""
    stream = list(session())
    whole = rng.randrange(len(stream))
    with server.connect() as client:
        for index, (what, files) in enumerate(stream[:whole + 1]):
            part = what if index < whole else what[:rng.randrange(len(what))]
            if part:
                socket.send_fds(client, [part], files)
            if index < whole and rng.random() < 0.7:
                reply(client)
    for _, files in stream:
        for fd in files:
            os.close(fd)


def killed(rng, server):
    """Runs sessions in a process that is killed at any time."""
    child = os.fork()
    if not child:
        try:
            while True:
                with server.connect() as client:
                    for what, files in session():
                        ask(client, what, files)
        finally:
            os._exit(0)
    time.sleep(rng.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def slow(rng, server):
    """Sends byte after byte, with a pause now and then; descriptors come with the first byte of a
    message.
    """
    with server.connect() as client:
        for what, files in list(session())[:rng.randrange(1, 8)]:
            for at in range(len(what)):
                socket.send_fds(client, [what[at:at + 1]], files if not at else [])
                if rng.random() < 0.05:
                    time.sleep(0.002)
            reply(client)


def deaf(rng, server):
    """Sends many requests and reads no reply, until its socket is full or the server closes it."""
    with server.connect() as client:
        client.setblocking(False)
        try:
            client.sendall(message(VERSION, bytes(4)))
            for _ in range(rng.randrange(1, 3000)):
                client.sendall(access(0, 0))
        except (BlockingIOError, ConnectionError):
            pass
        time.sleep(rng.random() * 0.02)


def spoil(rng, what):
    """Returns a message with a few wrong bytes, or a wrong length."""
    what = bytearray(what)
    for _ in range(rng.randrange(1, 5)):
        kind = rng.randrange(4)
        at = rng.randrange(len(what))
        if kind == 0:
            what[at] = rng.randrange(256)
        elif kind == 1:
            what[at & ~3:(at & ~3) + 4] = struct.pack('<I', rng.choice([0, 1, 15, 16, 1 << 20, 1 << 31, (1 << 32) - 1]))
        elif kind == 2:
            what += rng.randbytes(rng.randrange(64))
        elif len(what) > HEADER.size:
            what = what[:max(HEADER.size, at)]
    if rng.random() < 0.6:
        what[4:8] = struct.pack('<I', len(what))
    return bytes(what)


def hostile(rng, server):
    """Sends good messages among bad ones, with descriptors that no command takes."""
    files = [memory(4096), os.eventfd(0), os.open('/dev/null', os.O_RDONLY), *os.pipe()]
    stream = list(session())
    with server.connect() as client:
        client.settimeout(0.05)
        try:
            if rng.random() < 0.8:
                ask(client, stream[0][0])
            for _ in range(rng.randrange(1, 60)):
                what, right = rng.choice(stream)
                wrong = rng.sample(files, rng.randrange(4)) if rng.random() < 0.3 else right
                socket.send_fds(client, [spoil(rng, what) if rng.random() < 0.6 else what], wrong)
                if rng.random() < 0.5:
                    reply(client)
        except OSError:
            pass
    for fd in files + [fd for _, right in stream for fd in right]:
        os.close(fd)


CLIENTS = [gone, killed, slow, deaf, hostile, hostile]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--rounds', type=int, default=120)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options.program, os.path.join(folder, 'npu.sock'))
        try:
            right = served(server)
            descriptors = server.descriptors()
            resident = 0
            for number in range(options.rounds):
                client = CLIENTS[number] if number < len(CLIENTS) else rng.choice(CLIENTS)
                where = f'round {number} of seed {options.seed}, a client that is {client.__name__}'
                try:
                    client(rng, server)
                except ConnectionError:
                    # The server refused it, since it still had the client before.
                    pass
                if served(server) != right:
                    sys.exit(f'{where}: the next one reads something else')
                if number == options.rounds // 4:
                    resident = server.resident()
            end = time.monotonic() + PATIENCE
            while server.descriptors() > descriptors and time.monotonic() < end:
                time.sleep(0.05)
            if server.descriptors() > descriptors:
                sys.exit(f'{server.descriptors()} descriptors are open, {descriptors} at first')
            if server.resident() > resident + (32 << 10):
                sys.exit(f'{server.resident()} KiB are in use, {resident} after a quarter of the rounds')
        finally:
            server.process.kill()
            server.process.communicate()


if __name__ == '__main__':
    main()
