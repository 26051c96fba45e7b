# SPDX-License-Identifier: MIT
"""Makes small language models of the architecture llama, with random weights and a tokenizer of
their own.
"""
import numpy as np

import formats
import gguf_file

NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6


def byte_characters():
    """Returns, for each byte from 0 to 255, the character that byte pair encoding writes for it."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(i if i in kept else next(others)) for i in range(256)]


CHARACTERS = byte_characters()
# "Ġ" is a space, "Ċ" a new line.
MERGES = ["t h", "th e", "Ġ the", "Ġ t", "Ġ a", "1 2", "12 3", "Ċ Ċ", "Ġ Ġ", "' s", "a a", "aa aa", "e n", "n d", "Ġ 1",
          "Ġ !", "! Ċ"]


def pair_tokenizer(file, pre, merges=MERGES, template=None):
    """Adds a tokenizer to the file: its tokens are the bytes, then the results of the merges, then
    special ones. Returns the texts of the tokens."""
    tokens = CHARACTERS + [m.replace(" ", "") for m in merges] + ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "USER"]
    types = [NORMAL] * (len(tokens) - 4) + [CONTROL] * 3 + [USER]
    end = tokens.index("<|endoftext|>")
    file.add("tokenizer.ggml.model", "gpt2")
    file.add("tokenizer.ggml.pre", pre)
    file.add("tokenizer.ggml.tokens", tokens)
    file.add("tokenizer.ggml.token_type", types, "int32")
    file.add("tokenizer.ggml.merges", merges)
    file.add("tokenizer.ggml.bos_token_id", end)
    file.add("tokenizer.ggml.eos_token_id", end)
    if template:
        file.add("tokenizer.chat_template", template)
    return tokens


PIECES = {"▁": -1, "a": -2, "b": -3, "ab": -4, "▁a": -5, "▁ab": -3.5, "ba": -3.9, "c": -6, "é": -7, "\n": -8}


def score_tokenizer(file, pieces=None):
    """Adds a tokenizer to the file: 3 special tokens, then 256 bytes, then the pieces, then a token
    [X]. Returns the texts of the tokens."""
    pieces = pieces or PIECES
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + list(pieces) + ["[X]"]
    file.add("tokenizer.ggml.model", "llama")
    file.add("tokenizer.ggml.tokens", tokens)
    file.add("tokenizer.ggml.scores", [0.0] * 259 + [float(s) for s in pieces.values()] + [0.0])
    file.add("tokenizer.ggml.token_type", [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(pieces) + [USER],
             "int32")
    return tokens


def small(tokenizer, *arguments, layers=2, width=64, heads=4, key_heads=2, hidden=96, kind="F32", tied=False, seed=1,
          context=64, embedding="F32", size=16, **options):
    """Returns the file of a model, its tokens, and its weights as [rows, columns] of floats."""
    file, rng, weights = gguf_file.File(), np.random.default_rng(seed), {}
    file.add("general.architecture", "llama")
    tokens = tokenizer(file, *arguments, **options)
    for key, value in (("block_count", layers), ("context_length", context), ("embedding_length", width),
                       ("feed_forward_length", hidden), ("attention.head_count", heads),
                       ("attention.head_count_kv", key_heads), ("rope.dimension_count", size),
                       ("rope.freq_base", 10000.0), ("attention.layer_norm_rms_epsilon", 1e-5),
                       ("vocab_size", len(tokens))):
        file.add(f"llama.{key}", value)

    def add(name, rows, columns, kind):
        if kind == "F32":
            data = (rng.standard_normal((rows, columns)) / columns ** 0.5).astype(np.float32).tobytes()
        elif kind == "F16":
            data = (rng.standard_normal((rows, columns)) / columns ** 0.5).astype(np.float16).tobytes()
        elif kind == "BF16":
            data = (rng.standard_normal((rows, columns)) / columns ** 0.5).astype(np.float32).view(np.uint32) >> 16
            data = data.astype(np.uint16).tobytes()
        else:
            blocks = rows * columns // gguf_file.TYPES[kind][1]
            data = formats.random_blocks(kind, rng, blocks, 1 / columns ** 0.5)
        weights[name] = formats.decode(kind, data).reshape(rows, columns)
        file.tensor(name, (columns, rows), kind, data)

    def add_norm(name):
        weights[name] = rng.uniform(0.5, 1.5, width).astype(np.float32)
        file.tensor(name, (width,), "F32", weights[name].tobytes())

    add("token_embd.weight", len(tokens), width, embedding)
    for i in range(layers):
        for part, rows, columns in (("attn_q", heads * size, width), ("attn_k", key_heads * size, width),
                                    ("attn_v", key_heads * size, width), ("attn_output", width, heads * size),
                                    ("ffn_gate", hidden, width), ("ffn_up", hidden, width), ("ffn_down", width, hidden)):
            add(f"blk.{i}.{part}.weight", rows, columns, kind)
        add_norm(f"blk.{i}.attn_norm.weight")
        add_norm(f"blk.{i}.ffn_norm.weight")
    add_norm("output_norm.weight")
    if not tied:
        add("output.weight", len(tokens), width, kind)
    return file, tokens, weights
