#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that text becomes tokens and tokens become text: against tokens that were worked out by hand, and
against those of llama.cpp, where it was fetched. test_tokens.py WEBNN_RUN GGUF_READ SAMPLES
"""
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import unittest

import gguf_file
import llama_cpp
import small_model

READ, SAMPLES = sys.argv[2], pathlib.Path(sys.argv[3])
LLAMA = SAMPLES / "ggml/llama"
SMOLLM2 = SAMPLES / "smollm2.gguf"
WAYS = ("default", "gpt-2", "llama-bpe", "smollm", "qwen2")

TEXTS = ["", " ", "The capital of France is", "Hello,  world!\n\n  x = 1234567;\t\tif (a) {", "it's we'll I'M  ",
         "日本語 ünïcödé €100 ½ ٣٤", "<|im_start|>user\nHi<|im_end|>\n", "a" * 300 + " " * 50 + "\n \n",
         "😀👨\u200d👩\u200d👧 end", "\r\n\r\nx\u00a0y\u3000z", "e\u0301 क्षि", "USER [X] ab", "aabab \n abab"]


def texts(count):
    rng = random.Random(44)
    parts = ["the ", " ", "\n", "1", "22", "foo", "é", "日", "'s", "!?", "\t", "\u2028", "Ω", "_", "<|im_end|>", "😀",
             "ab", " a", "aa", "USER", "+", "end"]
    return TEXTS + ["".join(rng.choice(parts) for _ in range(60)) for _ in range(count)]


class Tokens(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "model.gguf"

    def run_tool(self, command, flags, data, path=None):
        return subprocess.run([READ, command, path or self.path, flags or "-"], input=data, capture_output=True,
                              check=False)

    def tokens(self, text, flags="", path=None):
        done = self.run_tool("tokens", flags, text.encode(), path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(line) for line in done.stdout.split()]

    def text(self, tokens, flags="s", path=None):
        done = self.run_tool("text", flags, "\n".join(map(str, tokens)).encode(), path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refuses(self, message, data=b"x"):
        done = self.run_tool("tokens", "", data)
        self.assertEqual((done.returncode, done.stderr.decode()), (2, message + "\n"))

    def pairs(self, pre="gpt-2", **options):
        file = gguf_file.File()
        tokens = small_model.pair_tokenizer(file, pre, **options)
        file.save(self.path)
        return tokens

    def expect(self, tokens, text, pieces, flags=""):
        self.assertEqual([tokens[i] for i in self.tokens(text, flags)], pieces)
        self.assertEqual(self.text(self.tokens(text, flags)), text.encode())

    def test_pairs(self):
        # The leftmost of equal pairs is merged first: "aaaaa" becomes aa, aa, a; then aa and aa
        # become aaaa.
        tokens = self.pairs()
        self.expect(tokens, "the then  aaaaa's", ["the", "Ġthe", "n", "Ġ", "Ġa", "aaaa", "'s"])
        self.expect(tokens, "é\n\n", ["Ã", "©", "ĊĊ"])

    def test_digits(self):
        for pre, pieces in (("gpt-2", ["123", "4"]), ("smollm", ["1", "2", "3", "4"]), ("qwen2", ["1", "2", "3", "4"]),
                            ("llama-bpe", ["123", "4"]), ("default", ["123", "4"])):
            self.expect(self.pairs(pre), "1234", pieces)
        # A digit keeps the space before it only where a pattern has both.
        self.expect(self.pairs("gpt-2"), " 1", ["Ġ1"])
        self.expect(self.pairs("smollm"), " 1", ["Ġ", "1"])

    def test_whole_words(self):
        # llama-bpe takes a whole word that is a token, although no merges lead to it; qwen2 does
        # not.
        for pre, pieces in (("llama-bpe", ["xyz"]), ("qwen2", ["x", "y", "z"])):
            self.expect(self.pairs(pre, merges=["q xyz", "xy z"]), "xyz", pieces)

    def test_special(self):
        tokens = self.pairs()
        self.expect(tokens, "a<|im_end|>\n", ["a", "<|im_end|>", "Ċ"], "s")
        self.expect(tokens, "a<|im_end|>", ["a", *"<|im_", "en", "d", *"|>"])
        self.expect(tokens, "aUSERa", ["a", "USER", "a"])
        end = tokens.index("<|im_end|>")
        self.assertEqual(self.text([end, tokens.index("a")], "-"), b"a")

    def special_names(self, names, kind):
        """Saves a tokenizer of the 256 bytes and of special tokens."""
        file = gguf_file.File()
        file.add("tokenizer.ggml.model", "gpt2")
        file.add("tokenizer.ggml.tokens", small_model.CHARACTERS + names)
        file.add("tokenizer.ggml.token_type", [small_model.NORMAL] * 256 + [kind] * len(names), "int32")
        file.add("tokenizer.ggml.merges", ["q q"])
        file.save(self.path)

    def test_many_special(self):
        """Tests a text in which special tokens come in the reverse of the order in which they are
        searched: the stack must not grow with their number.
        """
        count = 10000
        names = [f"<{i:04x}" for i in range(count)]
        self.special_names(names, small_model.CONTROL)
        stack = (1 << 19, 1 << 19)
        done = subprocess.run([READ, "tokens", self.path, "s"], input="".join(reversed(names)).encode(),
                              capture_output=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, stack))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([int(t) for t in done.stdout.split()], list(range(255 + count, 255, -1)))

    def test_part_of_character(self):
        """Tests that a token whose name is not UTF-8 is not searched in texts: the text around it
        would not be UTF-8, either.
        """
        smile = "😀".encode()
        for name in (smile[1:], smile[:1], b"\xff"):
            self.special_names([name], small_model.USER)
            self.assertEqual(self.tokens("a😀"), [ord("a"), *smile])

    def scores(self):
        file = gguf_file.File()
        tokens = small_model.score_tokenizer(file)
        file.save(self.path)
        return tokens

    def test_scores(self):
        tokens = self.scores()

        def found(text, flags=""):
            return [tokens[i] for i in self.tokens(text, flags)]

        # " aba": ba has the best score, then ▁a; and "ab" alone gives ab, then ▁ab.
        self.assertEqual(found("aba"), ["▁a", "ba"])
        self.assertEqual(found("ab"), ["▁ab"])
        self.assertEqual(found("ab", "e"), ["<s>", "▁ab"])
        self.assertEqual(found("é€"), ["▁", "é", "<0xE2>", "<0x82>", "<0xAC>"])
        self.assertEqual(found("[X]ab</s>ab", "s"), ["[X]", "▁ab", "</s>", "▁ab"])
        # A space is put before the text, and after each special token.
        self.assertEqual(self.text(self.tokens("ab é€\n[X] b")), " ab é€\n[X]  b".encode())

    def test_refusals(self):
        file = gguf_file.File()
        file.save(self.path)
        self.refuses("it has no tokenizer: there is no key tokenizer.ggml.model")
        file.add("tokenizer.ggml.model", "t5")
        file.save(self.path)
        self.refuses('tokenizer.ggml.model is "t5", which cannot be used; gpt2 and llama can')
        self.pairs("novel")
        self.refuses('tokenizer.ggml.pre is "novel", which is unknown; known are default, gpt-2, llama-bpe, smollm '
                     "and qwen2")
        self.pairs()
        self.refuses("the text is not UTF-8 at byte 1", b"x\x80")
        file = gguf_file.File()
        file.add("tokenizer.ggml.model", "gpt2")
        file.save(self.path)
        self.refuses("there is no key tokenizer.ggml.tokens")
        file.add("tokenizer.ggml.tokens", ["a"])
        file.save(self.path)
        self.refuses("there is no key tokenizer.ggml.merges")
        file.add("tokenizer.ggml.merges", ["a a"])
        file.save(self.path)
        self.refuses('the tokenizer has no token for "x", and no token for unknown text')
        file.add("tokenizer.ggml.scores", [1.0, 2.0])
        file.save(self.path)
        self.refuses("key tokenizer.ggml.scores must be an array of 1 items of type float32")

    def compare(self, path, count):
        if not LLAMA.exists():
            self.skipTest(f"{LLAMA} was not fetched (scripts/fetch-samples.sh)")
        llama = llama_cpp.Llama(LLAMA, path)
        for text in texts(count):
            for flags in ("", "es"):
                theirs = llama.tokens(text, "e" in flags, "s" in flags)
                self.assertEqual(self.tokens(text, flags, path), theirs, (text, flags))

    def test_llama_cpp(self):
        for pre in WAYS:
            with self.subTest(pre):
                small_model.small(small_model.pair_tokenizer, pre)[0].save(self.path)
                self.compare(self.path, 1)
        with self.subTest("llama"):
            small_model.small(small_model.score_tokenizer)[0].save(self.path)
            self.compare(self.path, 1)

    def test_smollm2(self):
        if not SMOLLM2.exists():
            self.skipTest(f"{SMOLLM2} was not fetched (scripts/fetch-samples.sh)")
        self.compare(SMOLLM2, 0)
        for text in TEXTS:
            tokens = self.tokens(text, "s", SMOLLM2)
            self.assertEqual(self.text(tokens, "s", SMOLLM2), text.encode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
