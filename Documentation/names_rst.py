# SPDX-License-Identifier: MIT
"""Makes the table of operators with their names in JavaScript, C and ONNX:
names_rst.py WEBNN_JSON ONNX_RST PAGE

The names in ONNX are in this script. It fails when the importer does not know one of them, or when
one belongs to no operator of WebNN.
"""
import json
import pathlib
import re
import sys

# Where the name in ONNX is not that in WebNN with a capital letter. "": ONNX has none.
ONNX = {
    "argMax": "ArgMax", "argMin": "ArgMin", "averagePool2d": "AveragePool, GlobalAveragePool",
    "batchNormalization": "BatchNormalization", "clamp": "Clip", "conv2d": "Conv",
    "convTranspose2d": "ConvTranspose", "cumulativeSum": "CumSum",
    "dequantizeLinear": "DequantizeLinear", "gatherElements": "GatherElements",
    "gatherND": "GatherND", "greaterOrEqual": "GreaterOrEqual", "gru": "GRU", "gruCell": "",
    "hardSigmoid": "HardSigmoid", "hardSwish": "HardSwish",
    "instanceNormalization": "InstanceNormalization", "isInfinite": "IsInf", "isNaN": "IsNaN",
    "l2Pool2d": "LpPool, GlobalLpPool", "layerNormalization": "LayerNormalization",
    "leakyRelu": "LeakyRelu", "lesserOrEqual": "LessOrEqual", "lesser": "Less", "linear": "",
    "logicalAnd": "And", "logicalNot": "Not", "logicalOr": "Or", "logicalXor": "Xor", "lstm": "LSTM",
    "lstmCell": "", "matmul": "MatMul", "maxPool2d": "MaxPool, GlobalMaxPool", "notEqual": "",
    "prelu": "PRelu", "quantizeLinear": "QuantizeLinear", "reduceL1": "ReduceL1",
    "reduceL2": "ReduceL2", "reduceLogSum": "ReduceLogSum", "reduceLogSumExp": "ReduceLogSumExp",
    "reduceMax": "ReduceMax", "reduceMean": "ReduceMean", "reduceMin": "ReduceMin",
    "reduceProduct": "ReduceProd", "reduceSum": "ReduceSum", "reduceSumSquare": "ReduceSumSquare",
    "resample2d": "Resize, Upsample", "reverse": "", "roundEven": "Round", "scatterElements": "ScatterElements",
    "scatterND": "ScatterND", "triangular": "Trilu",
}


def main():
    source, onnx, target = map(pathlib.Path, sys.argv[1:])
    api = json.loads(source.read_text(encoding="utf-8"))
    known = set(re.findall(r'^   "([\w.]+)", ', onnx.read_text(encoding="utf-8"), re.M))
    text = ".. csv-table::\n   :header: JavaScript, C, ONNX\n\n"
    names = [m["name"] for o in api["operators"] for m in o["methods"]]
    for name in sorted(set(names) - {"input", "constant"}):
        theirs = ONNX.get(name, name[0].upper() + name[1:])
        for one in filter(None, theirs.split(", ")):
            if one not in known:
                sys.exit(f"names_rst.py: {name} is no {one} in ONNX, or the importer does not know it: "
                         "see ONNX above")
        function = f"wnnGraphBuilder{name[0].upper()}{name[1:]}"
        text += f'   ``{name}``, :c:func:`{function}`, "{theirs}"\n'
    wrong = sorted(set(ONNX) - set(names))
    if wrong:
        sys.exit(f"names_rst.py: WebNN has no {', '.join(wrong)}")
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
