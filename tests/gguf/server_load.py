#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loads webnn-run generate --server for some minutes: clients that read whole answers and streams,
that go away in the middle, that send wrong requests, and that send half of a request. Every answer
is compared with the one that the server gave when there were no other clients; memory and open
files must not grow.
server_load.py WEBNN_RUN MINUTES [CLIENTS [MODEL]]
"""
import collections
import json
import pathlib
import random
import socket
import sys
import tempfile
import threading
import time

from server_client import PATIENCE, Busy, Server, read_events, text_of
from test_server import CHAT, EVEN, TEXT, make_model

PROGRAM, SECONDS = sys.argv[1], 60 * float(sys.argv[2])
CLIENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 32
# KiB by which the server's memory may grow from the end of the first quarter of the time to the
# end.
GROWTH = 16 << 10
WRONG = (b"", b"{", b'{"prompt": 1}', b'{"prompt": "a", "seed": -1}', b"\xff" * 1000, b'{"messages": []}', b"[" * 9999)


class Load:
    def __init__(self, server):
        self.server, self.counts, self.errors = server, collections.Counter(), []
        self.end = time.monotonic() + SECONDS
        self.requests = []
        for i in range(40):
            options = {"max_tokens": 1 + i * 3, "seed": i, **EVEN}
            text = "a 1" * (i % 30 + 1)
            self.requests.append((TEXT, {"prompt": text, **options}) if i % 3 else
                                 (CHAT, {"messages": [{"role": "user", "content": text}], **options}))
        self.wanted = [text_of(server.ask(path, body)[1]) for path, body in self.requests]

    def whole(self, _, path, body, want):
        status, answer = self.server.ask(path, body)
        if status == 503:
            return "refused"
        assert status == 200 and text_of(answer) == want, (status, answer, want)
        return "whole"

    def stream(self, _, path, body, want):
        try:
            events = self.server.stream(path, body)
        except Busy:
            return "refused"
        assert text_of(events) == want, (events, want)
        return "stream"

    def leave(self, rng, path, body, _):
        try:
            connection, response = self.server.open_stream(path, {**body, "max_tokens": 1000})
        except Busy:
            return "refused"
        for _ in zip(range(rng.randrange(5)), read_events(response)):
            pass
        connection.close()
        return "left"

    def leave_early(self, _, path, body, __):
        """Closes the connection while the request waits or is computed; returns "left early"."""
        connection = self.server.connect()
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        connection.close()
        return "left early"

    def wrong(self, rng, path, *_):
        status, answer = self.server.ask(path, rng.choice(WRONG))
        assert status == 400 and answer["error"]["message"], (status, answer)
        return "wrong"

    def half(self, rng, path, *_):
        data = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 30\r\n\r\n{{".encode()
        with socket.create_connection((self.server.host, self.server.port), PATIENCE) as client:
            client.sendall(data[:rng.randrange(len(data))])
        return "half"

    def client(self, number):
        rng = random.Random(number)
        kinds = (self.whole, self.whole, self.stream, self.stream, self.leave, self.leave_early, self.wrong, self.half)
        try:
            while time.monotonic() < self.end and not self.errors:
                at = rng.randrange(len(self.requests))
                self.counts[rng.choice(kinds)(rng, *self.requests[at], self.wanted[at])] += 1
        except Exception as error:  # any is a finding, and ends all clients
            self.errors.append(error)

    def measure(self):
        """Returns the KiB of memory and the number of open files of the server."""
        process = pathlib.Path(f"/proc/{self.server.process.pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]), len(list((process / "fd").iterdir()))

    def run(self):
        files = self.measure()[1]
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS / 4)
        early = self.measure()[0]
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
        waited = time.monotonic() + PATIENCE
        while (self.server.health()["busy"], self.server.health()["waiting"]) != (0, 0) or self.measure()[1] > files:
            assert time.monotonic() < waited, (self.server.health(), self.measure(), files)
            time.sleep(0.1)
        late = self.measure()[0]
        print(f"{dict(self.counts)}; {early} KiB of memory after a quarter of the time, {late} at the end")
        assert late - early < GROWTH, (early, late)
        for kind in ("whole", "stream", "left", "left early", "wrong", "half"):
            assert self.counts[kind] > 0, kind


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else folder + "/small.gguf")
        if len(sys.argv) <= 4:
            make_model(path, context=256)
        server = Server(PROGRAM, path, "--context", 256, "--slots", 4, "--queue", CLIENTS // 2)
        Load(server).run()
        code, errors = server.close()
        assert (code, errors) == (0, ""), (code, errors)


if __name__ == "__main__":
    main()
