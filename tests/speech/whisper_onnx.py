# SPDX-License-Identifier: MIT
"""Writes Whisper models as ONNX in the forms that Hugging Face's Optimum exports, and computes them with numpy."""
import json
import math

import numpy as np
import onnx
from onnx import TensorProto, helper

# Forms of the decoder: how it finds its position, and the rank of its attention.
SLICED, GATHERED, CACHE_POSITION = "sliced", "gathered", "cache_position"
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>",
           "<|startoflm|>", "<|notimestamps|>"]
TIMES = 4


class Sizes:
    def __init__(self, width=32, heads=2, layers=2, mels=20, heard=50, positions=24, tokens=270):
        self.width, self.heads, self.layers, self.mels = width, heads, layers, mels
        self.heard, self.positions, self.tokens = heard, positions, tokens
        self.size = width // heads


def attention_names(layer, kind):
    return [f"{layer}.{kind}.{part}" for part in ("q", "k", "v", "out")]


def random_weights(sizes, seed=1):
    """Returns weights by name; those of products are [inputs, outputs]."""
    rng = np.random.default_rng(seed)
    w, d = {}, sizes.width

    def draw(name, *shape, scale=None):
        w[name] = (rng.standard_normal(shape) * (scale or shape[0] ** -0.5)).astype(np.float32)

    def norm(name):
        w[f"{name}.weight"] = rng.uniform(0.5, 1.5, d).astype(np.float32)
        draw(f"{name}.bias", d, scale=0.1)

    def linear(name, inputs, outputs, bias=True):
        draw(f"{name}.weight", inputs, outputs)
        if bias:
            draw(f"{name}.bias", outputs, scale=0.1)

    draw("encoder.conv1.weight", d, sizes.mels, 3, scale=0.3)
    draw("encoder.conv1.bias", d, scale=0.1)
    draw("encoder.conv2.weight", d, d, 3, scale=0.2)
    draw("encoder.conv2.bias", d, scale=0.1)
    draw("encoder.positions", sizes.heard, d, scale=0.3)
    draw("decoder.tokens", sizes.tokens, d, scale=0.3)
    draw("decoder.positions", sizes.positions, d, scale=2)
    for side, kinds in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
        for i in range(sizes.layers):
            for kind in kinds:
                norm(f"{side}.{i}.{kind}.norm")
                for name in attention_names(f"{side}.{i}", kind):
                    linear(name, d, d, not name.endswith(".k"))
            norm(f"{side}.{i}.norm")
            linear(f"{side}.{i}.up", d, 4 * d)
            linear(f"{side}.{i}.down", 4 * d, d)
        norm(f"{side}.norm")
    return w


