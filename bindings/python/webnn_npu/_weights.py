# SPDX-License-Identifier: MIT
"""Weights beside a .webnn file: safetensors, or a blob with a manifest that says where each weight
stands.

Files are mapped: they must not change as long as a graph of them lives.
"""
from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import MLFileError
from ._types import count, storage, stored_shape

SAFETENSORS = {"F32": "float32", "F16": "float16", "I32": "int32", "U32": "uint32", "I64": "int64",
               "U64": "uint64", "I8": "int8", "U8": "uint8", "BF16": "bfloat16"}


class Weights:
    """The weight files, which are found and opened when the first weight is read."""

    def __init__(self, graph: Path, manifest: Any, weights: Any) -> None:
        self.graph, self.manifest, self.weights = graph, manifest, weights
        self.data: Any = None
        # Name -> offset, number of bytes, type or None, shape or None.
        self.entries: dict[str, tuple[int, int, str | None, list[int] | None]] = {}

    def find(self, name: str, data_type: str, shape: list[int]) -> Any:
        """Returns the bytes of a weight."""
        if self.data is None:
            self.open()
        start, size, kind, stored = self.entry(name)
        if stored is not None and stored != list(shape):
            raise MLFileError(f"{self.graph}: weight {name!r} has shape {stored} in {self.weights}, "
                              f"and {list(shape)} in the graph")
        if start < 0 or size < 0 or start + size > self.data.size:
            raise MLFileError(f"{self.weights}: weight {name!r} lies outside of the file")
        data = self.data[start:start + size]
        if kind == "bfloat16" and data_type == "float32" and size == 2 * count(shape):
            return (np.frombuffer(data.tobytes(), "<u2").astype(np.uint32) << 16).view(np.uint8)
        if kind is not None and kind != data_type:
            raise MLFileError(f"{self.graph}: weight {name!r} is {kind} in {self.weights}, "
                              f"and {data_type} in the graph")
        expected = count(stored_shape(data_type, shape)) * storage(data_type).itemsize
        if size not in (expected, count(shape) if data_type in ("int4", "uint4") else expected):
            raise MLFileError(f"{self.weights}: weight {name!r} has {size} bytes, and {data_type} "
                              f"{list(shape)} has {expected}")
        # A view of another type needs its alignment.
        return data if start % 8 == 0 else data.copy()

    def entry(self, name: str) -> tuple[int, int, str | None, list[int] | None]:
        if name in self.entries:
            return self.entries[name]
        same = [key for key in self.entries if plain(key) == plain(name)]
        if len(same) == 1:
            return self.entries[same[0]]
        raise MLFileError(f"{self.graph}: weight {name!r} " + ("has several matches" if same else "is not") +
                          f" in {self.weights}")

    def beside(self, given: Any, names: list[str], what: str) -> Path:
        if given is not None:
            path: Path = self.graph.parent / given
            if not path.exists():
                raise MLFileError(f"{self.graph}: the {what} {path} does not exist")
            return path
        for name in names:
            if (self.graph.parent / name).exists():
                return self.graph.parent / name
        raise MLFileError(f"{self.graph}: there is no {what} beside it: {', '.join(names)}; "
                          f"weights_path and manifest_path name others")

    def open(self) -> None:
        stem = self.graph.stem
        self.weights = self.beside(self.weights, [f"{stem}.safetensors", f"{stem}.weights",
                                                  "model.safetensors", "model.weights"], "file of weights")
        with open(self.weights, "rb") as file:
            try:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise MLFileError(f"{self.weights} is empty") from None
        self.data = np.frombuffer(mapped, np.uint8)
        try:
            if self.weights.suffix == ".safetensors":
                self.read_safetensors()
            else:
                self.manifest = self.beside(self.manifest, [f"{stem}.manifest.json", "manifest.json"], "manifest")
                self.read_manifest()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            name = self.weights if self.weights.suffix == ".safetensors" else self.manifest
            raise MLFileError(f"{name} is damaged: {error!r}") from None

    def read_safetensors(self) -> None:
        size = int.from_bytes(self.data[:8].tobytes(), "little")
        if size > self.data.size - 8:
            raise MLFileError(f"{self.weights} is damaged: its head is longer than the file")
        for name, item in json.loads(self.data[8:8 + size].tobytes()).items():
            if name == "__metadata__":
                continue
            begin, end = item["data_offsets"]
            self.entries[name] = (8 + size + begin, end - begin, SAFETENSORS.get(item["dtype"], item["dtype"]),
                                  list(item["shape"]))

    def read_manifest(self) -> None:
        manifest = json.loads(Path(self.manifest).read_text(encoding="utf-8"))
        if manifest.get("endianness", "little") != "little":
            raise MLFileError(f"{self.manifest}: endianness is {manifest['endianness']!r}, and only weights that are "
                              "'little' are read")
        for name, item in manifest["tensors"].items():
            self.entries[name] = (item["byteOffset"], item["byteLength"], item.get("dataType"), item.get("shape"))


def plain(name: str) -> str:
    """Returns a name in the form in which text files can hold it."""
    return name.replace("::", "__").replace(".", "_")
