#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write what the Node binding takes from webnn.json: generate.py WEBNN.JSON FOLDER

operators.inc   one C function for each operator, which reads its arguments and calls the library
idl.js          enumerations, dictionaries, operators and limits for the WebIDL conversions
index.d.ts      the TypeScript declarations, after index.d.ts.in
register.d.ts   the same names as globals, and navigator.ml

Names, members, defaults and types come from webnn.json. What only the IDL of the specification
knows, and C cannot express, stands in the tables below.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Arguments whose IDL lacks [EnforceRange]: they wrap modulo 2^32.
WRAPPING = {("cumulativeSum", "axis"), ("tile", "repetitions")}

# Parameters that the IDL calls otherwise than webnn.json does.
IDL_SCALARS = {"u32": "unsigned long", "i32": "long", "f64": "double", "bool": "boolean",
               "number": "MLNumber", "StringView": "USVString", "u32[]": "sequence<unsigned long>",
               "f32[]": "sequence<float>", "Operand": "MLOperand"}
TYPESCRIPT = {"u32": "number", "i32": "number", "f64": "number", "bool": "boolean",
              "number": "MLNumber", "StringView": "string", "u32[]": "Iterable<number>",
              "f32[]": "Iterable<number>", "Operand": "MLOperand"}

# Operators that give one operand more with returnSequence: how many they give without.
SEQUENCES = {"gru": 1, "lstm": 2}

# webnn.json's element types are more than the enumeration of the specification: an extension.
HEAD_C = "/* SPDX-License-Identifier: MIT */\n/* Made by generate.py of webnn.json. */\n"
HEAD_JS = "// SPDX-License-Identifier: MIT\n// Made by generate.py of webnn.json.\n'use strict';\n\n"


def pascal(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def upper(name):
    """Conv2dOptions -> CONV2D_OPTIONS, as the header names its INIT macros."""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.replace("NaN", "Nan"))
    return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", name).upper()


class Model:
    def __init__(self, path):
        self.data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.structs = {s["name"]: s for s in self.data["structs"]}
        self.enums = {e["name"]: e for e in self.data["enums"] if e.get("idl")}
        self.limits = {entry["name"]: entry["members"] for entry in self.data["limits"]}

    def operators(self):
        """(method, its group), in the order of webnn.json."""
        for group in self.data["operators"]:
            for method in group["methods"]:
                yield method["name"], method.get("doc", ""), group

    def options(self, name):
        """Members of a dictionary of options without those that it inherits."""
        if name == "OperatorOptions":
            return []
        return self.structs[name]["members"]

    def idl(self, type_name):
        if type_name in IDL_SCALARS:
            return IDL_SCALARS[type_name]
        if type_name.endswith("[]"):
            return f"sequence<{self.idl(type_name[:-2])}>"
        return self.enums[type_name]["idl"]

    def typescript(self, type_name):
        if type_name in TYPESCRIPT:
            return TYPESCRIPT[type_name]
        if type_name.endswith("[]"):
            return f"Iterable<{self.typescript(type_name[:-2])}>"
        return self.enums[type_name]["idl"]


def required_operands(group):
    return [operand for operand in group["operands"] if not operand.get("optional")]


def inherits(struct):
    return struct["idl"] != "MLOperatorOptions"


# --- C -------------------------------------------------------------------------------------------

READERS = {"u32": "read_u32", "i32": "read_i32", "f64": "read_f64", "bool": "read_bool",
           "number": "read_number", "u32[]": "read_u32s", "f32[]": "read_floats",
           "StringView": "read_string", "Operand": "read_operand",
           "RecurrentNetworkActivation[]": "read_activations"}


def c_read(model, type_name, name, target):
    """The statement that reads the next argument."""
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
        # The union of the IDL: a number has come as a list of one with the count in front.
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


# --- JavaScript ----------------------------------------------------------------------------------

def js_default(model, member):
    if "default" not in member:
        return None
    value = member["default"]
    return value


def js_dictionary(model, struct):
    """[name, IDL type, default or absent], in the order in which WebIDL reads them."""
    members = []
    for member in struct["members"]:
        if member.get("extension") or member["name"] == "label":
            continue
        entry = [member["name"], model.idl(member["type"])]
        if member.get("default") is not None:
            entry.append(member["default"])
        members.append(entry)
    return sorted(members)


def js_operator(model, name, group):
    arguments = []
    for operand in required_operands(group):
        arguments.append([operand["name"], "sequence<MLOperand>" if operand.get("variadic")
                          else "MLOperand"])
    for argument in group.get("arguments", []):
        idl = model.idl(argument["type"])
        if (name, argument["name"]) in WRAPPING:
            idl = idl.replace("unsigned long", "wrapping unsigned long")
        if group.get("overloads"):
            idl = "(unsigned long or sequence<unsigned long>)"
        arguments.append([argument["name"], idl])
    struct = model.structs[group["options"]]
    order = [member["name"] for member in model.options(group["options"])]
    several = len(group["outputs"]) > 1 or group["outputs"][0]["name"] == "outputs"
    return {"name": name, "arguments": arguments, "options": struct["idl"], "order": order,
            "outputs": 0 if not several else SEQUENCES.get(name, len(group["outputs"])),
            "sequence": name in SEQUENCES}