class Graph:
    """A graph of ONNX that is being made. Results of add() are names of tensors. Its floats have the type of the weights."""
    def __init__(self, weights, sizes):
        self.w, self.sizes = weights, sizes
        self.kind = next(iter(weights.values())).dtype
        self.float = helper.np_dtype_to_tensor_dtype(self.kind)
        self.nodes, self.constants, self.inputs, self.outputs = [], {}, [], []

    def add(self, kind, *inputs, name=None, **attributes):
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"/{name}", **attributes))
        return name

    def weight(self, name):
        self.constants.setdefault(name, self.w[name])
        return name

    def numbers(self, *numbers, kind=np.int64):
        array = np.array(numbers, kind)
        name = f"numbers_{array.dtype}_{'_'.join(map(str, numbers))}"
        self.constants.setdefault(name, array)
        return name

    def number(self, number, kind=None):
        kind = kind or self.kind
        name = f"number_{np.dtype(kind)}_{number}"
        self.constants.setdefault(name, np.array(number, kind))
        return name

    def input(self, name, *shape, kind=None):
        self.inputs.append(helper.make_tensor_value_info(name, kind or self.float, shape))
        return name

    def output(self, name, *shape):
        self.outputs.append(helper.make_tensor_value_info(name, self.float, shape))

    def dimension(self, name, axis):
        return self.add("Gather", self.add("Shape", name), self.number(axis, np.int64))

    def norm(self, x, name):
        low = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        square = self.add("ReduceMean", self.add("Pow", low, self.number(2.0)), axes=[-1])
        y = self.add("Div", low, self.add("Sqrt", self.add("Add", square, self.number(1e-5))))
        return self.add("Add", self.add("Mul", y, self.weight(f"{name}.weight")), self.weight(f"{name}.bias"))

    def linear(self, x, name):
        x = self.add("MatMul", x, self.weight(f"{name}.weight"))
        return self.add("Add", self.weight(f"{name}.bias"), x) if f"{name}.bias" in self.w else x

    def gelu(self, x):
        y = self.add("Add", self.add("Erf", self.add("Div", x, self.number(2 ** 0.5))), self.number(1.0))
        return self.add("Mul", self.add("Mul", x, y), self.number(0.5))

    def heads(self, x, name=None):
        x = self.add("Reshape", x, self.numbers(1, -1, self.sizes.heads, self.sizes.size))
        return self.add("Transpose", x, perm=[0, 2, 1, 3], name=name)

    def query(self, x, name):
        return self.heads(self.add("Mul", self.linear(x, f"{name}.q"), self.number(self.sizes.size ** -0.5)))

    def attend(self, query, key, value, name, flat=False, mask=None):
        """Returns the result of attention to keys and values [1, heads, positions, size]; flat: computed in rank 3."""
        s = self.sizes
        if flat:
            shape = self.numbers(s.heads, -1, s.size)
            query, key, value = (self.add("Reshape", x, shape) for x in (query, key, value))
        scores = self.add("MatMul", query, self.add("Transpose", key, perm=[0, 2, 1] if flat else [0, 1, 3, 2]))
        if mask:
            length = self.add("Unsqueeze", self.dimension(key, 2), self.numbers(0))
            scores = self.add("Add", scores, self.add("Slice", mask, self.numbers(0), length, self.numbers(3)))
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        if flat:
            y = self.add("Reshape", y, self.numbers(1, s.heads, -1, s.size))
        y = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]), self.numbers(1, -1, s.width))
        return self.linear(y, f"{name}.out")

    def feed_forward(self, x, layer):
        y = self.linear(self.gelu(self.linear(self.norm(x, f"{layer}.norm"), f"{layer}.up")), f"{layer}.down")
        return self.add("Add", x, y)

    def graph(self):
        tensors = [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        return helper.make_graph(self.nodes, "whisper", self.inputs, self.outputs, tensors)


def encoder(weights, sizes):
    g = Graph(weights, sizes)
    x = g.input("input_features", "batch_size", "feature_size", "encoder_sequence_length")
    for name, stride in (("encoder.conv1", 1), ("encoder.conv2", 2)):
        x = g.gelu(g.add("Conv", x, g.weight(f"{name}.weight"), g.weight(f"{name}.bias"), pads=[1, 1],
                         strides=[stride], kernel_shape=[3]))
    x = g.add("Add", g.add("Transpose", x, perm=[0, 2, 1]), g.weight("encoder.positions"))
    for i in range(sizes.layers):
        name = f"encoder.{i}.self"
        y = g.norm(x, f"{name}.norm")
        key, value = (g.heads(g.linear(y, f"{name}.{part}")) for part in "kv")
        x = g.add("Add", x, g.attend(g.query(y, name), key, value, name))
        x = g.feed_forward(x, f"encoder.{i}")
    x = g.norm(x, "encoder.norm")
    g.add("Identity", x, name="last_hidden_state")
    g.output("last_hidden_state", "batch_size", "encoder_sequence_length / 2", sizes.width)
    return g.graph()


class Decoder(Graph):
    """A decoder with caches as inputs, or one that makes them."""
    def __init__(self, weights, sizes, past, form=SLICED):
        super().__init__(weights, sizes)
        self.past, self.flat, self.mask = past, form == SLICED, None
        ids = self.input("input_ids", "batch_size", 1 if past else "decoder_sequence_length", kind=TensorProto.INT64)
        if not past:
            self.input("encoder_hidden_states", "batch_size", "encoder_sequence_length / 2", sizes.width)
        for i in range(sizes.layers if past else 0):
            for kind in ("decoder.key", "decoder.value", "encoder.key", "encoder.value"):
                self.input(f"past_key_values.{i}.{kind}", "batch_size", sizes.heads, f"past_{kind[:7]}_length", sizes.size)
        x = self.add("Add", self.add("Gather", self.weight("decoder.tokens"), ids), self.positions(ids, form))
        for i in range(sizes.layers):
            x = self.add("Add", x, self.self_attention(x, i))
            x = self.add("Add", x, self.cross_attention(x, i))
            x = self.feed_forward(x, f"decoder.{i}")
        x = self.norm(x, "decoder.norm")
        self.add("MatMul", x, self.add("Transpose", self.weight("decoder.tokens"), perm=[1, 0]), name="logits")
        self.output("logits", "batch_size", "decoder_sequence_length", sizes.tokens)
        for i in range(sizes.layers):
            for kind in ("decoder.key", "decoder.value") + (() if past else ("encoder.key", "encoder.value")):
                self.output(f"present.{i}.{kind}", "batch_size", sizes.heads, f"{kind[:7]}_length", sizes.size)

    def positions(self, ids, form):
        table = self.weight("decoder.positions")
        before = self.dimension("past_key_values.0.decoder.key", 2) if self.past else self.number(0, np.int64)
        after = self.add("Add", before, self.dimension(ids, 1))
        if form == CACHE_POSITION and self.past:
            at = self.input("cache_position", "decoder_sequence_length", kind=TensorProto.INT64)
            self.mask = self.future(at, self.add("Add", after, self.number(1, np.int64)))
            return self.add("Gather", table, self.add("Unsqueeze", at, self.numbers(0)))
        if form != SLICED:
            return self.add("Gather", table, self.add("Range", before, after, self.number(1, np.int64)))
        first, last = (self.add("Unsqueeze", x, self.numbers(0)) for x in (before, after))
        return self.add("Slice", table, first, last, self.numbers(0))

    def future(self, at, length):
        """Returns a mask [1, 1, 1, length] of the positions after @at."""
        places = self.add("Range", self.number(0, np.int64), length, self.number(1, np.int64))
        later = self.add("Cast", self.add("Greater", places, at), to=self.float)
        return self.add("Unsqueeze", self.add("Mul", later, self.number(-1e4)), self.numbers(0, 1, 2))

    def self_attention(self, x, i):
        name = f"decoder.{i}.self"
        x = self.norm(x, f"{name}.norm")
        parts = []
        for kind, part in (("key", "k"), ("value", "v")):
            present = f"present.{i}.decoder.{kind}"
            new = self.heads(self.linear(x, f"{name}.{part}"), None if self.past else present)
            if self.past:
                new = self.add("Concat", f"past_key_values.{i}.decoder.{kind}", new, axis=2, name=present)
            parts.append(new)
        return self.attend(self.query(x, name), *parts, name, self.flat, self.mask)

    def cross_attention(self, x, i):
        name = f"decoder.{i}.cross"
        x = self.norm(x, f"{name}.norm")
        key, value = (f"past_key_values.{i}.encoder.{kind}" if self.past else
                      self.heads(self.linear("encoder_hidden_states", f"{name}.{part}"), f"present.{i}.encoder.{kind}")
                      for kind, part in (("key", "k"), ("value", "v")))
        return self.attend(self.query(x, name), key, value, name, self.flat)


def merged(weights, sizes, form):
    """Returns a graph that runs the decoder with a past or the one without, as an input says; it has the inputs of both."""
    both = [Decoder(weights, sizes, past, form) for past in (True, False)]
    branches = []
    for decoder, front in zip(both, ("with", "without")):
        tensors = decoder.constants
        decoder.constants = {}
        branch = decoder.graph()
        del branch.input[:]
        for node in branch.node:
            for names in (node.input, node.output):
                names[:] = [name if name in tensors or name.startswith(("past_", "input_ids", "encoder_hid", "cache_pos"))
                            else f"{front}/{name}" for name in names]
        for output in branch.output:
            output.name = f"{front}/{output.name}"
        decoder.constants = tensors
        branches.append(branch)
    # The decoder with a past makes no caches for the audio, so its branch gives empty ones.
    kept = {output.name.partition("/")[2] for output in branches[0].output}
    outputs = list(both[1].outputs)
    old = {value.name: value for value in branches[0].output}
    del branches[0].output[:]
    branches[0].output.extend(
        old.get(f"with/{value.name}") or helper.make_tensor_value_info(
            f"with/{value.name}", both[0].float, [0, sizes.heads, 1, sizes.size]) for value in outputs)
    for value in outputs:
        if value.name not in kept:
            branches[0].node.append(helper.make_node("Constant", [], [f"with/{value.name}"], value=onnx.numpy_helper.from_array(
                np.zeros((0, sizes.heads, 1, sizes.size), both[0].kind))))
    inputs = {value.name: value for decoder in both for value in decoder.inputs}
    use = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    node = helper.make_node("If", ["use_cache_branch"], [value.name for value in outputs], name="optimum::if",
                            then_branch=branches[0], else_branch=branches[1])
    tensors = {**both[0].constants, **both[1].constants}
    return helper.make_graph([node], "merged", [*inputs.values(), use], outputs,
                             [onnx.numpy_helper.from_array(array, name) for name, array in tensors.items()])


def save(graph, path, version=17):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    model.ir_version = 8
    onnx.save(model, path)


def save_folder(folder, weights, sizes, form=SLICED, merge=False):
    save(encoder(weights, sizes), folder / "encoder_model.onnx")
    if merge:
        save(merged(weights, sizes, form), folder / "decoder_model_merged.onnx")
    else:
        save(Decoder(weights, sizes, False, form).graph(), folder / "decoder_model.onnx")
        save(Decoder(weights, sizes, True, form).graph(), folder / "decoder_with_past_model.onnx")


def save_configuration(folder, sizes, tokenizer, **generation):
    (folder / "config.json").write_text(json.dumps({
        "model_type": "whisper", "d_model": sizes.width, "decoder_attention_heads": sizes.heads, "num_mel_bins": sizes.mels,
        "max_source_positions": sizes.heard, "max_target_positions": sizes.positions, "vocab_size": sizes.tokens}))
    (folder / "generation_config.json").write_text(json.dumps({"is_multilingual": True, **generation}))
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "feature_size": sizes.mels, "hop_length": 160, "n_fft": 400, "sampling_rate": 16000}))
    (folder / "tokenizer.json").write_text(tokenizer if isinstance(tokenizer, str) else json.dumps(tokenizer))


