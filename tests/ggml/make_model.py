#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a GGUF file with a small model of the architecture llama: make_model.py FILE.

The model has two layers with random weights of five types, which most files of models use. It has
no tokenizer; tokens are numbers.
"""
import struct
import sys

import numpy

EMBEDDING, HEADS, KV_HEADS, FEED_FORWARD, VOCABULARY, LAYERS = 128, 4, 2, 224, 160, 2
F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8
ALIGNMENT = 32
UINT32, FLOAT32, STRING = 4, 6, 8


def quantise(weights, kind):
    """Returns the bytes of a matrix whose rows are blocks of 32 elements."""
    if kind == F32:
        return weights.astype("<f4").tobytes()
    if kind == F16:
        return weights.astype("<f2").tobytes()
    blocks = weights.reshape(-1, 32)
    if kind == Q8_0:
        scale = (numpy.abs(blocks).max(1, keepdims=True) / 127).astype("<f2")
        numbers = numpy.rint(blocks / scale.astype("f4")).astype("i1")
        return numpy.hstack([scale.view("u1"), numbers.view("u1")]).tobytes()
    low = blocks.min(1, keepdims=True).astype("<f2")
    if kind == Q4_1:
        scale = ((blocks.max(1, keepdims=True) - low.astype("f4")) / 15).astype("<f2")
        numbers = (blocks - low.astype("f4")) / scale.astype("f4")
    else:
        scale = (numpy.abs(blocks).max(1, keepdims=True) / 7).astype("<f2")
        numbers = blocks / scale.astype("f4") + 8
    numbers = numpy.clip(numpy.rint(numbers), 0, 15).astype("u1")
    head = [scale.view("u1")] + ([low.view("u1")] if kind == Q4_1 else [])
    return numpy.hstack(head + [numbers[:, :16] | numbers[:, 16:] << 4]).tobytes()


def tensors():
    """Yields name, shape with the innermost size last, and type."""
    head = EMBEDDING // HEADS
    yield "token_embd.weight", (VOCABULARY, EMBEDDING), Q8_0
    yield "output_norm.weight", (EMBEDDING,), F32
    yield "output.weight", (VOCABULARY, EMBEDDING), F16
    for layer in range(LAYERS):
        kind = (Q4_0, Q4_1)[layer % 2]
        for name, shape, of in (
                ("attn_norm", (EMBEDDING,), F32),
                ("attn_q", (EMBEDDING, EMBEDDING), kind),
                ("attn_k", (KV_HEADS * head, EMBEDDING), Q8_0),
                ("attn_v", (KV_HEADS * head, EMBEDDING), F32),
                ("attn_output", (EMBEDDING, EMBEDDING), kind),
                ("ffn_norm", (EMBEDDING,), F32),
                ("ffn_gate", (FEED_FORWARD, EMBEDDING), kind),
                ("ffn_up", (FEED_FORWARD, EMBEDDING), F16),
                ("ffn_down", (EMBEDDING, FEED_FORWARD), kind)):
            yield f"blk.{layer}.{name}.weight", shape, of


def text(string):
    return struct.pack("<Q", len(string)) + string.encode()


def metadata():
    for key, value in {
            "general.architecture": "llama",
            "general.alignment": ALIGNMENT,
            "llama.block_count": LAYERS,
            "llama.context_length": 512,
            "llama.embedding_length": EMBEDDING,
            "llama.feed_forward_length": FEED_FORWARD,
            "llama.attention.head_count": HEADS,
            "llama.attention.head_count_kv": KV_HEADS,
            "llama.attention.layer_norm_rms_epsilon": 1e-5,
            "llama.rope.dimension_count": EMBEDDING // HEADS,
            "llama.vocab_size": VOCABULARY,
            "tokenizer.ggml.model": "no_vocab"}.items():
        if isinstance(value, str):
            yield text(key) + struct.pack("<I", STRING) + text(value)
        elif isinstance(value, int):
            yield text(key) + struct.pack("<II", UINT32, value)
        else:
            yield text(key) + struct.pack("<If", FLOAT32, value)


def main():
    rng = numpy.random.default_rng(44)
    entries, data = [], b""
    for name, shape, kind in tensors():
        weights = rng.standard_normal(shape).astype("f4")
        # The factors keep sums of products about as large as their operands; weights of norms are
        # around 1.
        weights = weights / numpy.sqrt(shape[-1]) if len(shape) > 1 else 1 + weights / 8
        sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        entries.append(text(name) + sizes + struct.pack("<IQ", kind, len(data)))
        data += quantise(weights, kind)
        data += bytes(-len(data) % ALIGNMENT)
    keys = list(metadata())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(keys)) + b"".join(keys + entries)
    with open(sys.argv[1], "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


if __name__ == "__main__":
    main()
