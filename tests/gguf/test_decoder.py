#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares webnn-run generate for small decoders of ONNX with numpy. test_decoder.py WEBNN_RUN"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import small_model
from server_client import Server, text_of

PROGRAM = sys.argv[1]
WIDTH, HEADS, SIZE, LAYERS, CONTEXT = 32, 2, 16, 2, 96
# The forms of a decoder. APPENDED: Concat appends new keys and values to the past. SUMMED: so does this form, but it has no
# input position_ids and computes positions from the sum of attention_mask. SHARED: one buffer holds past and present.
APPENDED, SUMMED, SHARED = "appended", "summed", "shared"
WORDS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}%s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" \
        "\\s+(?!\\S)|\\s+"
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
SPLITS = {
    "gpt-2": BYTES,
    "smollm": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTES]},
    "llama-bpe": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": WORDS % "{1,3}"}, "behavior": "Isolated"}, BYTES]},
    "qwen2": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": WORDS % ""}, "behavior": "Isolated"}, BYTES]},
}
TEXTS = ("the then  aaaaa's", "a1234 12 \n\n!", "aUSERa<|im_end|>é", "xyz the end")


def pair_json(split="gpt-2", **changes):
    """Returns the tokenizer of small_model.pair_tokenizer() as Hugging Face's tokenizers write it."""
    tokens = small_model.CHARACTERS + [m.replace(" ", "") for m in small_model.MERGES]
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "USER"]
    return {"added_tokens": [{"id": len(tokens) + i, "content": text, "special": text != "USER"}
                             for i, text in enumerate(special)],
            "normalizer": None, "pre_tokenizer": SPLITS[split],
            "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": small_model.MERGES},
            **changes}


def score_json(**changes):
    """Returns a tokenizer.json that merges characters by rank, and has bytes for unknown
    characters."""
    pieces = ["▁", "a", "b", "ab", "▁a", "▁ab", "ba", "c"]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + pieces
    return {"added_tokens": [{"id": i, "content": tokens[i], "special": True} for i in range(3)],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
            "pre_tokenizer": None,
            "post_processor": {"type": "TemplateProcessing", "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True,
                      "vocab": {t: i for i, t in enumerate(tokens)},
                      "merges": [["b", "a"], ["▁", "a"], ["▁a", "b"], ["a", "b"]]}, **changes}


class Weights:
    def __init__(self, rows, seed=3, kind=np.float32):
        rng = np.random.default_rng(seed)

        def draw(*shape):
            return (rng.standard_normal(shape) / shape[-2] ** 0.5).astype(kind)
        self.embed, self.position = draw(rows, WIDTH) * 4, draw(CONTEXT, WIDTH) * 2
        self.layers = [[draw(WIDTH, HEADS * SIZE) for _ in range(3)] + [draw(HEADS * SIZE, WIDTH)]
                       for _ in range(LAYERS)]
        self.head = draw(WIDTH, rows)

    def reference(self, tokens):
        """Returns the logits after the last token, computed in double."""
        x = self.embed[tokens].astype(np.float64) + self.position[:len(tokens)]
        for q, k, v, out in self.layers:
            query, key, value = ((x @ w).reshape(len(tokens), HEADS, SIZE).transpose(1, 0, 2) for w in (q, k, v))
            scores = query @ key.transpose(0, 2, 1) / SIZE ** 0.5
            scores = np.where(np.tri(len(tokens), dtype=bool), scores, -np.inf)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            y = scores / scores.sum(-1, keepdims=True) @ value
            x = x + y.transpose(1, 0, 2).reshape(len(tokens), -1) @ out
        return x[-1] @ self.head

    def expect(self, prompt, count):
        tokens = list(prompt)
        while len(tokens) < len(prompt) + count:
            tokens.append(int(np.argmax(self.reference(tokens))))
        return tokens[len(prompt):]


