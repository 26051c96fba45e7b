#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the node tests of the installed onnx package to files: export_cases.py FOLDER.

Each test becomes a folder that onnx-cases reads, with its tolerances in the file "tolerance". The
package of the running Python may be newer than Debian's.
"""
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")

import onnx  # pylint: disable=wrong-import-position
import onnx.numpy_helper  # pylint: disable=wrong-import-position
from onnx.backend.test.case.node import collect_testcases  # pylint: disable=wrong-import-position


def to_proto(value, info):
    if isinstance(value, onnx.TensorProto):
        return value
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return onnx.numpy_helper.from_dict(value, info.name)
    if kind == "sequence_type":
        return onnx.numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return onnx.numpy_helper.from_optional(value, info.name)
    return onnx.numpy_helper.from_array(value, info.name)


def write(folder, case):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "tolerance").write_text(f"{case.rtol} {case.atol}\n", encoding="utf-8")
    for number, data in enumerate(case.data_sets):
        place = folder / f"test_data_set_{number}"
        place.mkdir()
        graph = case.model.graph
        for kind, infos, values in zip(("input", "output"), (graph.input, graph.output), data):
            for index, (info, value) in enumerate(zip(infos, values)):
                (place / f"{kind}_{index}.pb").write_bytes(
                    to_proto(value, info).SerializeToString())


def main():
    target = pathlib.Path(sys.argv[1])
    cases = collect_testcases()
    for case in cases:
        write(target / case.name, case)
    print(f"{len(cases)} cases of onnx {onnx.__version__}")


if __name__ == "__main__":
    main()
