#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run generate: small models against a reference in numpy, and SmolLM2 where it was fetched.
test_generate.py WEBNN_RUN GGUF_READ SAMPLES GGUF_LOGITS
"""
import codecs
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import small_model
from test_model import reference

PROGRAM, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[3])
SMOLLM2 = SAMPLES / "smollm2.gguf"
CHATML = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system"
          "\nBe brief.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
          "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def random_numbers(seed):
    """Yields the numbers of the generator SplitMix64, scaled to 0 to 1."""
    bits = 2 ** 64 - 1
    while True:
        seed = seed + 0x9e3779b97f4a7c15 & bits
        x = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9 & bits
        x = (x ^ x >> 27) * 0x94d049bb133111eb & bits
        yield ((x ^ x >> 31) >> 11) / 2 ** 53


def softmax(x):
    x = np.exp(x - x.max())
    return x / x.sum()


def choose(logits, number, temperature, top_k=40, top_p=0.95, min_p=0.05):
    order = np.argsort(-logits, kind="stable")[:top_k or None]
    chances = softmax(logits[order])
    order = order[:int((chances.cumsum() < top_p).sum()) + 1]
    chances = softmax(logits[order])
    order = order[chances >= min_p * chances[0]]
    chances = softmax(logits[order] / temperature)
    return int(order[min(int((chances.cumsum() <= number).sum()), len(order) - 1)])


class Generate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.gguf"

    def model(self, change=None, **options):
        file, self.words, self.weights = small_model.small(small_model.pair_tokenizer, "gpt-2", **options)
        if change:
            change(file)
        file.save(self.path)

    def run_tool(self, *arguments, status=0, data=None, device="cpu", path=None):
        done = subprocess.run([PROGRAM, "generate", path or self.path, *map(str, arguments)], input=data,
                              capture_output=True, check=False, env={**os.environ, "WEBNN_DEVICE": device})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def result(self, *arguments, **options):
        return json.loads(self.run_tool(*arguments, "--json", "-", **options).stdout)

    def bytes_of(self, tokens):
        known = {c: i for i, c in enumerate(small_model.CHARACTERS)}
        return b"".join(bytes(known[c] for c in self.words[t]) for t in tokens if t < len(self.words) - 4)

    def expect(self, prompt, count, choice):
        """Returns the @count tokens that the reference generates after the prompt; `choice` picks a
        token from the logits."""
        tokens = list(prompt)
        while len(tokens) < len(prompt) + count:
            tokens.append(choice(reference(self.weights, tokens)[-1]))
        return tokens[len(prompt):]

    def test_greedy(self):
        self.model()
        prompt = self.result("-p", "the end", "-n", 1)["prompt_tokens"]
        self.assertEqual([self.words[t] for t in prompt], ["the", "Ġ", "en", "d"])
        want = self.expect(prompt, 8, np.argmax)
        for device, count in (("cpu", 8), ("sim", 3)):
            done = self.run_tool("--prompt", "the end", "--temperature", 0, "-n", count, device=device)
            self.assertEqual(done.stdout, self.bytes_of(want[:count]) + b"\n")
            self.assertIn("prompt of 4 tokens, ", done.stderr.decode())
            self.assertEqual(device == "sim", "cycles of the NPU each" in done.stderr.decode())
        # The prompt comes from standard input.
        done = self.run_tool("--temperature", 0, "-n", 8, data=b"the end")
        self.assertEqual(done.stdout, self.bytes_of(want) + b"\n")

    def test_path(self):
        """Tests that --json has a name of a file that is not UTF-8, with "?" for the other bytes."""
        self.model()
        path = self.path.rename(self.folder / "mod\udce8le.gguf")
        self.assertEqual(self.result("-p", "the end", "-n", 1, path=path)["model"], f"{self.folder}/mod?le.gguf")
        info = subprocess.run([PROGRAM, "info", path, "--json", "-"], capture_output=True, check=True)
        self.assertEqual(json.loads(info.stdout)["model"], f"{self.folder}/mod?le.gguf")

    def test_caches(self):
        """Tests that a token on the NPU writes its own rows of the caches, and reads each cache
        once.
        """
        self.model()
        caches = {}
        for length in (32, 64):
            result = self.result("-p", "a", "--temperature", 0, "-n", length - 1, device="sim")
            self.assertEqual(result["tokens"], length - 1)
            caches[length] = result
        # Each of 2 layers reads caches of keys and values with 2 heads of 16 numbers, and the mask.
        grown = (64 - 32) * 4 * 2 * (2 * 2 * 16 + 1)
        self.assertEqual(caches[64]["bytes_written_per_token"], caches[32]["bytes_written_per_token"])
        self.assertEqual(caches[64]["bytes_read_per_token"] - caches[32]["bytes_read_per_token"], grown)

    def test_choices_of_one(self):
        self.model()
        want = self.run_tool("-p", "a", "--temperature", 0, "-n", 5).stdout
        for options in (("--top-k", 1), ("--top-p", 0), ("--min-p", 1)):
            self.assertEqual(self.run_tool("-p", "a", "--temperature", 3, "-n", 5, *options).stdout, want)

    def test_sampling(self):
        self.model()
        seen = set()
        for seed, options in ((1, {}), (2, {}), (3, {"top_k": 3}), (4, {"top_p": 0.5, "top_k": 0}),
                              (5, {"min_p": 0.5, "top_p": 1.0})):
            given = [text for name, value in options.items() for text in ("--" + name.replace("_", "-"), value)]
            done = self.run_tool("-p", "a 1", "-n", 6, "--seed", seed, "--temperature", 1.5, *given)
            numbers = random_numbers(seed)
            prompt = [self.words.index(t) for t in ("a", "Ġ1")]
            want = self.expect(prompt, 6, lambda logits: choose(logits, next(numbers), 1.5, **options))
            self.assertEqual(done.stdout, self.bytes_of(want) + b"\n")
            seen.add(done.stdout)
        self.assertEqual(len(seen), 5)

    def test_options_of_the_file(self):
        self.model(lambda file: file.add("general.sampling.temp", 0.0))
        # The temperature of the file is 0: no seed is needed.
        first, second = (self.run_tool("-p", "a", "-n", 5) for _ in range(2))
        self.assertEqual(first.stdout, second.stdout)
        self.assertNotIn(b"--seed", first.stderr)
        self.assertIn(b"--seed", self.run_tool("-p", "a", "-n", 2, "--temperature", 1).stderr)

    def test_bytes(self):
        """Tests that JSON has all characters of an answer of which some bytes are not UTF-8."""
        self.model(merges=[f"{small_model.CHARACTERS[first]} {small_model.CHARACTERS[second]}"
                           for first in range(0xc3, 0xc7) for second in range(0x80, 0xc0)])
        options = ("-p", "a", "--temperature", 100, "--top-k", 0, "--top-p", 1, "--min-p", 0, "--seed", 1, "-n", 40)
        answer = self.run_tool(*options).stdout[:-1]
        codecs.register_error("ask", lambda error: ("?" * (error.end - error.start), error.end))
        want = answer.decode(errors="ask")
        self.assertTrue(not want.isascii() and "?" in want, answer)
        self.assertEqual(self.result(*options)["text"], want)

    def test_full_disk(self):
        """Tests that generate stops at a token that cannot be written. The embedding of that token
        is NaN: computing with it would fail with another message.
        """
        self.model()
        best = int(np.argmax(reference(self.weights, [self.words.index("a")])[-1]))
        self.assertTrue(self.bytes_of([best]))

        def change(file):
            at = next(i for i, t in enumerate(file.tensors) if t[0] == "token_embd.weight")
            rows = self.weights["token_embd.weight"].copy()
            rows[best] = np.nan
            file.tensors[at] = (*file.tensors[at][:3], rows.tobytes())
        self.model(change)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "generate", self.path, "-p", "a", "--temperature", "0"], stdout=full,
                                  stderr=subprocess.PIPE, check=False, env={**os.environ, "WEBNN_DEVICE": "cpu"})
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (3, "webnn-run: standard output: cannot be written: No space left on device\n"))

    def test_ends(self):
        self.model()
        whole = self.result("-p", "a", "--temperature", 0, "-n", 6)
        self.assertEqual((whole["end"], whole["tokens"], whole["length"]), ("length", 6, 7))
        text = self.run_tool("-p", "a", "--temperature", 0, "-n", 6).stdout[:-1]
        stop = next(chr(c) for c in text[1:] if c < 128)
        stopped = self.run_tool("-p", "a", "--temperature", 0, "-n", 6, "--stop", "never", "--stop", stop)
        self.assertEqual(stopped.stdout, text[:text.index(stop.encode())] + b"\n")
        self.assertEqual(self.result("-p", "a", "--temperature", 0, "-n", 6, "--stop", stop)["end"], "stop")

    def test_stop_of_two_tokens(self):
        """Tests that the end of a token is kept back until the next token comes if a stop text may
        begin there.
        """
        self.model()
        prompt = [self.words.index("a")]
        pieces = [self.bytes_of([token]) for token in self.expect(prompt, 8, np.argmax)]
        first, second = next((i, j) for i, j in zip(range(1, 8), range(2, 8))
                             if pieces[i] and pieces[j] and 0 not in (pieces[i][-1], pieces[j][0]))
        stop = pieces[first][-1:] + pieces[second][:1]
        text = b"".join(pieces)
        done = self.run_tool("-p", "a", "--temperature", 0, "-n", 8, "--stop", os.fsdecode(stop))
        self.assertEqual(done.stdout, text[:text.index(stop)] + b"\n")

    def test_end_token(self):
        self.model()
        prompt = [self.words.index("a")]
        best = int(np.argmax(reference(self.weights, prompt)[-1]))

        def change(file):
            """Gives the end token twice the largest logit."""
            at = next(i for i, t in enumerate(file.tensors) if t[0] == "output.weight")
            rows = self.weights["output.weight"].copy()
            rows[self.words.index("<|endoftext|>")] = 2 * rows[best]
            file.tensors[at] = (*file.tensors[at][:3], rows.tobytes())
        self.model(change)
        result = self.result("-p", "a", "--temperature", 0, "-n", 6)
        self.assertEqual((result["end"], result["tokens"], result["text"]), ("end", 0, ""))

    def chat(self, template):
        self.model(template=template, context=256)
        return "".join(self.words[t] for t in self.result("--chat", "-p", "aa", "-n", 1)["prompt_tokens"])

    def test_chat(self):
        want = "<|im_start|>userĊaa<|im_end|>Ċ<|im_start|>assistantĊ"
        self.assertEqual(self.chat("<|im_start|>"), want)
        for template in (CHATML, CHATML.replace("\n", "\\n")):
            self.assertEqual(self.chat(template), "<|im_start|>systemĊBeĠbrief.<|im_end|>Ċ" + want)
        self.assertEqual(self.chat("[INST] <<SYS>>"), "[INST]ĠaaĠ[/INST]")
        self.assertEqual(self.chat("<|start_header_id|> <|eot_id|>"),
                         "<|start_header_id|>user<|end_header_id|>ĊĊaa<|eot_id|><|start_header_id|>assistant"
                         "<|end_header_id|>ĊĊ")

    def refuses(self, status, message, *arguments, data=None):
        done = self.run_tool(*arguments, status=status, data=data)
        self.assertIn(message, done.stderr.decode())
        self.assertEqual(done.stdout, b"")

    def test_refusals(self):
        self.model(template="something else")
        self.refuses(2, "its template for conversations is unknown (known are ChatML, and those of Llama 2 and 3): use "
                     "--raw", "--chat", "-p", "a")
        self.model(template="<|im_start|>" + "x" * 2 ** 18)
        self.refuses(2, "its template for conversations has 262156 bytes; 262144 are the most", "--chat", "-p", "a")
        self.model()
        self.refuses(2, "it has no template for conversations: use --raw", "--chat", "-p", "a")
        for name in ("temp", "top_p", "min_p"):
            for number in (np.nan, np.inf):
                self.model(lambda file, name=name, number=number: file.add(f"general.sampling.{name}", float(number)))
                self.refuses(2, f"key general.sampling.{name} is infinite or no number", "-p", "a")
        self.model()
        self.refuses(3, "prompt: the text is not UTF-8 at byte 1", data=b"a\xff")
        self.refuses(3, "the prompt is empty, and the model has no token to begin with", "-p", "")
        self.refuses(3, "the prompt has 70 tokens, which leaves no room for an answer: at most 64 are possible "
                     "together; shorten it, as the model takes no more", "-p", "b" * 70)
        self.refuses(3, "the prompt has 4 tokens, which leaves no room for an answer: at most 3 are possible "
                     "together; shorten it, or give a larger --context", "-p", "bbbb", "--context", 3)
        self.refuses(64, "--top-p takes a number from 0 to 1, not '2'", "--top-p", 2)
        # JSON has integers of 64 bits with a sign.
        self.assertEqual(self.result("-p", "a", "-n", 1, "--seed", 2 ** 63 - 1)["seed"], 2 ** 63 - 1)
        self.refuses(64, "--seed", "-p", "a", "-n", 1, "--seed", 2 ** 63)
        self.refuses(64, "--temperature takes a number from 0 on, not '-1'", "--temperature=-1")
        self.refuses(64, "--stop takes a text that is not empty", "--stop", "")
        self.path.write_bytes(b"no model")
        self.refuses(2, f"{self.path}: it is no file of GGUF", "-p", "a")
        self.path.unlink()
        self.refuses(2, f"{self.path}: No such file or directory", "-p", "a")

    def test_context(self):
        self.model()
        result = self.result("-p", "bbbb", "--context", 6, "--temperature", 0)
        self.assertEqual((result["tokens"], result["end"]), (2, "length"))

    def test_numbers(self):
        def change(file):
            at = next(i for i, t in enumerate(file.tensors) if t[0] == "output_norm.weight")
            file.tensors[at] = (*file.tensors[at][:3], np.full(64, np.nan, np.float32).tobytes())
        self.model(change)
        self.refuses(4, f"{self.path}: the model's score for entry 0 of its vocabulary is infinite or no number", "-p", "a")

    def test_smollm2(self):
        if not SMOLLM2.exists():
            self.skipTest(f"{SMOLLM2} was not fetched (scripts/fetch-samples.sh)")
        done = self.run_tool("--prompt", "The capital of France is", "--temperature", 0, "-n", 3, path=SMOLLM2)
        self.assertTrue(done.stdout.startswith(b" Paris"), done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
