#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write what the Python binding takes from webnn.json: generate.py WEBNN.JSON FOLDER

operators.inc    one C function for each operator, which reads its arguments and calls the library
_operators.py    the methods of MLGraphBuilder, and tables of operators, enumerations and limits
_operators.pyi   the types of those methods

Names and order of the arguments are those of pywebnn, where it has the operator: the tables below.
Every other option of webnn.json follows them by its name.
"""
import json
import keyword
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True

from binding import SEQUENCES, Model, c_text, required_operands  # noqa: E402

# Operators whose operand pywebnn calls x.
CALLED_X = set("relu sigmoid tanh softmax abs ceil floor neg sign exp log sqrt reciprocal sin cos tan "
               "erf identity logicalNot reshape".split())

# Names that differ from those of webnn.json.
RENAMED = {("conv2d", "padding"): "pads", ("convTranspose2d", "padding"): "pads",
           ("averagePool2d", "padding"): "pads", ("maxPool2d", "padding"): "pads",
           ("l2Pool2d", "padding"): "pads", ("logicalNot", "a"): "x"}

# Options that may be given by position, in this order; the others need their names.
ORDER = {
    "argMin": "keepDimensions outputDataType", "argMax": "keepDimensions outputDataType",
    "batchNormalization": "scale bias epsilon axis",
    "clamp": "minValue maxValue",
    "conv2d": "strides dilations padding groups inputLayout filterLayout bias",
    "convTranspose2d": "strides dilations padding outputPadding outputSizes groups inputLayout "
                       "filterLayout bias",
    "averagePool2d": "windowDimensions strides dilations padding layout",
    "maxPool2d": "windowDimensions strides dilations padding layout",
    "l2Pool2d": "windowDimensions strides dilations padding layout",
    "instanceNormalization": "scale bias epsilon layout",
    "layerNormalization": "scale bias epsilon axes",
    "gemm": "c alpha beta aTranspose bTranspose",
}

# Defaults that differ from those of WebNN.
DEFAULTS = {("argMin", "outputDataType"): "int64", ("argMax", "outputDataType"): "int64"}

# Methods that are written by hand in _builder.py, because their arguments differ from WebNN's.
BY_HAND = {"pad", "hardSwish"}

SCALARS = {"u32": "int", "i32": "int", "f64": "float", "bool": "bool", "number": "float",
           "StringView": "str", "u32[]": "Iterable[int]", "f32[]": "Iterable[float]",
           "Operand": "MLOperand"}

HEAD = "# SPDX-License-Identifier: MIT\n# Made by generate.py of webnn.json.\n"


def snake(name):
    """Returns Python's form of a name: averagePool2d -> average_pool2d, scatterND -> scatter_nd."""
    name = name.replace("NaN", "Nan")
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def method_name(name):
    return "where_" if name == "where" else snake(name)


class Argument:
    """An argument of a method, and where it stands in the library's call."""

    def __init__(self, operator, name, kind, default=None, optional=False, by_name=False):
        self.idl, self.kind, self.default = name, kind, default
        self.optional, self.by_name = optional, by_name
        python = RENAMED.get((operator, name), snake(name))
        if name == "input" and operator in CALLED_X:
            python = "x"
        self.python = python + "_" if keyword.iskeyword(python) else python


def arguments(model, name, group):
    """Returns all arguments of the library's call, in its order."""
    result = [Argument(name, o["name"], "Operand[]" if o.get("variadic") else "Operand")
              for o in required_operands(group)]
    result += [Argument(name, a["name"], "splits" if group.get("overloads") else a["type"])
               for a in group.get("arguments", [])]
    result.append(Argument(name, "label", "StringView", "", True, True))
    first = ORDER.get(name, "").split()
    options = model.options(group["options"])
    for member in options:
        result.append(Argument(name, member["name"], member["type"], member.get("default"), True,
                               bool(first) and member["name"] not in first))
    return result


def parameters(name, given):
    """Returns the arguments in the order of the method: first those that may be given by position.
    """
    order = ORDER.get(name, "").split()
    place = {option: index for index, option in enumerate(order)}
    plain = [a for a in given if not a.by_name]
    required = [a for a in plain if not a.optional]
    options = sorted((a for a in plain if a.optional), key=lambda a: place.get(a.idl, 0))
    named = [a for a in given if a.by_name and a.idl != "label"]
    return required + options, named + [a for a in given if a.idl == "label"]


def result_count(name, group):
    """Returns the number of results: 0 is one operand without a tuple, None depends on the
    arguments."""
    several = len(group["outputs"]) > 1 or group["outputs"][0]["name"] == "outputs"
    if not several:
        return 0
    return SEQUENCES.get(name, None if group.get("overloads") else len(group["outputs"]))


def document(group, doc):
    notes = [doc] + group.get("notes", [])
    lines = []
    for note in notes:
        lines += textwrap.wrap(note, 88) + [""]
    return lines[:-1]


