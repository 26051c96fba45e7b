#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the demo wrote: check-demo.py FILE.

On each device at least 99.4 % of the held-out digits must be right, NPU and CPU must agree on every
picture, and no operator may run on the CPU. When SqueezeNet's weights are beside the checkout, its
best five classes must be the expected ones in order, with probabilities within 1e-4.
"""

import json
import os
import sys

import numpy

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "models")

ACCURACY = 0.994

problems = []


def expect(condition, message):
    if not condition:
        problems.append(message)


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def member(data, path, kind):
    """Returns data.a.b for the path "a.b"; None, with a problem noted, when it is missing or is not of
    type kind.
    """
    value = data
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            problems.append(f"'{path}' is missing")
            return None
        value = value[name]
    if not (number(value) if kind is float else isinstance(value, kind) and value is not True):
        problems.append(f"'{path}' is {value!r}, no {kind.__name__}")
        return None
    return value


def devices(data):
    """Returns the device that ran, then the devices with which it is compared."""
    order = ["npu", "sim", "cpu"]
    first = data.get("device")
    return order[order.index(first):] if first in order else []


def check_digits(data):
    count = member(data, "digits.count", int)
    accuracy = member(data, "digits.accuracy", float)
    agree = member(data, "digits.agree", int)
    on_cpu = member(data, "nodes.cpu", int)
    on_npu = member(data, "nodes.npu", int)
    member(data, "nodes.folded", int)
    if count is not None:
        expect(count >= 100, f"only {count} held-out digits")
        expect(agree == count, f"the NPU agrees with the CPU on {agree} of {count} digits")
    if accuracy is not None:
        expect(ACCURACY <= accuracy <= 1, f"accuracy is {accuracy}, not between {ACCURACY} and 1")
    for name in devices(data):
        right = member(data, f"digits.right.{name}", int)
        if right is not None and count:
            expect(ACCURACY <= right / count <= 1, f"{name} has {right} of {count} digits right")
    expect(on_cpu == 0, f"{on_cpu} operators on the CPU")
    expect(on_npu is None or on_npu > 0, "no operator on the NPU")
    check_bits(data, "digits")


def check_bits(data, network):
    """Checks that the NPU behind its driver gives the bits that its model gives."""
    if data.get("device") != "npu":
        return
    count = member(data, f"{network}.count", int)
    same = member(data, f"{network}.same_bits_as_sim", int)
    expect(same == count, f"{network}: {same} of {count} results have the bits of sim")


def class_number(entry):
    """Returns the number of a class of the top five, from a number, an object or a list."""
    if isinstance(entry, dict):
        return next((entry[key] for key in ("class", "index", "id") if key in entry), entry)
    return entry[0] if isinstance(entry, list) and entry else entry


def check_squeezenet(data):
    expected_file = os.path.join(MODELS, "squeezenet", "expected_output.npy")
    if not os.path.exists(expected_file):
        return
    expected = numpy.load(expected_file).reshape(-1)
    wanted = [int(i) for i in numpy.argsort(-expected, kind="stable")[:5]]
    top5 = member(data, "squeezenet.top5", list)
    error = member(data, "squeezenet.max_error", float)
    if top5 is not None:
        got = [class_number(entry) for entry in top5]
        expect(got == wanted, f"SqueezeNet's top five are {got}, expected {wanted}")
    check_bits(data, "squeezenet")
    if error is not None:
        expect(0 <= error <= 1e-4, f"SqueezeNet's largest error is {error}, above 1e-4")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    device = member(data, "device", str)
    expect(device != "cpu", "the demo ran on the CPU")
    check_digits(data)
    check_squeezenet(data)
    cycles = member(data, "cycles", int)
    share = member(data, "share_of_peak", float)
    expect(cycles is None or cycles > 0, f"{cycles} cycles")
    expect(share is None or 0 < share <= 1, f"share of peak is {share}, not between 0 and 1")
    for problem in problems:
        print(f"demo: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
