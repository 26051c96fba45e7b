#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the example voice, on a whole recording, with ONNX Runtime: test_voice.py PROGRAMS
SAMPLES.
"""
import struct
import wave

import numpy as np

from common import SHARED, ExampleTest, main, needs, on_devices, session

MODELS = [SHARED / "onnx" / f"silero_vad_{name}.onnx" for name in ("16k_op15", "op18_ifless")]
RECORDING = SHARED / "onnx/silero_test.wav"
RATE, CHUNK, CONTEXT = 16000, 512, 64


def probabilities(model, samples):
    """Returns the probability of speech in each chunk; the network's state goes from chunk to
    chunk.
    """
    runtime, state = session(model), np.zeros((2, 1, 128), np.float32)
    samples = np.concatenate([np.zeros(CONTEXT), samples, np.zeros(-len(samples) % CHUNK)]) / 32768
    result = []
    for at in range(0, len(samples) - CONTEXT, CHUNK):
        chunk = samples[None, at:at + CONTEXT + CHUNK].astype(np.float32)
        output, state = runtime.run(["output", "stateN"], {"input": chunk, "state": state,
                                                           "sr": np.array(RATE, np.int64)})
        result.append(float(output[0, 0]))
    return np.array(result)


def times(speech):
    """Returns the periods of speech as the example prints them, in seconds, by its rule for likely
    and unlikely chunks; `speech` has the probability of each chunk.
    """
    found, begin, quiet = [], None, 0
    for i, p in enumerate([*speech, *[0] * 8]):
        begin = i if begin is None and p >= 0.5 else begin
        quiet = quiet + 1 if p < 0.35 else 0
        if begin is not None and quiet == 8:
            found.append((begin, min(i - 7, len(speech))))
            begin = None
    return [f"{b * CHUNK / RATE:.2f} s to {e * CHUNK / RATE:.2f} s" for b, e in found if e - b >= 8]


class Voice(ExampleTest):
    @needs(*MODELS, RECORDING)
    def test_recording(self):
        with wave.open(str(RECORDING)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        for model in MODELS:
            expected = probabilities(model, samples)
            for device in "cpu", "sim":
                with self.subTest(f"{model.name} {device}"):
                    got = self.numbers("voice", "-d", device, "--probabilities", model, RECORDING)
                    self.near(got[:, 0], expected, 1e-4)
                    spoken = self.run_example("voice", "-d", device, model, RECORDING).splitlines()
                    self.assertEqual(spoken, times(expected))
                    self.assertGreater(len(spoken), 10)

    @needs(MODELS[0])
    @on_devices
    def test_end(self, device):
        """Tests that the last chunk is padded with silence."""
        random = np.random.default_rng(2)
        samples = random.integers(-9000, 9000, CHUNK * 20 + 77).astype(np.int16)
        path = self.folder / "noise.wav"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(samples.tobytes())
        got = self.numbers("voice", "-d", device, "-p", MODELS[0], path)
        expected = probabilities(MODELS[0], samples)
        self.assertLess(np.abs(got[:, 0] - expected).max(), 1e-4)

    def test_refusals(self):
        path = self.folder / "x.wav"
        path.write_bytes(b"no RIFF at all")
        self.refuses("this is no WAV file", "voice", "model", path)
        with wave.open(str(path), "wb") as file:
            file.setparams((2, 2, 44100, 0, "NONE", ""))
            file.writeframes(bytes(400))
        self.refuses("2 channels, 44100 Hz", "voice", "model", path)
        path.write_bytes(b"RIFF" + struct.pack("<I", 100) + b"WAVEfmt \x10\0\0\0\1\0")
        self.refuses("it is damaged", "voice", "model", path)
        path.write_bytes(b"RIFF" + struct.pack("<I", 4) + b"WAVE")
        self.refuses("there are no samples in it", "voice", "model", path)


if __name__ == "__main__":
    main()
