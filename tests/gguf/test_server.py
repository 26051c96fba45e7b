#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run generate --server with small models. test_server.py WEBNN_RUN"""
import concurrent.futures
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import small_model
from server_client import PATIENCE, Server, read_events, text_of

PROGRAM = sys.argv[1]
STOPPED = "the server is being stopped, so it does not complete this request: send it again when the server runs"
TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
# These options make all tokens about equally likely. By default few tokens can be chosen, and each
# of those is a whole character.
EVEN = {"temperature": 100, "top_k": 0, "top_p": 1, "min_p": 0}


def make_model(path, context=64):
    """Saves a model that ends no text by itself: with temperature 0 its special tokens are never
    the likeliest. Returns the texts of its tokens.
    """
    merges = [f"{small_model.CHARACTERS[first]} {small_model.CHARACTERS[second]}"
              for first in range(0xc3, 0xc7) for second in range(0x80, 0xc0)]
    file, words, weights = small_model.small(small_model.pair_tokenizer, "gpt-2", template="<|im_start|>",
                                             context=context, merges=small_model.MERGES + merges)
    at = next(i for i, t in enumerate(file.tensors) if t[0] == "output.weight")
    rows = weights["output.weight"].copy()
    rows[-4:] = 0
    file.tensors[at] = (*file.tensors[at][:3], rows.tobytes())
    file.save(path)
    return words


def make_numbers(path, **options):
    """Saves a model in which the embedding of the token b is NaN; returns the texts of its tokens.
    """
    file, words, weights = small_model.small(small_model.pair_tokenizer, "gpt-2", **options)
    at = next(i for i, t in enumerate(file.tensors) if t[0] == "token_embd.weight")
    rows = weights["token_embd.weight"].copy()
    rows[words.index("b")] = np.nan
    file.tensors[at] = (*file.tensors[at][:3], rows.tobytes())
    file.save(path)
    return words


def given(options):
    return [str(text) for name, value in options.items() for text in ("--" + name.replace("_", "-"), value)]


class ServerTest(unittest.TestCase):
    context, options = 64, ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name) / "small.gguf"
        cls.words = make_model(cls.path, cls.context)

    def start(self, *options, device="cpu"):
        server = Server(PROGRAM, self.path, "--context", self.context, *options, device=device)

        def close():
            if server.process.returncode is None:
                self.assertEqual(server.close()[0], 0)
        self.addCleanup(close)
        return server

    def generate(self, *options, device="cpu"):
        """Returns the JSON of webnn-run generate, for graphs of the same context length as those of
        the server."""
        done = subprocess.run([PROGRAM, "generate", self.path, "--context", str(self.context), "--json", "-", "-d",
                               device, *map(str, options)], capture_output=True, check=True)
        return json.loads(done.stdout)

    def await_health(self, server, **wanted):
        end = time.monotonic() + PATIENCE
        while wanted != {name: server.health()[name] for name in wanted}:
            self.assertLess(time.monotonic(), end, server.health())
            time.sleep(0.01)


