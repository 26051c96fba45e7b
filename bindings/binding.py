# SPDX-License-Identifier: MIT
"""Reads the operators of webnn.json for all bindings, and writes a C function for each of them.

A function reads its arguments one after the other, by readers that the binding has (read_u32 and
so on): operands, arguments, label, then the options in the order of webnn.json.
"""
import json
import pathlib
import re

# Operators that have one more result with returnSequence: the number of results without it.
SEQUENCES = {"gru": 1, "lstm": 2}

HEAD_C = "/* SPDX-License-Identifier: MIT */\n/* Made by generate.py of webnn.json. */\n"


def pascal(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def upper(name):
    """Returns a name in capitals, as INIT macros have it: Conv2dOptions -> CONV2D_OPTIONS."""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.replace("NaN", "Nan"))
    return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", name).upper()


class Model:
    def __init__(self, path):
        self.data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.structs = {s["name"]: s for s in self.data["structs"]}
        self.enums = {e["name"]: e for e in self.data["enums"] if e.get("idl")}
        self.limits = {entry["name"]: entry["members"] for entry in self.data["limits"]}

    def operators(self):
        """Yields the name, the documentation and the group of each method, in the order of
        webnn.json."""
        for group in self.data["operators"]:
            for method in group["methods"]:
                yield method["name"], method.get("doc", ""), group

    def options(self, name):
        """Returns the members of a dictionary of options without those that it inherits."""
        if name == "OperatorOptions":
            return []
        return self.structs[name]["members"]


def required_operands(group):
    return [operand for operand in group["operands"] if not operand.get("optional")]


# --- C -------------------------------------------------------------------------------------------

READERS = {"u32": "read_u32", "i32": "read_i32", "f64": "read_f64", "bool": "read_bool",
           "number": "read_number", "u32[]": "read_u32s", "f32[]": "read_floats",
           "StringView": "read_string", "Operand": "read_operand",
           "RecurrentNetworkActivation[]": "read_activations"}


def c_read(model, type_name, name, target):
    """Returns the C statement that reads the next argument into target."""
    if type_name in READERS:
        return f"\t{READERS[type_name]}(call, \"{name}\", &{target});\n"
    enum = model.enums[type_name]
    return (f"\tread_enum(call, \"{name}\", &number);\n"
            f"\t{target} = (WNN{enum['name']})number;\n")


def c_function(model, name, group):
    options = group["options"]
    arguments, body, declarations = [], "", ""
    uses_number = False
    for operand in required_operands(group):
        if operand.get("variadic"):
            declarations += f"\tWNNOperand *{operand['name']} = NULL;\n\tsize_t count = 0;\n"
            body += f"\tread_operands(call, \"{operand['name']}\", &count, &{operand['name']});\n"
            arguments += ["count", operand["name"]]
        else:
            declarations += f"\tWNNOperand {operand['name']} = NULL;\n"
            body += c_read(model, "Operand", operand["name"], operand["name"])
            arguments.append(operand["name"])
    for argument in group.get("arguments", []):
        kind = argument["type"]
        c_type = {"u32": "uint32_t", "u32[]": "WNNUint32Array"}.get(kind, f"WNN{kind}")
        zero = " = { 0, NULL }" if kind.endswith("[]") else " = 0"
        declarations += f"\t{c_type} {argument['name']}{zero};\n"
        uses_number |= kind in model.enums
        body += c_read(model, kind, argument["name"], argument["name"])
        arguments.append(argument["name"])
    declarations += f"\tWNN{options} options = WNN_{upper(options)}_INIT;\n"
    body += c_read(model, "StringView", "label", "options.label")
    for member in model.options(options):
        uses_number |= member["type"] in model.enums
        body += c_read(model, member["type"], member["name"], f"options.{member['name']}")
    if uses_number:
        declarations += "\tuint32_t number = 0;\n"
    function = f"wnnGraphBuilder{pascal(name)}"
    head = "call->builder, " + ", ".join(arguments) + ", &options"
    several = len(group["outputs"]) > 1 or group["outputs"][0]["name"] == "outputs"
    if several and name == "split":
        # In the IDL, splits is a number or a list. A number is in call->parts when equal_parts is
        # true.
        body += ("\tif (call->equal_parts)\n"
                 "\t\tgive_operands(call, wnnGraphBuilderSplitEqual(call->builder, input, call->parts, "
                 "&options, call->count, call->outputs));\n\telse\n"
                 f"\t\tgive_operands(call, {function}({head}, call->count, call->outputs));\n")
    elif several:
        body += f"\tgive_operands(call, {function}({head}, call->count, call->outputs));\n"
    else:
        body += f"\tgive_operand(call, {function}({head}));\n"
    guard, rest = body.rsplit("\tif (call->equal_parts)", 1) if name == "split" else (None, None)
    if guard is not None:
        body = guard + "\tif (call->failed)\n\t\treturn;\n\tif (call->equal_parts)" + rest
    else:
        lines = body.rstrip("\n").split("\n")
        lines.insert(len(lines) - 1, "\tif (call->failed)\n\t\treturn;")
        body = "\n".join(lines) + "\n"
    return f"static void call_{name}(struct call *call)\n{{\n{declarations}\n{body}}}\n"


def c_text(model):
    text = HEAD_C
    names = []
    for name, _, group in model.operators():
        text += "\n" + c_function(model, name, group)
        names.append(name)
    text += "\nstatic struct operator_entry const operator_table[] = {\n"
    for name in names:
        text += f"\t{{ \"{name}\", call_{name} }},\n"
    return text + "};\n"