def js_text(model):
    enums = {}
    for enum in model.enums.values():
        enums[enum["idl"]] = {value["name"]: value["value"] for value in enum["values"]}
    dictionaries = {}
    for struct in model.structs.values():
        if not struct.get("idl", "").endswith("Options") or struct["idl"] in (
                "MLOperatorOptions", "MLContextOptions"):
            continue
        dictionaries[struct["idl"]] = js_dictionary(model, struct)
    operators = [js_operator(model, name, group) for name, _, group in model.operators()]
    # In the order of WNNOpSupportLimits, which is one array of WNNTensorLimits.
    limits = [["input"], ["constant"], ["output"]]
    for name, _, group in model.operators():
        limits.append([name, *model.limits[group["limits"]]])
    views = {"float32": "Float32Array", "float16": "Float16Array", "int32": "Int32Array",
             "uint32": "Uint32Array", "int64": "BigInt64Array", "uint64": "BigUint64Array",
             "int8": "Int8Array", "uint8": "Uint8Array", "int4": "Uint8Array", "uint4": "Uint8Array"}
    text = HEAD_JS
    for key, value in (("enums", enums), ("dictionaries", dictionaries), ("operators", operators),
                       ("limits", limits), ("views", views)):
        if isinstance(value, dict):
            rows = [f"\t{json.dumps(k)}: {json.dumps(v)},\n" for k, v in value.items()]
            text += f"exports.{key} = {{\n{''.join(rows)}}};\n\n"
        else:
            rows = [f"\t{json.dumps(v)},\n" for v in value]
            text += f"exports.{key} = [\n{''.join(rows)}];\n\n"
    return text.rstrip("\n") + "\n"


# --- TypeScript ----------------------------------------------------------------------------------

def ts_text(model):
    out = ""
    for enum in model.enums.values():
        values = " | ".join(json.dumps(value["name"]) for value in enum["values"])
        out += f"export type {enum['idl']} = {values};\n"
    out += "\n"
    for struct in model.structs.values():
        if not struct.get("idl", "").endswith("Options") or struct["idl"] in (
                "MLOperatorOptions", "MLContextOptions"):
            continue
        out += f"export interface {struct['idl']} extends MLOperatorOptions {{\n"
        for member in struct["members"]:
            if member["name"] != "label":
                out += f"\t{member['name']}?: {model.typescript(member['type'])};\n"
        out += "}\n\n"
    for entry in model.data["limits"]:
        out += f"export interface {entry['idl']} {{\n"
        out += "".join(f"\t{member}: MLTensorLimits;\n" for member in entry["members"]) + "}\n\n"
    names = {entry["name"]: entry["idl"] for entry in model.data["limits"]}
    out += ("export interface MLOpSupportLimits {\n\tpreferredInputLayout: MLInputOperandLayout;\n"
            "\tmaxTensorByteLength: number;\n\tinput: MLTensorLimits;\n\tconstant: MLTensorLimits;\n"
            "\toutput: MLTensorLimits;\n")
    methods = ""
    for name, doc, group in model.operators():
        out += f"\t{name}: {names[group['limits']]};\n"
        parts = []
        for operand in required_operands(group):
            kind = "Iterable<MLOperand>" if operand.get("variadic") else "MLOperand"
            parts.append(f"{operand['name']}: {kind}")
        for argument in group.get("arguments", []):
            kind = model.typescript(argument["type"])
            if group.get("overloads"):
                kind = "number | " + kind
            parts.append(f"{argument['name']}: {kind}")
        parts.append(f"options?: {model.structs[group['options']]['idl']}")
        several = len(group["outputs"]) > 1 or group["outputs"][0]["name"] == "outputs"
        result = "MLOperand[]" if several else "MLOperand"
        methods += f"\t/** {doc} */\n\t{name}({', '.join(parts)}): {result};\n"
    out += "}\n"
    template = (HERE / "index.d.ts.in").read_text(encoding="utf-8")
    return template.replace("@GENERATED_TYPES@\n", out).replace("@GENERATED_METHODS@\n", methods)


def ts_globals(declarations):
    """For import 'webnn-npu/register': all names of index.d.ts, as a page has them."""
    out = ("// SPDX-License-Identifier: MIT\n// Made by generate.py: what import 'webnn-npu/register' adds to the global object.\n"
           "import type * as webnn from './index.js';\n\ndeclare global {\n"
           "\tinterface Navigator {\n\t\treadonly ml: webnn.ML;\n\t}\n\tvar navigator: Navigator;\n")
    for kind, name in re.findall(r"^export (class|interface|type) (ML\w+|ML)\b", declarations, re.M):
        out += f"\ttype {name} = webnn.{name};\n"
        if kind == "class":
            out += f"\tvar {name}: typeof webnn.{name};\n"
    return out + "}\n\nexport {};\n"


def main():
    model = Model(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    declarations = ts_text(model)
    for name, text in (("operators.inc", c_text(model)), ("idl.js", js_text(model)), ("index.d.ts", declarations),
                       ("register.d.ts", ts_globals(declarations))):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
