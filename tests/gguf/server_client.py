# SPDX-License-Identifier: MIT
"""Starts webnn-run generate --server, and talks to it."""
import http.client
import json
import os
import re
import signal
import subprocess

# Seconds after which the client gives up waiting; any answer takes far less.
PATIENCE = 120


class Busy(Exception):
    """The server refused a request with status 503."""


class Server:
    def __init__(self, program, model, *options, device="cpu"):
        self.process = subprocess.Popen([program, "generate", model, "--server", "--port", "0", *map(str, options)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "WEBNN_DEVICE": device})
        self.line = self.process.stdout.readline().decode()
        found = re.search(r"http://(.*):(\d+)/v1", self.line)
        if not found:
            raise RuntimeError(self.process.communicate()[1].decode())
        self.host, self.port = found[1].strip("[]"), int(found[2])

    def close(self, number=signal.SIGTERM):
        """Ends the server; returns its exit code and its messages."""
        self.process.send_signal(number)
        errors = self.process.communicate(timeout=PATIENCE)[1].decode()
        return self.process.returncode, errors

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def ask(self, path, body=None, method=None, headers=None):
        """Sends a request, a GET without a body. Returns the status, and the body as JSON."""
        connection = self.connect()
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body,
                               {"Content-Type": "application/json"} if headers is None else headers)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        return response.status, json.loads(data) if data else None

    def open_stream(self, path, body):
        """Begins a stream. Returns the connection and the response; raises Busy for status 503."""
        connection = self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status == 503:
            raise Busy
        if response.status != 200:
            raise RuntimeError(response.read())
        return connection, response

    def stream(self, path, body):
        """Returns all events of a stream."""
        connection, response = self.open_stream(path, body)
        events = list(read_events(response))
        connection.close()
        return events

    def health(self):
        status, body = self.ask("/health")
        assert status == 200, body
        return body


def read_events(response):
    """Yields the events of a stream as objects; the last event is the text [DONE], which is no
    JSON."""
    while line := response.readline():
        if line.strip():
            assert line.startswith(b"data: "), line
            data = line[6:].strip()
            yield data.decode() if data == b"[DONE]" else json.loads(data)


def text_of(answer):
    """Returns the text and the reason why it ended; `answer` is a whole answer or the list of the
    events of a stream."""
    if not isinstance(answer, list):
        choice = answer["choices"][0]
        return choice["message"]["content"] if "message" in choice else choice["text"], choice["finish_reason"]
    assert answer[-1] == "[DONE]", answer
    choices = [event["choices"][0] for event in answer[:-1] if event["choices"]]
    assert all(choice["finish_reason"] is None for choice in choices[:-1])
    return ("".join(choice["delta"].get("content", "") if "delta" in choice else choice["text"] for choice in choices),
            choices[-1]["finish_reason"])
