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
sys.path.insert(0, str(HERE.parent))

from binding import SEQUENCES, Model as Base, c_text, required_operands  # noqa: E402

# Arguments whose IDL lacks [EnforceRange]: they wrap modulo 2^32.
WRAPPING = {("cumulativeSum", "axis"), ("tile", "repetitions")}

# The names of types in the IDL and in TypeScript, by their names in webnn.json.
IDL_SCALARS = {"u32": "unsigned long", "i32": "long", "f64": "double", "bool": "boolean",
               "number": "MLNumber", "StringView": "USVString", "u32[]": "sequence<unsigned long>",
               "f32[]": "sequence<float>", "Operand": "MLOperand"}
TYPESCRIPT = {"u32": "number", "i32": "number", "f64": "number", "bool": "boolean",
              "number": "MLNumber", "StringView": "string", "u32[]": "Iterable<number>",
              "f32[]": "Iterable<number>", "Operand": "MLOperand"}

HEAD_JS = "// SPDX-License-Identifier: MIT\n// Made by generate.py of webnn.json.\n'use strict';\n\n"


class Model(Base):
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


# --- JavaScript ----------------------------------------------------------------------------------

def js_dictionary(model, struct):
    """Returns items [name, IDL type, default if there is one], in the order in which WebIDL reads
    them.
    """
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
    """Returns register.d.ts, for import 'webnn-npu/register': all names of index.d.ts as
    globals."""
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
    package = (HERE / "package.json.in").read_text(encoding="utf-8")
    package = package.replace("@VERSION@", ".".join(map(str, model.data["version"])))
    for name, text in (("operators.inc", c_text(model)), ("idl.js", js_text(model)), ("index.d.ts", declarations),
                       ("register.d.ts", ts_globals(declarations)), ("package.json", package)):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
