# SPDX-License-Identifier: MIT
"""Writes down speech with ONNX Runtime, from a folder with decoder_model.onnx and decoder_with_past_model.onnx.

run() starts a process of its own, since the modules onnx and onnxruntime of Debian 13 do not go together in one.
"""
import pathlib
import subprocess
import sys

import numpy as np

SKIP = 77


def run(test, folder, mel, prompt, never, first, end, positions):
    """Returns tokens, the encoder's result, and the logits after the prompt, or skips @test.

    @never and @first mark tokens that are never taken, and that do not come first; @positions: most tokens with the prompt.
    """
    np.savez(folder / "in.npz", mel=mel[None].astype(np.float32), prompt=prompt, never=never, first=first, end=end,
             positions=positions)
    done = subprocess.run([sys.executable, "-B", __file__, folder], capture_output=True, check=False)
    if done.returncode == SKIP:
        test.skipTest("there is no ONNX Runtime for this Python")
    test.assertEqual(done.returncode, 0, done.stderr.decode())
    return np.load(folder / "out.npz")


def main():
    try:
        import onnxruntime
    except ImportError:
        return SKIP
    folder = pathlib.Path(sys.argv[1])
    given = np.load(folder / "in.npz")
    encode, begin, step = (onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in (
        "encoder_model", "decoder_model", "decoder_with_past_model"))
    heard, = encode.run(None, {"input_features": given["mel"]})
    prompt, tokens = given["prompt"].tolist(), []
    feeds = {"input_ids": np.array([prompt[:1]]), "encoder_hidden_states": heard}
    past = dict(zip([output.name for output in begin.get_outputs()], begin.run(None, feeds)))
    while len(prompt) + len(tokens) <= given["positions"]:
        for place in range(past["present.0.decoder.key"].shape[2], len(prompt) + len(tokens)):
            feeds = {name.replace("present", "past_key_values"): array for name, array in past.items() if name != "logits"}
            feeds["input_ids"] = np.array([[(prompt + tokens)[place]]])
            if any(value.name == "cache_position" for value in step.get_inputs()):
                feeds["cache_position"] = np.array([place])
            past.update(zip([output.name for output in step.get_outputs()], step.run(None, feeds)))
        after = past["logits"][0, -1]
        if not tokens:
            logits = after.copy()
        token = int(np.argmax(np.where(given["never"] if tokens else given["first"], -np.inf, after)))
        if token == given["end"]:
            break
        tokens.append(token)
    np.savez(folder / "out.npz", tokens=tokens, heard=heard, logits=logits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