class Answers(ServerTest):
    def test_equals_generate(self):
        server = self.start("--slots", 2)
        for prompt, options in (("the end", {"temperature": 0}), ("a 1", {"seed": 5}), ("aaa", {"seed": 2, "top_k": 3}),
                                ("b" * 40, {"seed": 7, "top_p": 0.5, "temperature": 1.5}),
                                ("aa", {"seed": 9, "min_p": 0.5}), ("é", {**EVEN, "seed": 1})):
            for count in (1, 20) if prompt == "the end" else (20,):
                want = self.generate("-p", prompt, "-n", count, *given(options))
                body = {"prompt": prompt, "max_tokens": count, **options}
                status, answer = server.ask(TEXT, body)
                self.assertEqual(status, 200, answer)
                end = "length" if want["end"] == "length" else "stop"
                self.assertEqual(text_of(answer), (want["text"], end))
                usage = {"prompt_tokens": len(want["prompt_tokens"]), "completion_tokens": want["tokens"],
                         "total_tokens": len(want["prompt_tokens"]) + want["tokens"]}
                self.assertEqual(answer["usage"], usage)
                events = server.stream(TEXT, {**body, "stream_options": {"include_usage": True}})
                self.assertEqual(text_of(events), (want["text"], end))
                self.assertEqual(events[-2]["usage"], usage)
                # A prompt may be a list of the numbers of its tokens, too.
                self.assertEqual(text_of(server.ask(TEXT, {**body, "prompt": want["prompt_tokens"]})[1]),
                                 (want["text"], end))

    def test_sim(self):
        want = self.generate("-p", "a", "-n", 3, "--seed", 4, device="sim")
        server = self.start(device="sim")
        answer = server.ask(TEXT, {"prompt": "a", "max_tokens": 3, "seed": 4})[1]
        self.assertEqual(text_of(answer)[0], want["text"])

    def test_characters(self):
        """Tests that no event of a stream has half of a character: each half would be a '?'."""
        server = self.start()
        body = {"prompt": "a", "max_tokens": 50, "seed": 1, **EVEN}
        whole = text_of(server.ask(TEXT, body)[1])[0]
        self.assertTrue(not whole.isascii() and "?" in whole, whole)
        self.assertEqual(text_of(server.stream(TEXT, body))[0], whole)

    def test_chat(self):
        server = self.start()
        want = self.generate("--chat", "-p", "aa", "-n", 8, "--seed", 3)
        messages = [{"role": "user", "content": "aa"}]
        body = {"messages": messages, "max_completion_tokens": 8, "seed": 3, "model": "any", "user": None, "n": 1}
        status, answer = server.ask(CHAT, body)
        self.assertEqual((status, *text_of(answer)), (200, want["text"], "length"))
        events = server.stream(CHAT, body)
        self.assertEqual(events[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual(text_of(events), (want["text"], "length"))
        parts = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "a"}]}]
        self.assertEqual(text_of(server.ask(CHAT, {**body, "messages": parts})[1])[0], want["text"])
        # The text of a conversation is that of its messages, each in the form of the template.
        turns = [("system", "b"), ("user", "a"), ("assistant", "c"), ("user", "d")]
        text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns)
        body["max_tokens"] = body.pop("max_completion_tokens")
        want = server.ask(TEXT, {"prompt": text + "<|im_start|>assistant\n", "max_tokens": 8, "seed": 3})
        got = server.ask(CHAT, {**body, "messages": [{"role": r, "content": c} for r, c in turns]})
        self.assertEqual(text_of(got[1])[0], text_of(want[1])[0])
        self.assertEqual(got[1]["usage"], want[1]["usage"])

    def test_stop(self):
        server = self.start()
        body = {"prompt": "a", "max_tokens": 30, "temperature": 0}
        text = text_of(server.ask(TEXT, body)[1])[0]
        # Two characters of an answer mostly come from two tokens, so that a stop text spans tokens.
        for stop in (text[4:6], text[7:9]):
            want = text[:text.index(stop)], "stop"
            for stops in (stop, ["never", stop]):
                self.assertEqual(text_of(server.ask(TEXT, {**body, "stop": stops})[1]), want)
                self.assertEqual(text_of(server.stream(TEXT, {**body, "stop": stops})), want)

    def test_defaults(self):
        """Tests that options of the command are the defaults of requests."""
        server = self.start("--seed", 3, "--temperature", 1.5, "-n", 5)
        want = text_of(server.ask(TEXT, {"prompt": "a", "max_tokens": 5, "seed": 3, "temperature": 1.5})[1])
        self.assertEqual(text_of(server.ask(TEXT, {"prompt": "a"})[1]), want)
        other = text_of(server.ask(TEXT, {"prompt": "a", "seed": 4})[1])
        self.assertNotEqual(other, want)

    def test_about(self):
        server = self.start("--slots", 3, "--queue", 7)
        status, models = server.ask("/v1/models")
        self.assertEqual((status, models["data"][0]["id"], models["data"][0]["context_length"]),
                         (200, "small.gguf", 64))
        self.assertEqual(server.health(), {"status": "ok", "slots": 3, "busy": 0, "queue": 7, "waiting": 0})
        self.assertEqual(server.ask("/health", method="HEAD"), (200, None))


