#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares spectrograms of WAV files with numpy, and tests files that are refused. test_wav.py SPEECH_MEL"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from wav_file import FLOAT, PCM, chunk, format_of, riff, wav
from whisper_onnx import log_mel, mel_bands

PROGRAM = sys.argv[1]


def signal(count=20000, seed=1):
    """Returns tones and noise with pauses, so that some energies are cut off at the least level."""
    rng = np.random.default_rng(seed)
    at = np.arange(count) / 16000
    tones = sum(np.sin(2 * np.pi * f * at + f) for f in (97, 440, 1234.5, 3900, 7000)) / 8
    return (tones + rng.standard_normal(count) * 0.01) * (np.sin(2 * np.pi * 1.5 * at) > -0.3)


class Wav(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.wav"

    def run_tool(self, data, bands=80, frames=200, status=0):
        self.path.write_bytes(data)
        out = self.path.with_suffix(".bin")
        done = subprocess.run([PROGRAM, self.path, str(bands), str(frames), out], capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return np.fromfile(out, np.float32).reshape(bands, frames) if not status else done.stderr.decode()

    def compare(self, data, samples, bands=80, frames=200):
        got, want = self.run_tool(data, bands, frames), log_mel(samples, bands, frames)
        self.assertLess(np.abs(got - want).max(), 2e-4)
        self.assertGreater(np.ptp(want), 1)

    def test_spectrogram(self):
        x = np.round(signal() * 32768) / 32768
        for bands, frames in ((80, 200), (128, 200), (80, 125), (80, 90), (1, 2)):
            with self.subTest(bands=bands, frames=frames):
                if frames > 2:
                    self.compare(wav(x), x, bands, frames)
                else:
                    self.run_tool(wav(x), bands, frames)

    def test_silence(self):
        got = self.run_tool(wav(np.zeros(100)), 80, 50)
        self.assertTrue(np.all(got == np.float32(-1.5)))

    def test_bands(self):
        """Tests the table of numpy itself by numbers of the file mel_filters.npz of Whisper."""
        bands = mel_bands(80)
        self.assertAlmostEqual(bands[0, 1], 0.02486259, 7)
        self.assertAlmostEqual(bands[1, 1], 0.00199082, 7)
        self.assertAlmostEqual(bands[1, 2], 0.02287177, 7)
        self.assertAlmostEqual(bands.sum(1)[-1] * 40, 1, 2)

    def test_forms(self):
        x = signal()
        for bits, encoding in ((8, PCM), (16, PCM), (24, PCM), (32, PCM), (32, FLOAT), (64, FLOAT)):
            for extensible in (False, True):
                with self.subTest(bits=bits, encoding=encoding, extensible=extensible):
                    steps = 2.0 ** (min(bits, 32) - 1)
                    y = x if encoding == FLOAT else np.clip(np.round(x * steps), -steps, steps - 1) / steps
                    self.compare(wav(x, bits=bits, encoding=encoding, extensible=extensible), y)

    def test_unscaled(self):
        """Tests floats that have the values of integers of 32 bits."""
        x = np.round(signal() * 2.0 ** 24) * 2.0 ** 7
        self.compare(wav(x, bits=32, encoding=FLOAT), x)

    def test_channels(self):
        x, y = (np.round(signal(seed=s) * 32768) / 32768 for s in (1, 2))
        self.compare(wav(np.stack([x, y], 1).ravel(), channels=2), (x + y) / 2)

    def test_pipe(self):
        """Tests sizes that programs write when they do not know how long a recording gets, and standard input."""
        x = np.round(signal() * 32768) / 32768
        for size in (0xffffffff, 0x7ffff000):
            self.compare(wav(x, size=size), x)
        self.path.write_bytes(wav(x))
        out = self.path.with_suffix(".bin")
        with open(self.path, "rb") as file:
            subprocess.run([PROGRAM, "-", "80", "200", out], stdin=file, check=True)
        self.assertLess(np.abs(np.fromfile(out, np.float32).reshape(80, 200) - log_mel(x, 80, 200)).max(), 2e-4)

    def refuses(self, data, message):
        name = str(self.path)
        self.assertEqual(self.run_tool(data, status=3), f"webnn-run: {name}: {message}\n")

    def test_refusals(self):
        x = np.zeros(8)
        make = "ffmpeg -i FILE -ar 16000 -ac 1 recording.wav"
        again = "copy it again, or record it again"
        no_wav = f"this is not a WAV file, which begins with RIFF and WAVE; convert it: {make}"
        for data in (b"", b"RIFF", b"RIFX" + wav(x)[4:], b"ID3" + bytes(100)):
            self.refuses(data, no_wav)
        for rate in (8000, 44100, 0):
            self.refuses(wav(x, rate=rate),
                         f"the recording has {rate} samples a second, but the model takes 16000; convert it: {make}")
        for bits, encoding in ((12, PCM), (16, FLOAT), (4, 2), (8, 7), (0, 0x55)):
            self.refuses(riff(format_of(bits=bits, encoding=encoding), chunk(b"data", bytes(64))),
                         f"the recording's samples have {bits} bits in the encoding {encoding}; allowed are integers "
                         "(encoding 1) of 8, 16, 24 or 32 bits and floats (encoding 3) of 32 or 64 bits; "
                         f"convert it: {make}")
        self.refuses(riff(chunk(b"fmt ", bytes(14)), chunk(b"data", bytes(64))),
                     "the WAV file is damaged: its chunk \"fmt \" has 14 bytes, but needs at least 16; " + again)
        no_data = "the WAV file is damaged: it has no chunk \"data\", which holds the samples; " + again
        self.refuses(riff(format_of()), no_data)
        self.refuses(riff(chunk(b"JUNK", bytes(9), 1 << 30), chunk(b"data", bytes(64))), no_data)
        no_channels = "the WAV file is damaged: no chunk \"fmt \" before the samples gives the number of channels; " + again
        self.refuses(riff(chunk(b"data", bytes(64))), no_channels)
        self.refuses(riff(format_of(channels=0), chunk(b"data", bytes(64))), no_channels)
        for data, has, takes in ((wav([]), 0, 2), (riff(format_of(channels=2), chunk(b"data", bytes(2))), 2, 4)):
            self.refuses(data, f"by its chunk \"data\", the recording has {has} bytes of samples, but one sample of all "
                               f"channels takes {takes}; if the file is larger, mend it: ffmpeg -i FILE recording.wav, "
                               "else record it again")
        self.refuses(wav(x)[:-4], "the recording is cut off after 12 of 16 bytes of samples; " + again)
        no_sound = ("of the recording is not a number, or far outside of -1 to 1, the range of sound; record it again "
                    "with another program")
        self.refuses(wav([0, np.nan, 0], bits=32, encoding=FLOAT), f"sample 1 {no_sound}")
        for loud in (1e300, -1e300, np.inf, 5e9):
            self.refuses(wav([loud], bits=64, encoding=FLOAT), f"sample 0 {no_sound}")

    def test_large(self):
        """Tests that only the beginning of a file is read when it is not a WAV file."""
        with subprocess.Popen([PROGRAM, "-", "2", "2", self.path], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
            with self.assertRaises(BrokenPipeError):
                tool.stdin.write(bytes(1 << 26))
            self.assertIn(b"standard input: this is not a WAV file", tool.stderr.read())

    def test_damage(self):
        """Tests that no damaged file ends the program in another way than with a message."""
        rng = np.random.default_rng(1)
        whole = wav(signal(40), extensible=True)
        for i in range(150):
            data = bytearray(whole[:rng.integers(len(whole))] if i % 2 else whole)
            for at in rng.integers(max(1, min(len(data), 80)), size=4) if data else ():
                data[at] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
            self.path.write_bytes(data)
            done = subprocess.run([PROGRAM, self.path, "2", "2", self.path.with_suffix(".bin")], capture_output=True,
                                  check=False)
            self.assertIn(done.returncode, (0, 3), (bytes(data), done))
            self.assertEqual(done.returncode == 3, done.stderr.startswith(b"webnn-run: "))

    def test_absent(self):
        done = subprocess.run([PROGRAM, self.path, "2", "2", "x"], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (3, f"webnn-run: {self.path}: cannot be read: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
