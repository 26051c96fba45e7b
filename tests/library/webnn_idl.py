# SPDX-License-Identifier: MIT
"""Reads the interface definitions of the WebNN specification from a text extract of it.

The extraction moved some names: "dictionary {MLRankRange unsigned long min ..." stands for
"dictionary MLRankRange { unsigned long min ...", and the last value of an enum stands after its
closing brace.
"""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
SHARED = TOP.parent / "shared"
SCALARS = {"unsigned long": "u32", "long": "i32", "unsigned long long": "u64", "double": "f64",
           "float": "f32", "boolean": "bool", "USVString": "StringView"}


def find_text():
    """Returns the text that has the definitions, or None when it is not beside the checkout."""
    for path in sorted((SHARED / "seeds").glob("000_*.txt")):
        text = path.read_text(encoding="utf-8")
        if "partial interface MLGraphBuilder" in text:
            return text
    return None


def type_of(idl):
    """Returns our name of a type: 'u32[]' for 'sequence <[EnforceRange ]unsigned long >', 'Operand'
    for 'MLOperand'.
    """
    idl = " ".join(re.sub(r"\[.*?\]", "", idl).split())
    match = re.fullmatch(r"sequence ?< ?(.*?) ?>", idl)
    if match:
        return type_of(match[1]) + "[]"
    if idl == "MLNumber":
        return "number"
    return SCALARS.get(idl) or re.sub(r"^ML", "", idl)


def variable(text):
    """Returns the parts of a declaration: (name, type, default or None, required) of a text such as
    'required sequence <float >scales = 1'.
    """
    match = re.fullmatch(r"\s*(required )?\s*(.*?[\s>)])(\w+)\s*(?:=\s*(.*?))?\s*", text, re.S)
    return match[3], type_of(match[2]), match[4], bool(match[1])


def enums(text):
    """Returns {name without ML: values in order}."""
    pattern = r'(?<![A-Za-z])enum\s+\{?\s*ML(\w+)([^}]*)\}\s*;?((?:"[^"]*")?)'
    return {m[1]: re.findall(r'"([^"]*)"', m[2] + m[3]) for m in re.finditer(pattern, text)}


def dictionaries(text):
    """Returns {name without ML: (base or None, members)}."""
    pattern = (r"(?<!partial )(?<![A-Za-z])dictionary\s+(?::\s*ML(\w+)\s+ML(\w+)\s*\{|\{\s*ML(\w+)|"
               r"ML(\w+)\s*\{)([^}]*)\}")
    result = {}
    for match in re.finditer(pattern, text):
        members = [variable(m) for m in match[5].split(";") if m.strip()]
        result[match[1] or match[3] or match[4]] = (match[2], members)
    return result


def operator_limits(text):
    """Returns {operator: type of its member of MLOpSupportLimits, without ML}."""
    result = {}
    for match in re.finditer(r"partial dictionary MLOpSupportLimits \{([^}]*)\}", text):
        result.update({name: kind for name, kind, _, _ in
                       (variable(m) for m in match[1].split(";") if m.strip())})
    return result


def split_arguments(text):
    """Returns the items of a text that commas outside of brackets separate, without empty items."""
    depth, parts = 0, [""]
    for char in text:
        depth += (char in "(<{[") - (char in ")>}]")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [p.strip() for p in parts if p.strip()]


def operators(text):
    """Returns {method: (whether it returns a sequence, arguments as (name, type))}."""
    result = {}
    for match in re.finditer(r"partial interface MLGraphBuilder \{(.*)", text):
        pattern = r"(MLOperand|sequence <MLOperand >)\s?(\w+) \((.*?)\);"
        for method in re.finditer(pattern, match[1]):
            arguments = []
            for argument in split_arguments(method[3]):
                name, kind, _, _ = variable(argument.removeprefix("optional "))
                arguments.append((name, kind))
            result[method[2]] = (method[1] != "MLOperand", arguments)
    return result


def interface_members(text, name):
    """Returns the names of an interface's methods and attributes, but for partial interfaces."""
    match = re.search(rf"(?<!partial )\binterface \{{{name} (.*?\}}; *)$", text, re.M) or \
        re.search(rf"(?<!partial )\binterface \{{(?://[^\n]*?)?{name} (.*)$", text, re.M)
    body = match[1] if match else \
        re.search(rf"typedef record <USVString ,MLOperand >;.*?({name} constructor.*)$", text,
                  re.M)[1]
    found = set(re.findall(r"(\w+) \(", body)) | set(re.findall(r"ML\w+ \(\);(\w+)", body))
    found |= set(re.findall(r"readonly attribute .*?(\w+) ;", body))
    return {n for n in found if not n.startswith("ML")} - {"Exposed", "typedef"}


def interface_body(text, name):
    """Returns the text between the braces of an interface, without comments."""
    match = re.search(rf"(?<!partial )\binterface \{{{name} (.*?\}}; *)", text) or \
        re.search(rf"(?<!partial )\binterface \{{ //[^\n]*?\.{name} (.*?\}};)", text)
    body = match[1]
    # In the extract a comment runs into the declaration after it; the comment ends with its
    # sentence.
    body = re.sub(r"//[^.]*\.", "", body)
    return re.sub(r"(ML\w+) \(\);(\w+)", r"\1 \2 ();", body)


def interface_attributes(text, name):
    """Returns {attribute: type}."""
    pattern = r"readonly attribute (.*?)(\w+) ?;"
    return {m[2]: m[1].strip() for m in re.finditer(pattern, interface_body(text, name))}


def interface_methods(text, name):
    """Returns (method, returned type, [(argument, type, optional)]) of every overload, in order."""
    result = []
    body = interface_body(text, name) if name != "MLGraphBuilder" else \
        "MLGraphBuilder " + interface_body(text, name)
    for match in re.finditer(r"([A-Z]\w*(?: <\w+ >)?|undefined) ?(\w+) \(([^)]*)\);", body):
        arguments = []
        for argument in split_arguments(match[3]):
            optional = argument.startswith("optional ")
            argument = argument.removeprefix("optional ").split("=")[0]
            kind, arg = argument.strip().rsplit(" ", 1)
            arguments.append((arg, kind.strip(), optional))
        result.append((match[2], match[1].replace(" ", ""), arguments))
    return result
