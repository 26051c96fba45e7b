# SPDX-License-Identifier: MIT
"""Writes files of GGUF, from the format's description."""
import struct

# Kinds of values: the number in the file, and the format for struct.pack().
KINDS = {"uint8": (0, "B"), "int8": (1, "b"), "uint16": (2, "H"), "int16": (3, "h"), "uint32": (4, "I"),
         "int32": (5, "i"), "float32": (6, "f"), "bool": (7, "?"), "uint64": (10, "Q"), "int64": (11, "q"),
         "float64": (12, "d")}
STRING, ARRAY = 8, 9

# Types of tensors: the number in the file, then elements and bytes of a block.
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
         "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84),
         "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210),
         "IQ4_NL": (20, 32, 18), "IQ4_XS": (23, 256, 136), "I32": (26, 1, 4), "BF16": (30, 1, 2), "MXFP4": (39, 32, 17)}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


class File:
    def __init__(self, version=3):
        self.version, self.alignment = version, 32
        self.keys, self.tensors = [], []

    def add(self, name, value, kind="uint32"):
        """Adds a key. @value is a string, bytes, number or bool, or a list of them; @kind is the
        kind of numbers."""
        items = value if isinstance(value, list) else [value]
        if items and isinstance(items[0], (str, bytes)):
            number, data = STRING, b"".join(map(text, items))
        else:
            if items and isinstance(items[0], bool) and kind == "uint32":
                kind = "bool"
            if items and isinstance(items[0], float) and kind == "uint32":
                kind = "float32"
            number, code = KINDS[kind]
            data = struct.pack(f"<{len(items)}{code}", *items)
        if isinstance(value, list):
            data = struct.pack("<IIQ", ARRAY, number, len(items)) + data
        else:
            data = struct.pack("<I", number) + data
        if name == "general.alignment":
            self.alignment = value
        self.keys.append(text(name) + data)

    def tensor(self, name, sizes, kind, data):
        """Adds a tensor. @sizes begins with the innermost dimension; @data are the bytes."""
        self.tensors.append((name, sizes, TYPES[kind][0], bytes(data)))

    def bytes(self):
        parts, offset = [], 0
        for name, sizes, kind, data in self.tensors:
            parts.append(text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset))
            offset += -(-len(data) // self.alignment) * self.alignment
        head = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.keys))
        head += b"".join(self.keys) + b"".join(parts)
        return b"".join(data + bytes(-len(data) % self.alignment) for data in [head] + [t[3] for t in self.tensors])

    def save(self, path):
        path.write_bytes(self.bytes())
        return path
