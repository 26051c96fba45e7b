# SPDX-License-Identifier: MIT
"""Writes WAV files in all their forms."""
import struct

import numpy as np

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xfffe


def chunk(name, data, size=None):
    return name + struct.pack("<I", len(data) if size is None else size) + data + b"\0" * (len(data) & 1)


def samples_of(signal, bits=16, encoding=PCM):
    """Returns the bytes of samples from -1 to 1."""
    signal = np.asarray(signal, np.float64)
    if encoding == FLOAT:
        return signal.astype(f"<f{bits // 8}").tobytes()
    whole = np.clip(np.round(signal * 2.0 ** (bits - 1)), -2.0 ** (bits - 1), 2.0 ** (bits - 1) - 1).astype(np.int64)
    if bits == 8:
        return (whole + 128).astype(np.uint8).tobytes()
    return whole.astype("<i8").reshape(-1, 1).view(np.uint8)[:, :bits // 8].tobytes()


def format_of(channels=1, rate=16000, bits=16, encoding=PCM, extensible=False):
    width = channels * bits // 8
    head = struct.pack("<HHIIHH", EXTENSIBLE if extensible else encoding, channels, rate, rate * width, width, bits)
    if extensible:
        head += struct.pack("<HHIH", 22, bits, 0, encoding) + b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"
    return chunk(b"fmt ", head)


def riff(*chunks):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(signal, channels=1, rate=16000, bits=16, encoding=PCM, extensible=False, size=None):
    """Returns a WAV file of @signal, whose channels alternate. @size: what the data chunk says of its size."""
    data = samples_of(signal, bits, encoding)
    return riff(format_of(channels, rate, bits, encoding, extensible), chunk(b"LIST", b"odd"), chunk(b"data", data, size))