class Model:
    """A decoder as Hugging Face's exporters write it. more: outputs beside logits and caches; kind: type of the caches;
    last: the model gives logits of the last token alone."""
    def __init__(self, weights, form=APPENDED, past="past_key_values.", present="present.", extra=(), more=(),
                 kind=TensorProto.FLOAT, last=False):
        self.nodes, self.constants, self.form, self.kind, self.float = [], [], form, kind, weights.head.dtype
        self.inputs = [self.value("input_ids", "batch", "tokens"), self.value("attention_mask", "batch", "total"),
                       *(self.value(name, 1) for name in extra)]
        if form != SUMMED:
            self.inputs.append(self.value("position_ids", "batch", "tokens"))
        self.outputs = []
        x = self.add("Add", self.add("Gather", self.constant(weights.embed), "input_ids"),
                     self.add("Gather", self.constant(weights.position), self.positions()))
        if form == SHARED:
            ones = self.add("ReduceSum", "attention_mask", self.constant(np.array([1])), keepdims=0)
            self.last = self.add("Cast", self.add("Sub", ones, self.constant(np.array(1))), to=TensorProto.INT32)
            total = self.add("Gather", self.add("Shape", "attention_mask"), self.constant(np.array(1)))
            self.total = self.add("Cast", total, to=TensorProto.INT32)
        else:
            self.bias = self.mask(past)
        for i, parts in enumerate(weights.layers):
            x = self.add("Add", x, self.layer(x, parts, f"{past}{i}.", f"{present}{i}."))
        for name in more:
            self.nodes.append(helper.make_node("Identity", [x], [name]))
            self.outputs.append(self.value(name, "batch", "tokens", HEADS * SIZE, kind=TensorProto.FLOAT))
        if last:
            x = self.add("Slice", x, *(self.constant(np.array([i])) for i in (-1, 2 ** 31, 1)))
        self.nodes.append(helper.make_node("MatMul", [x, self.constant(weights.head)], ["logits"]))
        self.outputs.insert(0, helper.make_tensor_value_info(
            "logits", helper.np_dtype_to_tensor_dtype(self.float), ["batch", "tokens", weights.head.shape[1]]))

    def value(self, name, *shape, kind=TensorProto.INT64):
        return helper.make_tensor_value_info(name, kind, shape)

    def constant(self, array):
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def real(self, number):
        return self.constant(np.array(number, self.float))

    def add(self, kind, *inputs, results=None, **attributes):
        results = results or [f"x{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, results, **attributes))
        return results[0]

    def size(self, name, axis):
        return self.add("Gather", self.add("Shape", name), self.constant(np.array(axis)))

    def positions(self):
        if self.form != SUMMED:
            return "position_ids"
        all_ = self.add("Sub", self.add("CumSum", "attention_mask", self.constant(np.array(1))), self.constant(np.array(1)))
        first = self.add("Neg", self.add("Shape", "input_ids", start=1))
        return self.add("Slice", all_, first, *(self.constant(np.array([i])) for i in (2 ** 31, 1)))

    def mask(self, past):
        """Returns a mask that hides positions without tokens, and from each token those after it."""
        kind = helper.np_dtype_to_tensor_dtype(self.float)
        zero, one = (self.constant(np.array(i)) for i in (0, 1))
        before = self.add("Squeeze", self.add("Shape", f"{past}0.key", start=2, end=-1))
        total = self.add("Add", before, self.size("input_ids", 1))
        rows = self.add("Unsqueeze", self.add("Range", before, total, one), self.constant(np.array([1])))
        later = self.add("Cast", self.add("Greater", self.add("Range", zero, total, one), rows), to=kind)
        hidden = self.add("Sub", self.real(1), self.add("Cast", "attention_mask", to=kind))
        hidden = self.add("Max", later, self.add("Unsqueeze", hidden, self.constant(np.array([1, 2]))))
        return self.add("Mul", hidden, self.real(np.finfo(self.float).min))

    def heads(self, x):
        x = self.add("Reshape", x, self.constant(np.array([0, 0, HEADS, SIZE])))
        return self.add("Transpose", x, perm=[0, 2, 1, 3])

    def layer(self, x, parts, past, present):
        q, k, v = (self.add("MatMul", x, self.constant(w)) for w in parts[:3])
        for kind in ("key", "value"):
            shape = "batch", HEADS, "past", SIZE
            self.inputs.append(self.value(past + kind, *shape, kind=self.kind))
            self.outputs.append(self.value(present + kind, "batch", HEADS, "all", SIZE, kind=self.kind))
        if self.form == SHARED:
            y = f"y{len(self.nodes)}"
            self.add("GroupQueryAttention", q, k, v, past + "key", past + "value", self.last, self.total,
                     results=[y, present + "key", present + "value"], num_heads=HEADS, kv_num_heads=HEADS,
                     domain="com.microsoft")
        else:
            k = self.add("Concat", past + "key", self.heads(k), axis=2, results=[present + "key"])
            v = self.add("Concat", past + "value", self.heads(v), axis=-2, results=[present + "value"])
            # Exporters expand keys to a computed shape, so that groups of heads share them; here each head has its own.
            shape = self.add("Concat", *(self.add("Shape", k, start=i, end=i + 1) for i in range(4)), axis=0)
            scores = self.add("MatMul", self.heads(q), self.add("Transpose", self.add("Expand", k, shape), perm=[0, 1, 3, 2]))
            scores = self.add("Add", self.add("Mul", scores, self.real(SIZE ** -0.5)), self.bias)
            # Softmax is computed in float, also where caches are float16.
            scores = self.add("Softmax", self.add("Cast", scores, to=TensorProto.FLOAT), axis=-1)
            y = self.add("MatMul", self.add("Cast", scores, to=helper.np_dtype_to_tensor_dtype(self.float)), v)
            y = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]),
                         self.constant(np.array([0, 0, HEADS * SIZE])))
        return self.add("MatMul", y, self.constant(parts[3]))

    def merge(self):
        """Puts the nodes into the branch for texts with a past; the other branch gives zeros."""
        names = {name for node in self.nodes for name in node.output}
        for node in self.nodes:
            for part in (node.input, node.output):
                part[:] = [f"with/{name}" if name in names else name for name in part]
        branches = [helper.make_graph(self.nodes, "with", [], [
            helper.make_tensor_value_info(f"with/{value.name}", value.type.tensor_type.elem_type, None)
            for value in self.outputs])]
        branches.append(helper.make_graph([helper.make_node("Constant", [], [f"no/{value.name}"], value_float=0.0)
                                           for value in self.outputs], "without", [], [
            helper.make_tensor_value_info(f"no/{value.name}", TensorProto.FLOAT, []) for value in self.outputs]))
        self.inputs.append(self.value("use_cache_branch", 1, kind=TensorProto.BOOL))
        self.nodes = [helper.make_node("If", ["use_cache_branch"], [value.name for value in self.outputs],
                                       then_branch=branches[0], else_branch=branches[1])]

    def save(self, path, version=17):
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version),
                                                        helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 8
        onnx.save(model, path)