def method_text(index, name, doc, group, given):
    plain, named = parameters(name, given)
    parts = ["self"] + [a.python if not a.optional else f"{a.python}={default_text(name, a)}"
                        for a in plain]
    parts += ["*"] + [f"{a.python}={default_text(name, a)}" for a in named]
    text = textwrap.fill(f"    def {method_name(name)}({', '.join(parts)}):", 96,
                         subsequent_indent="            ", break_long_words=False)
    lines = document(group, doc)
    body = ['        """' + lines[0]] + ["        " + line if line else "" for line in lines[1:]]
    body[-1] += '"""' if len(body) == 1 else "\n        \"\"\""
    passed = ", ".join([str(index)] + [a.python for a in given])
    call = textwrap.fill(f"        return self._call({passed})", 96,
                         subsequent_indent="                          ", break_long_words=False)
    return text + "\n" + "\n".join(body) + "\n" + call + "\n"


def default_text(name, argument):
    default = "" if argument.idl == "label" else DEFAULTS.get((name, argument.idl))
    return "None" if default is None else f'"{default}"'


def row_text(name, group, given):
    rows = ", ".join(f'("{a.idl}", "{a.python}", "{a.kind}")' for a in given)
    text = f'    ("{name}", {result_count(name, group)!r}, {name in SEQUENCES!r}, ({rows},)),'
    return textwrap.fill(text, 96, subsequent_indent="        ", break_long_words=False,
                         break_on_hyphens=False) + "\n"


def python_text(model):
    table, methods = "", ""
    for index, (name, doc, group) in enumerate(model.operators()):
        given = arguments(model, name, group)
        table += row_text(name, group, given)
        if name not in BY_HAND:
            methods += "\n" + method_text(index, name, doc, group, given)
            if name == "where":
                methods += "\n    where = where_\n"
    enums = {enum["name"]: {value["name"]: value["value"] for value in enum["values"]}
             for enum in model.enums.values()}
    limits = [["input"], ["constant"], ["output"]]
    limits += [[name, *model.limits[group["limits"]]] for name, _, group in model.operators()]
    rows = "".join(f"    {key!r}: {value!r},\n" for key, value in enums.items())
    text = (HEAD + '"""Methods of MLGraphBuilder, one for each operator of WebNN."""\n\n'
            "# Name, number of results (0: one, None: see the arguments), whether returnSequence adds one,\n"
            "# and the arguments of the library's call: name in WebNN, name here, type.\n"
            f"OPERATORS = (\n{table})\n\n"
            "INDEX = {row[0]: index for index, row in enumerate(OPERATORS)}\n\n"
            f"ENUMS = {{\n{wrap(rows)}}}\n\n"
            "# In the order of the library's structure.\nLIMITS = (\n"
            + "".join(f"    {tuple(row)!r},\n" for row in limits) + ")\n\n\n"
            "class Operators:\n" '    """Operators as methods; MLGraphBuilder has them."""\n\n'
            "    def _call(self, index, *arguments):\n        raise NotImplementedError\n")
    return text + methods


def wrap(rows):
    return "".join(textwrap.fill(row, 96, subsequent_indent="        ", break_long_words=False,
                                 initial_indent="    ") + "\n" for row in rows.splitlines())


# --- Types -----------------------------------------------------------------------------------------

def type_text(model, kind):
    if kind in SCALARS:
        return SCALARS[kind]
    if kind == "splits":
        return "int | Iterable[int]"
    if kind == "Operand[]":
        return "Iterable[MLOperand]"
    if kind.endswith("[]"):
        return f"Iterable[{model.enums[kind[:-2]]['idl']}]"
    return model.enums[kind]["idl"]


def stub_text(model):
    text = HEAD + ("from collections.abc import Iterable\nfrom typing import Any, Literal\n\n"
                   "from ._builder import MLOperand\n\n")
    for enum in model.enums.values():
        values = ", ".join(json.dumps(value["name"]) for value in enum["values"])
        text += textwrap.fill(f"{enum['idl']} = Literal[{values}]", 96,
                              subsequent_indent="    ", break_on_hyphens=False) + "\n"
    text += ("\nOPERATORS: tuple[tuple[str, int | None, bool, tuple[tuple[str, str, str], ...]], ...]\n"
             "INDEX: dict[str, int]\nENUMS: dict[str, dict[str, int]]\n"
             "LIMITS: tuple[tuple[str, ...], ...]\n\nclass Operators:\n"
             "    def _call(self, index: int, *arguments: Any) -> Any: ...\n")
    for name, _, group in model.operators():
        if name in BY_HAND:
            continue
        plain, named = parameters(name, arguments(model, name, group))
        parts = ["self"]
        for argument in plain + [None] + named:
            if argument is None:
                parts.append("*")
                continue
            kind = type_text(model, argument.kind)
            if argument.idl == "label":
                parts.append("label: str = ...")
            elif argument.optional:
                parts.append(f"{argument.python}: {kind} | None = ...")
            else:
                parts.append(f"{argument.python}: {kind}")
        several = result_count(name, group) != 0
        result = "list[MLOperand]" if several else "MLOperand"
        line = f"    def {method_name(name)}({', '.join(parts)}) -> {result}: ..."
        text += line + "\n"
        if name == "where":
            text += line.replace("where_", "where") + "\n"
    return text


def main():
    model = Model(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    for name, text in (("operators.inc", c_text(model)), ("_operators.py", python_text(model)),
                       ("_operators.pyi", stub_text(model))):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
