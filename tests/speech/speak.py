#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speaks a text into a WAV file of 16,000 samples a second with espeak-ng, as PyPI's package espeakng-loader has it.
speak.py FOLDER-OF-THE-PACKAGE TEXT FILE.wav"""
import ctypes
import pathlib
import sys

import numpy as np

from wav_file import wav

RATE = 16000
# Numbers of speak_lib.h: samples are handed over by calls, texts are UTF-8.
AUDIO_OUTPUT_SYNCHRONOUS, UTF8 = 2, 1


def speak(package, text):
    """Returns samples from -1 to 1."""
    library = ctypes.CDLL(next(package.rglob("libespeak-ng.so*")))
    rate = library.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, str(package).encode(), 0)
    data = bytearray()

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    def take(samples, count, _events):
        if samples:
            data.extend(ctypes.string_at(samples, 2 * count))
        return 0

    library.espeak_SetSynthCallback(take)
    library.espeak_SetVoiceByName(b"en-us")
    text = text.encode()
    library.espeak_Synth(text, ctypes.c_size_t(len(text) + 1), 0, 0, 0, UTF8, None, None)
    library.espeak_Synchronize()
    samples = np.frombuffer(bytes(data), np.int16) / 32768
    return np.interp(np.arange(len(samples) * RATE // rate) * (rate / RATE), np.arange(len(samples)), samples)


if __name__ == "__main__":
    pathlib.Path(sys.argv[3]).write_bytes(wav(speak(pathlib.Path(sys.argv[1]), sys.argv[2])))