class Clients(ServerTest):
    def test_many(self):
        """Tests that each of many clients gets its own answer, while others go away or send wrong
        requests.
        """
        server = self.start("--slots", 3, "--queue", 64)
        bodies = [{"prompt": "a" * (i % 5 + 1) + " 1" * (i % 3), "max_tokens": 10 + i, "seed": i, **EVEN}
                  for i in range(24)]
        want = [text_of(server.ask(TEXT, body)[1]) for body in bodies]
        self.assertEqual(len(set(want)), len(want))

        def client(i):
            kind = i % 4
            if kind == 0:
                return text_of(server.ask(TEXT, bodies[i])[1])
            if kind == 1:
                return text_of(server.stream(TEXT, bodies[i]))
            if kind == 2:
                connection, response = server.open_stream(TEXT, bodies[i])
                response.readline()
                connection.close()
                return text_of(server.stream(TEXT, bodies[i]))
            status, _ = server.ask(TEXT, b"{\"prompt\": \"a\", \"seed\": -1}")
            return text_of(server.ask(TEXT, bodies[i])[1]) if status == 400 else status
        for _ in range(3):
            with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
                self.assertEqual(list(pool.map(client, range(len(bodies)))), want)
        self.await_health(server, busy=0, waiting=0)

    def test_connection_stays(self):
        server = self.start()
        connection = server.connect()
        for seed in (1, 2, 1):
            body = {"prompt": "a", "max_tokens": 5, "seed": seed}
            connection.request("POST", TEXT, json.dumps(body), {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            self.assertEqual(text_of(answer), text_of(server.ask(TEXT, body)[1]))
        connection.close()

    def send(self, server, data, answered):
        with socket.create_connection((server.host, server.port), PATIENCE) as client:
            client.sendall(data)
            return client.recv(1 << 16) if answered else b""

    def test_no_http(self):
        """Tests that data which is no request, or half of one, does not disturb the server."""
        server = self.start()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        for data, answered in (
                (b"", False), (b"x", False), (b"\0" * 100, False), (head, False), (b"GET\r\n\r\n", True),
                (b"GET / HTTP/9\r\n\r\n", True), (b"A: " + b"x" * 100000, True),
                (head + b"Content-Length: 100\r\n\r\n{\"prompt\"", False), (head + b"Content-Length: -1\r\n\r\n", True),
                (head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", True),
                (head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", False)):
            try:
                self.assertNotIn(b" 200 ", self.send(server, data, answered))
            except ConnectionError:
                pass
        self.assertEqual(server.ask(TEXT, {"prompt": "a", "max_tokens": 1})[0], 200)
        self.await_health(server, busy=0, waiting=0)


class Long(ServerTest):
    """Answers of this model would take minutes."""
    context = 1 << 15

    def endless(self, server):
        connection, response = server.open_stream(TEXT, {"prompt": "a", "max_tokens": 1 << 20, "temperature": 0})
        self.assertEqual(next(read_events(response))["choices"][0]["finish_reason"], None)
        return connection, response

    def test_limits(self):
        server = self.start("--slots", 1, "--queue", 1)
        short = {"prompt": "a", "max_tokens": 1}
        running, _ = self.endless(server)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waits = pool.submit(server.ask, TEXT, short)
            self.await_health(server, busy=1, waiting=1)
            status, answer = server.ask(TEXT, short)
            self.assertEqual((status, answer["error"]["message"]),
                             (503, "the server has as many requests as --slots (1) and --queue (1) allow: try again later, or "
                                   "start the server with a larger --queue"))
            # When a client goes away, the next request takes its slot at once.
            running.close()
            self.assertEqual(waits.result()[0], 200)
        self.await_health(server, busy=0, waiting=0)

    def test_gone_while_waiting(self):
        server = self.start("--slots", 1, "--queue", 1)
        running, _ = self.endless(server)
        waits = server.connect()
        waits.request("POST", TEXT, b'{"prompt": "a"}', {"Content-Type": "application/json"})
        self.await_health(server, busy=1, waiting=1)
        waits.close()
        self.await_health(server, busy=1, waiting=0)
        running.close()
        self.await_health(server, busy=0)

    def test_turns(self):
        """Tests that a long answer does not hold up a short one."""
        server = self.start("--slots", 2)
        running, response = self.endless(server)
        self.assertEqual(server.ask(TEXT, {"prompt": "b" * 100, "max_tokens": 3})[0], 200)
        self.assertEqual(server.health()["busy"], 1)
        self.assertTrue(next(read_events(response)))
        running.close()

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = self.start("--slots", 1)
            running, response = self.endless(server)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                waits = pool.submit(server.ask, TEXT, {"prompt": "a"})
                self.await_health(server, waiting=1)
                self.assertEqual(server.close(number), (0, ""))
                status, answer = waits.result()
                self.assertEqual((status, answer["error"]["message"]), (503, STOPPED))
            *_, last = read_events(response)
            self.assertEqual(last["error"]["message"], STOPPED)
            running.close()


class Refusals(ServerTest):
    def test_requests(self):
        server = self.start()
        user = [{"role": "user", "content": "a"}]
        for path, body, field, message in (
                (TEXT, b"", None, "the body is no JSON: line 1, column 0: '[' or '{' expected near end of file"),
                (TEXT, b"{\"prompt\": \"\xff\"}", None, "the body is no JSON: line 1, column 12: unable to decode byte "
                                                       "0xff"),
                (TEXT, b"[" * 5000, None, "the body is no JSON: line 1, column 2049: maximum parsing depth reached"),
                (TEXT, [], None, "the body is an array; it has to be an object"),
                (TEXT, b'{"prompt": "a", "prompt": "b"}', None, "duplicate object key"),
                (TEXT, {}, "prompt", 'field "prompt" is missing: it has the text to go on with'),
                (CHAT, {}, "messages", 'field "messages" is missing: it has the conversation, an array of'),
                (TEXT, {"prompt": 1}, "prompt", 'field "prompt" is 1; it has to be a text, or an array of the numbers'),
                (TEXT, {"prompt": ["a", "b"]}, "prompt", 'field "prompt" is ["a","b"]; it has to be a text, or an'),
                (TEXT, {"prompt": [1, 10 ** 6]}, "prompt", 'field "prompt" has the token 1000000; the model has 0 to'),
                (TEXT, {"prompt": [-1]}, "prompt", 'field "prompt" is [-1]; it has to be a text'),
                (TEXT, {"prompt": ""}, "prompt", "the prompt is empty, and the model has no token to begin with"),
                (TEXT, {"prompt": "b" * 64}, "prompt", "the prompt has 64 tokens, which leaves no room for an answer: "
                                                       "at most 64 are possible together; shorten it, as the "
                                                       "model takes no more"),
                (TEXT, {"prompt": "a", "promt": 1}, "promt", 'field "promt" is unknown for a text; there are prompt, '),
                (TEXT, {"messages": user}, "messages", 'field "messages" is unknown for a text'),
                (CHAT, {"messages": user, "prompt": ""}, "prompt", 'field "prompt" is unknown in a conversation'),
                (TEXT, {"prompt": "a", "max_tokens": 0}, "max_tokens", "is 0; it has to be an integer from 1 to 2147"),
                (TEXT, {"prompt": "a", "max_tokens": 2.5}, "max_tokens", "is 2.5; it has to be an integer"),
                (TEXT, {"prompt": "a", "temperature": -1}, "temperature", "is -1; it has to be a number from 0 on"),
                (TEXT, {"prompt": "a", "temperature": "1"}, "temperature", 'is "1"; it has to be a number from 0 on'),
                (TEXT, {"prompt": "a", "top_p": 1.5}, "top_p", "is 1.5; it has to be a number from 0 to 1"),
                (TEXT, {"prompt": "a", "min_p": True}, "min_p", "is true; it has to be a number from 0 to 1"),
                (TEXT, {"prompt": "a", "top_k": -1}, "top_k", "is -1; it has to be an integer from 0"),
                (TEXT, {"prompt": "a", "seed": -1}, "seed", "is -1; it has to be an integer from 0 to 922"),
                (TEXT, {"prompt": "a", "seed": 2 ** 63}, None, "too big integer"),
                (TEXT, {"prompt": "a", "stop": ["a", ""]}, "stop", 'is ["a",""]; it has to be a text that is not'),
                (TEXT, {"prompt": "a", "stop": ["a"] * 17}, "stop", "up to 16 such texts"),
                (TEXT, {"prompt": "a", "stream": 1}, "stream", "is 1; it has to be true or false"),
                (TEXT, {"prompt": "a", "stream_options": 1}, "stream_options", 'has to be {"include_usage"'),
                (TEXT, {"prompt": "a", "model": 1}, "model", "is 1; it has to be a text"),
                (TEXT, {"prompt": "a", "n": 2}, "n", "is 2; it has to be 1 or left out: nothing else can be done"),
                (TEXT, {"prompt": "a", "echo": True}, "echo", "is true; it has to be false or left out"),
                (CHAT, {"messages": user, "tools": [1]}, "tools", "is [1]; it has to be [] or left out"),
                (CHAT, {"messages": []}, "messages", "is []; it has to be an array of at least one message"),
                (CHAT, {"messages": [1]}, "messages", 'has the message 1; each has to be {"role": "system", '),
                (CHAT, {"messages": [{"role": "x", "content": "a"}]}, "messages", 'each has to be {"role"'),
                (CHAT, {"messages": [{"role": "user"}]}, "messages", 'each has to be {"role"'),
                (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages",
                 'each part of a content has to be {"type": "text"')):
            with self.subTest(body=body):
                status, answer = server.ask(path, body)
                self.assertEqual((status, answer["error"]["param"], answer["error"]["type"]),
                                 (400, field, "invalid_request_error"), answer)
                self.assertIn(message, answer["error"]["message"])
        # A stream that is refused is no stream.
        self.assertEqual(server.ask(TEXT, {"prompt": "", "stream": True})[0], 400)

    def test_paths(self):
        server = self.start()
        for path, method, status in (("/", "GET", 404), ("/v1/embeddings", "POST", 404), (TEXT, "GET", 405),
                                     ("/health", "POST", 405), ("/v1/models", "DELETE", 405)):
            got, answer = server.ask(path, b"{}" if method == "POST" else None, method)
            self.assertEqual((got, answer["error"]["code"]), (status, status))
        status, answer = server.ask(TEXT, b"{}", headers={"Content-Type": "text/plain"})
        self.assertEqual((status, answer["error"]["message"]),
                         (415, "the request's header Content-Type is text/plain, but it must be application/json"))

    def test_size(self):
        server = self.start()
        fits = b'{"prompt": "a", "max_tokens": 1}'
        self.assertEqual(server.ask(TEXT, fits.ljust(1 << 20))[0], 200)
        status, answer = server.ask(TEXT, fits.ljust((1 << 20) + 1))
        self.assertEqual((status, answer["error"]["message"]), (413, "the body of the request has 1048577 bytes, but at most 1048576 are allowed: send "
                               "a shorter one"))
        with self.assertRaises(OSError):
            server.ask(TEXT, fits.ljust(40 << 20))
        self.assertEqual(server.ask(TEXT, fits)[0], 200)

    def test_no_template(self):
        path = pathlib.Path(self.folder.name) / "plain.gguf"
        small_model.small(small_model.pair_tokenizer, "gpt-2")[0].save(path)
        server = Server(PROGRAM, path)
        status, answer = server.ask(CHAT, {"messages": [{"role": "user", "content": "a"}]})
        self.assertEqual((status, answer["error"]["message"]),
                         (400, "the model: it has no template for conversations: use /v1/completions"))
        self.assertEqual(server.close(), (0, ""))

    def test_numbers(self):
        """Tests that an answer that cannot be computed does not reach later ones."""
        path = pathlib.Path(self.folder.name) / "nan.gguf"
        make_numbers(path)
        server = Server(PROGRAM, path, "--slots", 1)
        body = {"prompt": "a", "max_tokens": 3, "temperature": 0}
        want = server.ask(TEXT, body)
        status, answer = server.ask(TEXT, {**body, "prompt": "aab"})
        self.assertEqual((status, answer["error"]["type"]), (500, "server_error"))
        self.assertIn("is infinite or no number", answer["error"]["message"])
        *_, last = server.stream(TEXT, {**body, "prompt": "aab"})
        self.assertIn("is infinite or no number", last["error"]["message"])
        self.assertEqual(text_of(server.ask(TEXT, body)[1]), text_of(want[1]))
        self.assertEqual(server.close(), (0, ""))

    def test_numbers_of_the_gone(self):
        """Tests that the NaN of a prompt whose client goes away while the server reads the prompt
        does not reach later answers.
        """
        path = pathlib.Path(self.folder.name) / "nan.gguf"
        words = make_numbers(path, context=1 << 15)
        server = Server(PROGRAM, path, "--context", 1 << 15, "--slots", 1)
        body = {"prompt": "a", "max_tokens": 3, "temperature": 0}
        want = text_of(server.ask(TEXT, body)[1])
        a, b = words.index("a"), words.index("b")
        gone = server.connect()
        gone.request("POST", TEXT, json.dumps({**body, "prompt": [a] + [b] * 64 + [a] * 30000}),
                     {"Content-Type": "application/json"})
        self.await_health(server, busy=1)
        gone.close()
        self.await_health(server, busy=0)
        status, answer = server.ask(TEXT, body)
        self.assertEqual((status, text_of(answer) if status == 200 else answer), (200, want))
        self.assertEqual(server.close(), (0, ""))

    def refuses(self, status, message, *options):
        done = subprocess.run([PROGRAM, "generate", self.path, "-d", "cpu", *map(str, options)], capture_output=True,
                              check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done)
        self.assertIn(message, done.stderr.decode())

    def test_options(self):
        server = self.start()
        self.refuses(4, f"the server cannot listen on 127.0.0.1, port {server.port}: Address already in use; give another "
                     "--port", "--server", "--port", server.port)
        self.refuses(4, "the server cannot listen on 192.0.2.1, port 0: Cannot assign requested address; give with --host",
                     "--server", "--host", "192.0.2.1", "--port", 0)
        self.refuses(4, "--host 'a.example' is not an address: give one such as 127.0.0.1", "--server",
                     "--host", "a.example")
        self.refuses(64, "--prompt is not for --server: requests say what they want", "--server", "-p", "a")
        self.refuses(64, "--slots is for --server, which is not given", "--slots", 2)
        self.refuses(64, "--port", "--server", "--port", 65536)
        # Nothing but the loopback address is listened on.
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", server.port), PATIENCE)

    def test_all_addresses(self):
        server = Server(PROGRAM, self.path, "--host", "0.0.0.0")
        server.host = "127.0.0.2"
        self.assertEqual(server.health()["status"], "ok")
        self.assertEqual(server.close(), (0, "webnn-run: warning: everybody who reaches the address 0.0.0.0 can "
                                             "use the model, because the server has no password; --host 127.0.0.1 "
                                             "serves this machine alone\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
