# SPDX-License-Identifier: MIT
"""Runs a model of ONNX, and says where its nodes run: onnx_model.py MODEL DEVICE"""
import sys

import numpy as np
import webnn_npu.onnx

session = webnn_npu.onnx.Session(sys.argv[1], device=sys.argv[2])
feeds = {arg.name: np.ones([size if isinstance(size, int) else 1 for size in arg.shape], arg.data_type)
         for arg in session.get_inputs()}
for arg, value in zip(session.get_outputs(), session.run(None, feeds)):
    print(arg.name, *(f"{number:g}" for number in np.ravel(value)[:8]))
for row in session.placement():
    print(row["operator"], row["label"] or "-", row["device"])