# ---- numpy


class Reference:
    """Computes a model in double precision, all tokens at once."""
    def __init__(self, weights, sizes):
        self.w = {name: array.astype(np.float64) for name, array in weights.items()}
        self.sizes = sizes

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def linear(self, x, name):
        return x @ self.w[f"{name}.weight"] + self.w.get(f"{name}.bias", 0)

    @staticmethod
    def gelu(x):
        return x * (1 + np.vectorize(math.erf)(x / 2 ** 0.5)) / 2

    def attention(self, x, other, name, causal):
        def heads(y):
            return y.reshape(len(y), self.sizes.heads, -1).transpose(1, 0, 2)
        query = heads(self.linear(x, f"{name}.q"))
        key, value = (heads(self.linear(other, f"{name}.{part}")) for part in "kv")
        scores = query @ key.transpose(0, 2, 1) / self.sizes.size ** 0.5
        if causal:
            scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = scores / scores.sum(-1, keepdims=True) @ value
        return self.linear(y.transpose(1, 0, 2).reshape(len(x), -1), f"{name}.out")

    def feed_forward(self, x, layer):
        return x + self.linear(self.gelu(self.linear(self.norm(x, f"{layer}.norm"), f"{layer}.up")), f"{layer}.down")

    def conv(self, x, name, stride):
        x = np.pad(x, ((0, 0), (1, 1)))
        columns = np.stack([x[:, k:x.shape[1] - 2 + k:stride] for k in range(3)], -1)
        return np.einsum("oik,itk->ot", self.w[f"{name}.weight"], columns) + self.w[f"{name}.bias"][:, None]

    def encode(self, mel):
        x = self.gelu(self.conv(mel, "encoder.conv1", 1))
        x = self.gelu(self.conv(x, "encoder.conv2", 2)).T + self.w["encoder.positions"]
        for i in range(self.sizes.layers):
            y = self.norm(x, f"encoder.{i}.self.norm")
            x = self.feed_forward(x + self.attention(y, y, f"encoder.{i}.self", False), f"encoder.{i}")
        return self.norm(x, "encoder.norm")

    def logits(self, heard, tokens):
        """Returns the logits after the last token."""
        x = self.w["decoder.tokens"][tokens] + self.w["decoder.positions"][:len(tokens)]
        for i in range(self.sizes.layers):
            y = self.norm(x, f"decoder.{i}.self.norm")
            x = x + self.attention(y, y, f"decoder.{i}.self", True)
            x = x + self.attention(self.norm(x, f"decoder.{i}.cross.norm"), heard, f"decoder.{i}.cross", False)
            x = self.feed_forward(x, f"decoder.{i}")
        return self.norm(x[-1:], "decoder.norm")[0] @ self.w["decoder.tokens"].T


def mel_bands(bands):
    """Returns weights [bands, 201] of Slaney's mel scale, from its definition."""
    def place(hertz):
        return hertz * 3 / 200 if hertz < 1000 else 15 + 27 * np.log(hertz / 1000) / np.log(6.4)

    def hertz(mel):
        return np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))
    edges = hertz(np.linspace(0, place(8000), bands + 2))
    bins = np.arange(201) * 40.0
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def log_mel(samples, bands, frames):
    """Returns Whisper's spectrogram [bands, frames] in double precision."""
    signal = np.zeros(frames * 160)
    signal[:min(len(samples), len(signal))] = samples[:len(signal)]
    signal = np.pad(signal, 200, mode="reflect")
    window = np.hanning(401)[:-1]
    spectra = np.stack([np.fft.rfft(signal[i * 160:i * 160 + 400] * window) for i in range(frames)], 1)
    logs = np.log10(np.maximum(mel_bands(bands) @ np.abs(spectra) ** 2, 1e-10))
    return (np.maximum(logs, logs.max() - 8) + 4) / 4
