#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares webnn-run transcribe for small Whisper models with numpy. test_transcribe.py WEBNN_RUN"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

import whisper_onnx
import whisper_runtime
from wav_file import FLOAT, wav
from whisper_onnx import CACHE_POSITION, GATHERED, SLICED, SPECIAL, TIMES, Reference, Sizes, log_mel

PROGRAM = sys.argv[1]
SIZES = Sizes()
# Texts of one byte, as byte pairs write them: "Ġ" is a space.
CHARACTERS = [chr(i if i in (*range(33, 127), *range(161, 173), *range(174, 256)) else 0) for i in range(256)]
OTHERS = iter(range(256, 512))
CHARACTERS = [c if ord(c) else chr(next(OTHERS)) for c in CHARACTERS]
TOKENS = {text: len(CHARACTERS) + i for i, text in enumerate(SPECIAL)}
END, START, PLAIN = (TOKENS[text] for text in ("<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"))
SUPPRESSED, FIRST_SUPPRESSED = [5, 7, 40], [32, END]


def tokenizer(**changes):
    times = [f"<|{i * 0.02:.2f}|>" for i in range(TIMES)]
    return {"added_tokens": [{"id": len(CHARACTERS) + i, "content": text, "special": text in SPECIAL}
                             for i, text in enumerate(SPECIAL + times)],
            "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(CHARACTERS)}, "merges": []}, **changes}


def speech(seconds, seed=1):
    rng = np.random.default_rng(seed)
    at = np.arange(int(seconds * 16000)) / 16000
    x = sum(np.sin(2 * np.pi * f * at * (1 + 0.1 * np.sin(3 * at))) for f in rng.uniform(100, 3000, 4)) / 5
    return np.round(x * 32768) / 32768


class Expected:
    """The tokens of a recording, by numpy."""
    def __init__(self, weights, sizes=SIZES, suppressed=SUPPRESSED, first=FIRST_SUPPRESSED, multilingual=True):
        self.reference, self.sizes, self.multilingual = Reference(weights, sizes), sizes, multilingual
        self.never = np.zeros(sizes.tokens, bool)
        self.never[list(suppressed)] = True
        self.never[[*TOKENS.values(), *range(PLAIN + 1, sizes.tokens)]] = True
        self.never[END] = END in suppressed
        self.first = self.never.copy()
        self.first[list(first)] = True

    def tokens(self, samples, language=None, task="<|transcribe|>", most=99):
        """Returns the tokens of a part and that of its language; all choices must be clear ones."""
        heard = self.reference.encode(log_mel(samples, self.sizes.mels, 2 * self.sizes.heard))
        prompt = [START]
        if self.multilingual:
            languages = [TOKENS["<|en|>"], TOKENS["<|de|>"]]
            logits = self.reference.logits(heard, prompt)
            language = TOKENS[f"<|{language}|>"] if language else max(languages, key=lambda token: logits[token])
            prompt += [language, TOKENS[task]]
        prompt.append(PLAIN)
        result, self.margin = [], np.inf
        while len(result) < most and len(prompt) + len(result) <= self.sizes.positions:
            logits = self.reference.logits(heard, prompt + result)
            logits[self.never if result else self.first] = -np.inf
            best = np.sort(logits)
            self.margin = min(self.margin, best[-1] - best[-2])
            token = int(np.argmax(logits))
            if token == END:
                break
            result.append(token)
        return result, language


def text_of(tokens):
    return bytes(tokens).removeprefix(b" ")


class Transcribe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "x.wav"
        self.samples = speech(0.9)
        self.path.write_bytes(wav(self.samples))

    def save(self, form=SLICED, merge=False, folder=None, seed=1, weights=None, **options):
        self.weights = weights or whisper_onnx.random_weights(SIZES, seed)
        whisper_onnx.save_folder(folder or self.folder, self.weights, SIZES, form, merge)
        whisper_onnx.save_configuration(self.folder, SIZES, options.pop("tokenizer", None) or tokenizer(),
                                        **{"suppress_tokens": SUPPRESSED, "begin_suppress_tokens": FIRST_SUPPRESSED,
                                           **options})

    def run_tool(self, *arguments, status=0, device="cpu", folder=None, path=None):
        done = subprocess.run([PROGRAM, "transcribe", folder or self.folder, path or self.path, *map(str, arguments)],
                              capture_output=True, check=False, env={**os.environ, "WEBNN_DEVICE": device})
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def result(self, *arguments, **options):
        return json.loads(self.run_tool(*arguments, "--json", "-", **options).stdout)

    def check(self, tokens, *arguments, **options):
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.stdout, text_of(tokens) + b"\n")
        return done

    def test_path(self):
        """Tests that --json has a name of a file that is not UTF-8, with "?" for the other bytes."""
        self.save()
        path = self.path.rename(self.folder / "x\udce8.wav")
        result = self.result("-l", "en", path=path)
        self.assertEqual((result["model"], result["audio"]), (str(self.folder), f"{self.folder}/x?.wav"))

    def test_forms(self):
        """Tests that all forms of decoders write the text of the reference, on the CPU and on the model of the NPU."""
        for form in (SLICED, GATHERED, CACHE_POSITION):
            for merge in (False, True):
                with self.subTest(form=form, merge=merge):
                    for old in self.folder.glob("*.onnx"):
                        old.unlink()
                    self.save(form, merge)
                    expected = Expected(self.weights)
                    want, _ = expected.tokens(self.samples)
                    self.assertGreater(len(set(want)), 5, want)
                    self.assertGreater(expected.margin, 1e-3)
                    self.check(want)
                    self.check(want, device="sim")

    def test_halves(self):
        """Tests models of float16, in which all caches and the mask have this type."""
        halves = {name: array.astype(np.float16) for name, array in whisper_onnx.random_weights(SIZES, 3).items()}
        for merge in (False, True):
            self.save(CACHE_POSITION, merge, weights=halves)
            expected = Expected(halves)
            want, _ = expected.tokens(self.samples, most=8)
            self.assertGreater(expected.margin, 0.02)
            for device in ("cpu", "sim"):
                self.check(want, "-n", 8, device=device)

    def test_onnx_runtime(self):
        """Tests that the files themselves compute the reference with ONNX Runtime, appending to caches."""
        for form in (SLICED, GATHERED, CACHE_POSITION):
            self.save(form)
            expected = Expected(self.weights)
            want, language = expected.tokens(self.samples)
            prompt = [START, language, TOKENS["<|transcribe|>"], PLAIN]
            result = whisper_runtime.run(self, self.folder, log_mel(self.samples, SIZES.mels, 2 * SIZES.heard), prompt,
                                         expected.never, expected.first, END, SIZES.positions)
            self.assertEqual(result["tokens"].tolist(), want)
            logits = Reference(self.weights, SIZES).logits(result["heard"][0].astype(np.float64), prompt)
            self.assertLess(np.abs(result["logits"] - logits).max(), 1e-3)

    def test_result(self):
        self.save()
        want, language = Expected(self.weights).tokens(self.samples)
        result = self.result("-t", 1)
        self.assertEqual((result["tokens"], result["seconds"], result["device"]), (len(want), 0.9, "cpu"))
        part, = result["parts"]
        self.assertEqual((part["begin"], part["end"], part["tokens"]), (0, 0.9, len(want)))
        self.assertEqual(TOKENS[f"<|{part['language']}|>"], language)
        self.assertEqual((result["npu_operators"], "cycles_per_token" in result), (0, False))
        result = self.result(device="sim")
        self.assertGreater(min(result["npu_operators"], result["cycles_per_token"]), 0)
        self.assertIn(b"for one token", self.run_tool().stderr)

    def test_caches(self):
        """Tests that nothing of a recording stays for the next part, and that caches may be full."""
        self.save()
        expected = Expected(self.weights, suppressed=[*SUPPRESSED, END])
        self.save(suppress_tokens=[*SUPPRESSED, END])
        want, _ = expected.tokens(self.samples)
        self.assertEqual(len(want), SIZES.positions - 3)
        self.check(want)
        self.check(want[:6], "-n", 6)

    def test_language(self):
        self.save()
        for language in ("en", "de"):
            for options, task in (((), "<|transcribe|>"), (("--translate",), "<|translate|>")):
                want, _ = Expected(self.weights).tokens(self.samples, language, task)
                self.check(want, "--language", language, *options)
                self.assertEqual(self.result("-l", language, *options)["parts"][0]["language"], language)
        self.refuses("the model has no language 'xx': --language takes a code such as en, de or zh", "-l", "xx")
        self.refuses("the model has no language 'transcribe': --language takes a code such as en, de or zh",
                     "-l", "transcribe")
        self.save(is_multilingual=False)
        want, _ = Expected(self.weights, multilingual=False).tokens(self.samples)
        self.check(want)
        self.check(want, "-l", "en")
        self.assertNotIn("language", self.result()["parts"][0])
        self.refuses("the model knows English alone, not 'de': leave out --language", "-l", "de")
        self.refuses("the model knows English alone and does not translate: leave out --translate", "--translate")

    def test_suppressed(self):
        """Tests the lists: those of generation_config.json, else those of config.json, else none."""
        self.save(suppress_tokens=[], begin_suppress_tokens=[])
        free, _ = Expected(self.weights, suppressed=[], first=[]).tokens(self.samples)
        self.check(free)
        self.save(suppress_tokens=free[1:3], begin_suppress_tokens=[-1, 10 ** 9, free[0]])
        want, _ = Expected(self.weights, suppressed=free[1:3], first=free[:1]).tokens(self.samples)
        self.assertNotEqual(want, free)
        self.check(want)
        (self.folder / "generation_config.json").unlink()
        config = json.loads((self.folder / "config.json").read_text())
        config.update(suppress_tokens=free[1:3], begin_suppress_tokens=free[:1])
        (self.folder / "config.json").write_text(json.dumps(config))
        # By its number of tokens, a model without generation_config.json knows English alone.
        self.check(Expected(self.weights, suppressed=free[1:3], first=free[:1], multilingual=False).tokens(self.samples)[0])

    def test_parts(self):
        """Tests that a long recording is cut at its quietest place near the end of what the model hears at once."""
        self.save()
        samples = speech(2.4)
        second = 16000
        samples[int(0.90 * second):int(1.04 * second)] = 0
        self.path.write_bytes(wav(samples))
        result = self.result()
        parts = result["parts"]
        self.assertEqual([parts[0]["begin"], parts[-1]["end"]], [0, 2.4])
        self.assertTrue(0.9 < parts[0]["end"] <= 1, parts)
        self.assertEqual(len(parts), 3)
        expected, text = Expected(self.weights), b""
        for before, part in zip([None, *parts], parts):
            begin, end = (int(round(part[name] * second)) for name in ("begin", "end"))
            self.assertEqual(part["begin"], before["end"] if before else 0)
            self.assertLessEqual(end - begin, second)
            text += bytes(expected.tokens(samples[begin:end])[0])
        self.assertEqual(self.run_tool().stdout, text.removeprefix(b" ") + b"\n")
        self.assertEqual("".join(part["text"] for part in parts), result["text"])

    def test_folders(self):
        """Tests models in a folder onnx, beside which the other files are."""
        (self.folder / "onnx").mkdir()
        self.save(folder=self.folder / "onnx", merge=True)
        self.check(Expected(self.weights).tokens(self.samples)[0])

    def refuses(self, message, *options, status=2, name="encoder_model.onnx", folder=None):
        done = self.run_tool(*options, status=status, folder=folder)
        self.assertEqual(done.stderr.decode(), f"webnn-run: {self.folder / name}: {message}\n")

    def test_missing(self):
        export = ("export the model with optimum-cli export onnx --task "
                  "automatic-speech-recognition-with-past")
        for name, message in (
                ("decoder_with_past_model.onnx", "decoder_model_merged.onnx or decoder_with_past_model.onnx"),
                ("decoder_model.onnx", "decoder_model_merged.onnx or decoder_model.onnx"),
                ("encoder_model.onnx", "encoder_model.onnx")):
            self.save()
            (self.folder / name).unlink()
            done = self.run_tool(status=2)
            self.assertEqual(done.stderr.decode(), f"webnn-run: {self.folder}: neither this folder nor the folder \"onnx\" "
                                                   f"in it has {message}; {export}\n")
        self.save()
        for name, message in (
                ("tokenizer.json", "there is no tokenizer.json beside it or in the folder above: copy that of the model there"),
                ("config.json", "there is no config.json beside it or in the folder above: copy that of the model there")):
            (self.folder / name).unlink()
            self.refuses(message)
        absent = self.folder / "absent"
        for path, reason in ((absent, "this folder cannot be read: No such file or directory; give the one that has"),
                             (self.path, "it is no folder: give the one that has")):
            done = self.run_tool(status=2, folder=path)
            self.assertEqual(done.stderr.decode(), f"webnn-run: {path}: {reason} encoder_model.onnx\n")
        self.save()
        done = self.run_tool(status=3, path=absent)
        self.assertEqual(done.stderr.decode(), f"webnn-run: {absent}: cannot be read: No such file or directory\n")
        self.path.write_bytes(wav([np.nan], bits=32, encoding=FLOAT))
        done = self.run_tool(status=3)
        self.assertEqual(done.stderr.decode(), f"webnn-run: {self.path}: sample 0 of the recording is not a number, or far "
                                               "outside of -1 to 1, the range of sound; record it again with another "
                                               "program\n")

    def test_configurations(self):
        def change(name, **changes):
            self.save()
            path = self.folder / name
            path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        change("config.json", d_model=None)
        self.refuses('config.json beside it has no number "d_model"')
        change("config.json", max_target_positions=7)
        self.refuses('in config.json beside it, "max_target_positions" is 7; 8 to 65536 are possible')
        change("config.json", decoder_attention_heads=3)
        self.refuses('in config.json beside it, "decoder_attention_heads" is 3, which does not divide "d_model", 32')
        change("preprocessor_config.json", hop_length=161)
        self.refuses('in preprocessor_config.json beside it, "hop_length" is 161; 160 is possible')
        (self.folder / "preprocessor_config.json").write_text("{")
        self.refuses("preprocessor_config.json: line 1: string or '}' expected near end of file")
        for text in ("<|startoftranscript|>", "<|endoftext|>", "<|notimestamps|>", "<|transcribe|>"):
            self.save(tokenizer=tokenizer(added_tokens=[t for t in tokenizer()["added_tokens"] if t["content"] != text]))
            self.refuses(f'tokenizer.json has no token "{text}", which Whisper needs')
        none = [t for t in tokenizer()["added_tokens"] if t["content"] not in ("<|en|>", "<|de|>")]
        for i, token in enumerate(none):
            token["id"] = len(CHARACTERS) + i
        self.save(tokenizer=tokenizer(added_tokens=none))
        no_languages = ("no token of a language follows <|startoftranscript|> in tokenizer.json: give --language, or the "
                        "tokenizer.json of this model")
        self.refuses(no_languages)
        # These tokens are too short to be a code between <| and |>.
        short = {"<|en|>": "a~", "<|de|>": "b~"}
        self.save(tokenizer=tokenizer(added_tokens=[{**t, "content": short.get(t["content"], t["content"])}
                                                    for t in tokenizer()["added_tokens"]]))
        self.refuses(no_languages, "--json", "-")
        self.save(tokenizer=tokenizer(added_tokens=tokenizer()["added_tokens"] + [{"id": 999, "content": "x"}]))
        self.refuses("the tokenizer has 1000 tokens, but the model only 270: use the tokenizer of this model",
                     name="decoder_with_past_model.onnx")

    def change(self, name, change):
        model = onnx.load(self.folder / f"{name}.onnx")
        change(model.graph)
        onnx.save(model, self.folder / f"{name}.onnx")

    def change_decoder(self, change, name="decoder_with_past_model"):
        self.save()
        self.change(name, change)

    def test_graphs(self):
        def name_nodes(kind, text):
            def change(graph):
                for node in graph.node:
                    if node.op_type == kind:
                        node.op_type = text
            return change

        def keep_past(graph):
            del graph.input[1:]

        def read_twice(graph):
            graph.node.append(onnx.helper.make_node("Neg", ["past_key_values.0.decoder.key"], ["n"], name="/n"))

        def no_append(graph):
            for node in graph.node:
                if node.op_type == "Concat":
                    node.input[0] = node.input[1]

        def more_input(graph):
            graph.input.append(onnx.helper.make_tensor_value_info("past_lengths", onnx.TensorProto.INT64, ["n"]))
            graph.node.append(onnx.helper.make_node("Neg", ["past_lengths"], ["n"]))

        def no_cross(graph):
            del graph.output[1:]

        def half(graph):
            for n in graph.node:
                n.output[:] = ["full" if name == "last_hidden_state" else name for name in n.output]
            graph.node.append(onnx.helper.make_node("Cast", ["full"], ["last_hidden_state"],
                                                    to=onnx.TensorProto.FLOAT16))
            graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16

        self.change_decoder(half, "encoder_model")
        self.refuses('tensor "encoder_hidden_states" has type float32 and 1600 elements, but elsewhere in the '
                     "model type float16 and 1600 elements; use files of one export, also its config.json",
                     name="decoder_model.onnx")
        step = "decoder_with_past_model.onnx"
        self.change_decoder(keep_past)
        self.refuses('it has no input "past_key_values.0.decoder.key": a decoder with a past is needed, which the task '
                     "automatic-speech-recognition-with-past exports", name=step)
        self.change_decoder(read_twice)
        self.refuses('node "/n" (Neg) reads the cache "past_key_values.0.decoder.key", but only Shape and one '
                     "Concat may, which appends to the cache on axis 2; export the model without optimisation", name=step)
        self.change_decoder(no_append)
        self.refuses('no Concat of the model appends to its cache, the input "past_key_values.0.decoder.key"; export the '
                     'model with caches that grow by new tokens', name=step)
        self.change_decoder(name_nodes("Softmax", "Hardmax"))
        self.refuses('no Softmax is found in the attention that reads the cache "past_key_values.0.decoder.key"; export '
                     "the model without fused attention", name=step)
        self.change_decoder(name_nodes("Slice", "Split"))
        self.refuses("0 nodes read rows of the weights of positions [max_target_positions 24, d_model 32], but exactly one "
                     "must; use the config.json of this model, or export the model with optimum-cli", name=step)
        self.change_decoder(more_input)
        self.refuses('its input "past_lengths" is unknown; known are input_features, input_ids, encoder_hidden_states, '
                     'cache_position, use_cache_branch and those that begin with "past_key_values."', name=step)
        self.change_decoder(no_cross, "decoder_model")
        self.refuses("it has no output present.0.encoder.key: a decoder that gives keys and values is needed, which the task "
                     "automatic-speech-recognition-with-past exports", name="decoder_model.onnx")
        self.save()
        (self.folder / step).write_bytes(b"x")
        self.assertIn(step.encode(), self.run_tool(status=2).stderr)

    def test_names(self):
        """Tests an output of the encoder that has the name of an input which the decoders do not have."""
        def give_tokens(graph):
            graph.node.append(onnx.helper.make_node("Cast", ["last_hidden_state"], ["input_ids"], to=onnx.TensorProto.INT64))
            graph.output.append(onnx.helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, [1, 50, 32]))

        def take_none(graph):
            del graph.input[0]
            graph.initializer.append(onnx.numpy_helper.from_array(np.array([[1]]), "input_ids"))

        self.save()
        for name, change in (("encoder_model", give_tokens), ("decoder_model", take_none),
                             ("decoder_with_past_model", take_none)):
            self.change(name, change)
        self.refuses("the encoder needs an input input_features, and the decoder an input input_ids, and no output may have "
                     "such a name; export the model again")

    def test_numbers(self):
        """Tests that a model of which nothing but NaN comes is refused in a sentence."""
        weights = whisper_onnx.random_weights(SIZES)
        weights["decoder.norm.bias"] = weights["decoder.norm.bias"] * np.nan
        self.save(weights=weights)
        self.refuses("the model gives no token: the logit of each token of text is NaN or -infinity, or generation_config.json "
                     "or config.json suppresses the token; export the model again, in float32 and with these files of its "
                     "own", "-l", "en",
                     name="decoder_with_past_model.onnx")

    def test_usage(self):
        for arguments, message in (
                ([], "the folder of a model and a WAV file are needed"),
                (["a", "b", "c"], "only one recording can be given; 'c' is a second one"),
                (["a", "b", "-n", "0"], "--max-tokens takes a number from 1 to 2147483647, not '0'"),
                (["a", "b", "-d", "tpu"], "there is no device 'tpu'")):
            done = subprocess.run([PROGRAM, "transcribe", *arguments], capture_output=True, check=False)
            self.assertEqual(done.returncode, 64)
            self.assertIn(message, done.stderr.decode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
