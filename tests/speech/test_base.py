#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares webnn-run transcribe for Whisper base and a spoken sentence with ONNX Runtime. test_base.py WEBNN_RUN SAMPLES"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import whisper_base
import whisper_onnx
import whisper_runtime

PROGRAM, SPEECH = sys.argv[1], pathlib.Path(sys.argv[2]) / "speech"
TEXT = "The quick brown fox jumps over the lazy dog. It is a beautiful day today."
END, START, ENGLISH, TRANSCRIBE, PLAIN = 50257, 50258, 50259, 50359, 50363


@unittest.skipUnless(SPEECH.exists(), f"{SPEECH} was not fetched (scripts/fetch-samples.sh)")
class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "x.wav"
        # The library of speech stays out of this process.
        subprocess.run([sys.executable, "-B", pathlib.Path(__file__).with_name("speak.py"), SPEECH / "espeakng_loader", TEXT,
                        self.path], check=True)

    def result(self, *arguments):
        done = subprocess.run([PROGRAM, "transcribe", self.folder, self.path, "--json", "-", *arguments], check=True,
                              stdout=subprocess.PIPE, env={**os.environ, "WEBNN_DEVICE": "cpu"})
        return json.loads(done.stdout)

    def test_sentence(self):
        _, sizes = whisper_base.save(SPEECH, self.folder, merge=False)
        result = self.result()
        self.assertEqual(result["parts"][0]["language"], "en")
        for words in ("quick brown fox", "lazy dog", "It is a beautiful day today."):
            self.assertIn(words, result["text"])
        lists = json.loads((self.folder / "generation_config.json").read_text())
        never = np.arange(sizes.tokens) > END
        never[lists["suppress_tokens"]] = True
        never[END] = False
        first = never.copy()
        first[lists["begin_suppress_tokens"]] = True
        samples = np.frombuffer(self.path.read_bytes()[-2 * int(16000 * result["seconds"] + 0.5):], np.int16) / 32768
        mel = whisper_onnx.log_mel(samples, 80, 3000)
        same = whisper_runtime.run(self, self.folder, mel, [START, ENGLISH, TRANSCRIBE, PLAIN], never, first, END, 448)
        vocabulary = json.loads((self.folder / "tokenizer.json").read_text())["model"]["vocab"]
        texts = {number: text for text, number in vocabulary.items()}
        self.assertEqual("".join(texts[token] for token in same["tokens"]).replace("Ġ", " ").strip(), result["text"])
        self.assertEqual(len(same["tokens"]), result["tokens"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
