# SPDX-License-Identifier: MIT
"""Makes PNG and JPEG files whose pixels are known exactly, for the tests of webnn-run."""
import struct
import zlib


def png(rows, channels):
    """Returns a PNG file of rows of bytes: with 3 channels they are red, green and blue, with 1
    channel grey.
    """
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    head = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, 2 if channels == 3 else 0,
                       0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def jpeg(levels):
    """Returns a JPEG file of grey blocks of 8x8 pixels, given in rows. Each block has only a mean,
    so that its pixels are exact.
    """
    bits, before = "", 0
    for level in (level for row in levels for level in row):
        # With a divisor of 8, one step of the mean is one step of the pixels. The file has means
        # minus 128.
        difference, before = level - 128 - before, level - 128
        size = abs(difference).bit_length()
        bits += f"{size:04b}"
        if size:
            bits += f"{difference if difference > 0 else difference + 2 ** size - 1:0{size}b}"
        bits += "0"
    bits += "1" * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")

    def segment(kind, content):
        return bytes([0xff, kind]) + struct.pack(">H", len(content) + 2) + content

    # Codes of 4 bits for the sizes 0 to 11; one bit for the end of a block.
    frame = struct.pack(">BHHB", 8, 8 * len(levels), 8 * len(levels[0]), 1) + b"\x01\x11\0"
    return (b"\xff\xd8" + segment(0xdb, b"\0" + bytes([8] * 64)) + segment(0xc0, frame) +
            segment(0xc4, b"\x00" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) +
            segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + b"\0") +
            segment(0xda, b"\x01\x01\0\0\x3f\0") + data + b"\xff\xd9")
