# SPDX-License-Identifier: MIT
"""Tests how the library chooses among three NPUs, for guest_devices.sh. Prints a line for each
test: "ok: NAME", or "WHAT: NAME" where WHAT is what went wrong.
"""

import os

import numpy as np
import webnn_npu


def tell(name, seen, wanted):
    print(f"{'ok' if seen == wanted else f'{seen!r}'}: {name}", flush=True)


def busy(number):
    with open(f"/sys/class/accel/accel{number}/device/npu_busy_time_us", encoding="ascii") as file:
        return int(file.read())


def failure(**options):
    try:
        webnn_npu.ML().create_context(**options)
    except Exception as error:  # noqa: BLE001: the text is what is tested
        return str(error)
    return "no error"


def compute(context):
    builder = context.create_graph_builder()
    a = builder.input("a", [4], "float32")
    graph = builder.build({"c": builder.add(a, a)})
    tensors = [context.create_tensor([4], "float32", readable=True, writable=True) for _ in range(2)]
    context.write_tensor(tensors[0], np.arange(4, dtype="f4"))
    context.dispatch(graph, {"a": tensors[0]}, {"c": tensors[1]})
    return context.read_tensor(tensors[1]).tolist()


def main():
    npus = [device for device in webnn_npu.ML.devices() if device["device"] == "npu"]
    tell("the library lists all NPUs", [(npu["node_path"], npu["usable"]) for npu in npus],
         [(f"/dev/accel/accel{number}", True) for number in range(3)])
    for number in 2, 0, 1:
        context = webnn_npu.ML().create_context(device=f"npu:{number}")
        before = [busy(i) for i in range(3)]
        result = compute(context)
        after = [busy(i) for i in range(3)]
        tell(f"npu:{number} computes", result, [0, 2, 4, 6])
        tell(f"npu:{number} and no other has worked", [after[i] > before[i] for i in range(3)],
             [i == number for i in range(3)])
        tell(f"the context tells that it is npu:{number}", context.device_info()["node_path"],
             f"/dev/accel/accel{number}")
    tell("npu is the first", webnn_npu.ML().create_context(device="npu").device_info()["node_path"],
         "/dev/accel/accel0")
    for number in 3, 64, 9999:
        tell(f"npu:{number} is an error that lists those that there are", failure(device=f"npu:{number}"),
             f"WNNContextDeviceOptions asks for the device npu, but the NPU's node /dev/accel/accel{number} does not open: "
             "No such file or directory; NPUs that open: npu:0, npu:1, npu:2")
    for name in "npu:", "npu:01", "npu:-1", "npu:1 ", "npu:10000":
        tell(f"'{name}' is no name", "allowed are npu, npu:NUMBER, sim and cpu" in failure(device=name), True)
    tell("a path beside the number is refused", "only one of them may choose the NPU" in
         failure(device="npu:1", node_path="/dev/accel/accel1"), True)
    os.environ["WEBNN_DEVICE"] = "npu:1"
    tell("WEBNN_DEVICE chooses by number", webnn_npu.ML().create_context().device_info()["node_path"],
         "/dev/accel/accel1")


if __name__ == "__main__":
    main()
