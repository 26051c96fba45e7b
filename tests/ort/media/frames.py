#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what GStreamer's element for ONNX attaches to three frames, one line for each: frames.py
MODEL OUTPUT

OUTPUT.fdinfo gets what the kernel knows of this process's open files, such as its time on an NPU.
"""
import pathlib
import struct
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstAnalytics", "1.0")
from gi.repository import Gst, GstAnalytics  # pylint: disable=wrong-import-position

MODEL, OUTPUT = sys.argv[1:]
Gst.init(None)
pipeline = Gst.parse_launch("videotestsrc num-buffers=3 pattern=ball ! video/x-raw,format=RGB,width=32,height=32 ! "
                            f'onnxinference model-file="{MODEL}" ! appsink name=sink')
sink = pipeline.get_by_name("sink")
pipeline.set_state(Gst.State.PLAYING)
with open(OUTPUT, "w", encoding="ascii") as output:
    while sample := sink.emit("pull-sample"):
        tensor = GstAnalytics.buffer_get_tensor_meta(sample.get_buffer()).get(0)
        mapped, info = tensor.data.map(Gst.MapFlags.READ)
        assert mapped
        print(*struct.unpack(f"{len(info.data) // 4}f", info.data), file=output)
with open(OUTPUT + ".fdinfo", "w", encoding="ascii") as output:
    for file in pathlib.Path("/proc/self/fdinfo").iterdir():
        output.write(file.read_text(encoding="ascii") if file.exists() else "")
message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
sys.exit(message.parse_error()[0].message if message else 0)