class Decoder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.onnx"

    def save(self, tokenizer, form=APPENDED, config=None, merge=False, number=np.float32, **options):
        self.count = 1 + max([*tokenizer["model"]["vocab"].values(), *(t["id"] for t in tokenizer["added_tokens"])])
        self.weights = Weights(self.count, kind=number)
        model = Model(self.weights, form, **options)
        if merge:
            model.merge()
        model.save(self.path)
        (self.folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        (self.folder / "config.json").write_text(json.dumps({"max_position_embeddings": CONTEXT, **(config or {})}))

    def run_tool(self, *arguments, status=0, device="cpu", path=None):
        done = subprocess.run([PROGRAM, "generate", path or self.path, *map(str, arguments)], capture_output=True,
                              check=False, env={**os.environ, "WEBNN_DEVICE": device})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def result(self, *arguments, **options):
        return json.loads(self.run_tool(*arguments, "--json", "-", **options).stdout)

    def text_of(self, tokens):
        known = {c: i for i, c in enumerate(small_model.CHARACTERS)}
        words = small_model.CHARACTERS + [m.replace(" ", "") for m in small_model.MERGES]
        return b"".join(bytes(known[c] for c in words[t]) if t < len(words) else b"USER" if t == len(words) + 3 else b""
                        for t in tokens)

    def expect(self, prompt, count):
        """Returns the tokens of the prompt, and those of the reference after it, none of which ends a text."""
        tokens = self.result("-p", prompt, "-n", 1)["prompt_tokens"]
        want = self.weights.expect(tokens, count)
        self.assertGreater(len(set(want)), min(count, 5) - 1)
        self.assertFalse({self.count - 4, self.count - 2} & set(want), "a token ends the text")
        return tokens, want

    def check_text(self, prompt, want, device="cpu", **options):
        done = self.run_tool("-p", prompt, "--temperature", 0, "-n", len(want), device=device, **options)
        self.assertEqual(done.stdout, self.text_of(want) + b"\n")
        return done

    def test_greedy(self):
        for form in (APPENDED, SUMMED, SHARED):
            for merge in (False, True):
                with self.subTest(form=form, merge=merge):
                    self.save(pair_json(), form, merge=merge)
                    _, want = self.expect("the end", 20)
                    self.check_text("the end", want)
                    self.check_text("the end", want[:4], "sim")

    def test_blocks(self):
        """Tests prompts that fill a block and a part of another."""
        text = "a1234 12 the end xyz, a thenaaaaa's the; b c d 09 the q r s"
        for form, block in ((APPENDED, 32), (SHARED, 32), (SUMMED, 1)):
            with self.subTest(form=form):
                self.save(pair_json(), form)
                tokens, want = self.expect(text, 40)
                self.assertIn(len(tokens), range(33, CONTEXT - 40))
                self.check_text(text, want)
                self.check_text(text, want[:4], "sim")
                self.assertEqual(self.result("-p", text, "-n", 1, "--context", CONTEXT)["block"], block)
        # The places after the prompt are too few for its last block.
        self.save(pair_json())
        _, want = self.expect(text, 4)
        self.check_text(text, want)

    def test_halves(self):
        """Tests a model of float16 whose scores are float."""
        self.save(pair_json(), number=np.float16, kind=TensorProto.FLOAT16)
        tokens, want = self.expect("the end", 8)
        for i in range(8):
            best = np.sort(self.weights.reference(tokens + want[:i]))
            self.assertGreater(best[-1] - best[-2], 0.01)
        self.check_text("the end", want)
        self.check_text("the end", want[:3], "sim")

    def test_last(self):
        """Tests that a model with logits of its last token alone gets one token at a time."""
        self.save(pair_json(), last=True)
        _, want = self.expect("the end", 8)
        self.check_text("the end", want)
        self.assertEqual(self.result("-p", "the end", "-n", 9)["block"], 1)

    def test_long_name(self):
        """Tests a model whose last product reads a tensor with a long name."""
        self.save(pair_json())
        _, want = self.expect("the end", 4)
        model = onnx.load(self.path)
        name = model.graph.node[-1].input[0]
        for node in model.graph.node:
            for part in (node.input, node.output):
                part[:] = ["x" * 300 if text == name else text for text in part]
        onnx.save_model(model, self.path)
        self.check_text("the end", want)

    def test_places(self):
        """Tests weights that have both bytes and external data: the bytes count."""
        self.save(pair_json())
        _, want = self.expect("the end", 4)
        model = onnx.load(self.path)
        for tensor in model.graph.initializer:
            for i in range(40):
                tensor.external_data.add(key=f"key{i}", value="x" * 100)
        onnx.save_model(model, self.path)
        self.check_text("the end", want)

    def test_caches(self):
        """Tests what a step on the NPU writes: the rows of its token, or whole caches where the graph computes positions
        in another way than from an input.
        """
        written = {}
        for form in (APPENDED, SHARED, SUMMED):
            self.save(pair_json(), form)
            written[form] = [self.result("-p", "a", "--temperature", 0, "-n", 4, "--context", length,
                                         device="sim")["bytes_written_per_token"] for length in (16, 48)]
        self.assertEqual(written[APPENDED][0], written[APPENDED][1])
        self.assertEqual(written[SHARED][0], written[SHARED][1])
        self.assertGreaterEqual(written[SUMMED][1] - written[SUMMED][0], (48 - 16) * 2 * LAYERS * HEADS * SIZE * 4)
        self.assertIn(b'because the model has no input "position_ids"', self.run_tool("-p", "a", "-n", 2).stderr)

    def test_tokens(self):
        for split in SPLITS:
            self.save(pair_json(split))
            path = self.folder / "same.gguf"
            small_model.small(small_model.pair_tokenizer, split)[0].save(path)
            for text in TEXTS:
                want = self.result("-p", text, "-n", 1, path=path)["prompt_tokens"]
                # By default, a file of GGUF with llama-bpe puts a token in front of each text; this
                # tokenizer.json does not.
                want = want[1:] if split == "llama-bpe" else want
                self.assertEqual(self.result("-p", text, "-n", 1)["prompt_tokens"], want, (split, text))

    def test_scores(self):
        self.save(score_json())
        tokens = list(score_json()["model"]["vocab"])
        for text, want in (("aba", ["<s>", "▁a", "ba"]), ("ab", ["<s>", "▁ab"]), ("é", ["<s>", "▁", "<0xC3>", "<0xA9>"])):
            self.assertEqual([tokens[t] for t in self.result("-p", text, "-n", 1)["prompt_tokens"]], want)
        words = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}
        self.save(score_json(normalizer=None, pre_tokenizer=words))
        self.assertEqual([tokens[t] for t in self.result("-p", "ab", "-n", 1)["prompt_tokens"]], ["<s>", "ab"])

    def test_ends(self):
        """Tests that the end token of config.json ends the answer."""
        self.save(pair_json())
        first = self.weights.expect(self.result("-p", "a", "-n", 1)["prompt_tokens"], 1)[0]
        self.save(pair_json(), config={"eos_token_id": [first, 3]})
        result = self.result("-p", "a", "--temperature", 0)
        self.assertEqual((result["end"], result["tokens"]), ("end", 0))
        self.save(pair_json())
        self.assertEqual(self.result("-p", "aaa", "--temperature", 0, "-n", 999)["length"], CONTEXT)

    def test_window(self):
        """Tests that a text is not longer than a window of attention, unless a buffer is shared."""
        for form, more, length in ((APPENDED, {}, 20), (APPENDED, {"use_sliding_window": False}, CONTEXT),
                                   (SHARED, {}, CONTEXT)):
            self.save(pair_json(), form, config={"sliding_window": 20, **more})
            self.assertEqual(self.result("-p", "aaa", "--temperature", 0, "-n", 999)["length"], length)

    def test_more(self):
        """Tests that outputs beside logits and caches are not computed."""
        for form in (APPENDED, SHARED):
            self.save(pair_json(), form)
            plain = self.result("-p", "a", "-n", 2)["cpu_operators"]
            self.save(pair_json(), form, more=["hidden_states"])
            self.assertEqual(self.result("-p", "a", "-n", 2)["cpu_operators"], plain)

    def test_names(self):
        self.save(pair_json(), past="old_", present="new_")
        self.refuses('its input "old_0.key" is unknown; known are input_ids, attention_mask, position_ids and those '
                     'that begin with "past_key_values." (--past)')
        # A cache that is updated in place needs no output of the file.
        self.run_tool("-p", "a", "-n", 3, "--past", "old_")
        self.save(pair_json(), SHARED, past="old_", present="new_")
        self.refuses('its input "old_0.key" has no output "present.0.key": give --present', "--past", "old_")
        done = self.run_tool("-p", "a", "-n", 3, "--past", "old_", "--present", "new_", "--temperature", 0)
        self.assertEqual(done.stdout, self.text_of(self.weights.expect([small_model.CHARACTERS.index("a")], 3)) + b"\n")

    def test_server(self):
        self.save(pair_json(), SHARED)
        (self.folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "<|im_start|>"}))
        want = self.result("--chat", "-p", "a", "-n", 9, "--seed", 2, "--context", CONTEXT)
        server = Server(PROGRAM, self.path)
        answer = server.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "max_tokens": 9,
                                                     "seed": 2})
        self.assertEqual(answer[0], 200, answer)
        self.assertEqual(text_of(answer[1])[0], want["text"])
        self.assertEqual(server.close(), (0, ""))

    def refuses(self, message, *options):
        done = self.run_tool("-p", "a", *options, status=2)
        self.assertEqual(done.stderr.decode(), f"webnn-run: {self.path}: {message}\n")

    def test_refusals(self):
        for tokenizer, message in (
                (pair_json(model={"type": "Unigram", "vocab": {"a": 0}}),
                 'tokenizer.json: its model is "Unigram", which cannot be used; BPE can'),
                (pair_json(model={"type": "BPE", "vocab": {"a": 0}}),
                 "tokenizer.json: its model has no merges, which one of the kind BPE needs"),
                (pair_json(pre_tokenizer={**BYTES, "add_prefix_space": True}),
                 "tokenizer.json: its pre_tokenizer puts a space before each text (add_prefix_space), which cannot be done"),
                (pair_json(normalizer={"type": "Lowercase"}),
                 "tokenizer.json: its normalizer or pre_tokenizer \"Lowercase\" changes texts in a way that is unknown; known "
                 "are NFC and none"),
                (pair_json(pre_tokenizer={"type": "Whitespace"}),
                 "tokenizer.json: its pre_tokenizer \"Whitespace\" splits words in a way that is unknown; known are those of "
                 "GPT-2, SmolLM, Llama 3 and Qwen 2"),
                (pair_json(model={**pair_json()["model"], "merges": [1]}),
                 "tokenizer.json: model.merges has an item that is no pair of texts"),
                (pair_json(added_tokens=[{"id": -1, "content": "x"}]),
                 'tokenizer.json: the number of the token "x" is not from 0 to 272')):
            self.save(tokenizer)
            self.refuses(message)
        (self.folder / "tokenizer.json").write_text("{")
        self.refuses("tokenizer.json: line 1: string or '}' expected near end of file")
        (self.folder / "tokenizer.json").unlink()
        self.refuses("there is no tokenizer.json beside it or in the folder above: copy that of the model there")
        self.save(pair_json(), extra=["token_type_ids"])
        self.refuses('its input "token_type_ids" is unknown; known are input_ids, attention_mask, position_ids and '
                     'those that begin with "past_key_values." (--past)')
        self.save(pair_json(), kind=TensorProto.INT32)
        self.refuses(f'its input "past_key_values.0.key" is int32 [batch, {HEADS}, past, {SIZE}]; it has to be [batch, '
                     'heads, positions, size] of float or float16, with known heads and size')
        self.save(pair_json())
        model = onnx.load(self.path)
        for name, missing in (("input_ids", "input_ids"), ("attention_mask", "attention_mask"),
                              ("past_key_values.", "past_key_values.…")):
            part = onnx.ModelProto()
            part.CopyFrom(model)
            del part.graph.input[:]
            part.graph.input.extend(i for i in model.graph.input if not i.name.startswith(name))
            onnx.save(part, self.path)
            self.refuses(f'it is no decoder of texts: it has no input "{missing}"; needed are input_ids, attention_mask '
                         'and inputs that begin with "past_key_values." (--past)')
        logits = next(o for o in model.graph.output if o.name == "logits")
        del logits.type.tensor_type.shape.dim[0]
        onnx.save(model, self.path)
        self.refuses(f'its output "logits" is float [tokens, {self.count}]; it has to be [batch, tokens, vocabulary] of '
                     'float or float16, with a known vocabulary')
        logits.type.tensor_type.ClearField("shape")
        onnx.save(model, self.path)
        self.refuses('its output "logits" is float of unknown shape; it has to be [batch, tokens, vocabulary] of float or '
                     'float16, with a known vocabulary')
        cache = next(i for i in model.graph.input if i.name == "past_key_values.0.key")
        cache.type.tensor_type.ClearField("shape")
        onnx.save(model, self.path)
        self.refuses('its input "past_key_values.0.key" is float of unknown shape; it has to be [batch, heads, positions, '
                     'size] of float or float16, with known heads and size')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
