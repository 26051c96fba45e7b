# SPDX-License-Identifier: MIT
"""Makes the reference of the API for the documentation, from what the headers are made of."""
import re

from generator.headers import (member_doc, operand_text, operator_params, reference,
                               render_function, render_operator)
from generator.model import declare, is_list, operator_functions, value_name
from generator.tables import resolve

SPDX = ".. SPDX-License-Identifier: MIT\n\n"


def title(text, line):
    return f"{text}\n{line * len(text)}\n\n"


def escape(text):
    """Returns text of the JSON as reStructuredText in which nothing is markup."""
    for char in "\\*`|":
        text = text.replace(char, "\\" + char)
    # A word that ends in an underscore would be a reference.
    return " ".join(w.replace("_", "\\_") if w.endswith("_") or w.startswith("_") else w
                    for w in text.split())


def indent(text):
    return "".join(f"   {line}\n" if line else "\n" for line in text.rstrip("\n").split("\n")) + "\n"


def declared(kind, declarations, body):
    """Returns reStructuredText that describes C declarations, separated by semicolons, with the
    text body; Sphinx adds them to the index. kind is a directive of its domain c, such as
    "function".
    """
    lines = [" ".join(d.split()) for d in declarations.split(";") if d.strip()]
    return f".. c:{kind}:: " + "\n              ".join(lines) + "\n\n" + indent(body)


def prototype(rendered):
    """Returns the code after the comment of a rendered declaration, without our macros."""
    code = rendered[rendered.index("*/\n") + 3:]
    code = re.sub(r"WNN_DEPRECATED\(.*\)\n|WNN_EXPORT |WNN_NULLABLE ", "", code)
    return code


def items(kind, pairs):
    return "".join(declared(kind, name, escape(text)) for name, text in pairs)


def rows(pairs):
    return "".join(f"``{name}``\n   {escape(text)}\n" for name, text in pairs) + "\n"


def bullets(items):
    return "".join(f"* {escape(item)}\n" for item in items) + "\n" if items else ""


def source(api, entry):
    text = reference(api, entry)
    return escape(text) + "\n\n" if text else ""


# --- functions -----------------------------------------------------------------------------------

def render_plain(api, function):
    result = function.get("returns", {"type": "void"})
    out = escape(function["doc"]) + "\n\n"
    if function["args"]:
        out += rows((a["name"], a["doc"]) for a in function["args"])
    if "doc" in result:
        out += "Returns: " + escape(result["doc"]) + "\n\n"
    if function.get("errors"):
        out += "Errors:\n\n" + bullets(function["errors"])
    return declared("function", prototype(render_function(api, function)),
                    out + source(api, function))


def render_references(handle):
    name = f"wnn{handle['name']}"
    return declared("function", f"void {name}AddRef(WNN{handle['name']} object);"
                    f"void {name}Release(WNN{handle['name']} object)",
                    "Takes another reference; gives one back, and with the last one the object. "
                    "Neither blocks.\n")


def render_operation(api, entry):
    c_name, operator, _, arguments, doc, errors = entry
    out = escape(doc) + "\n\n" + rows(operator_params(operator, arguments)[1:])
    if not is_list(operator):
        out += "Returns: " + escape(operand_text(operator["outputs"][0])) + "\n\n"
    for note in operator.get("notes", []):
        out += escape(note) + "\n\n"
    if errors:
        out += "TypeError besides the errors of every operator:\n\n" + bullets(errors)
    return declared("function",
                    prototype(render_operator(api, operator, c_name, doc, arguments, errors)),
                    out + source(api, operator))


def render_functions(api):
    out = ""
    for handle in [None] + api.data["handles"]:
        name = handle["name"] if handle else None
        out += title(f"Functions of WNN{name}" if name else "Functions without an object", "-")
        if handle:
            out += escape(handle["doc"]) + "\n\n" + render_references(handle)
        out += "".join(render_plain(api, f) for f in api.data["functions"]
                       if f["object"] == name)
    out += title("Operators", "-")
    out += ("Errors of every operator: InvalidStateError when the builder has built or its "
            "context is lost; TypeError when an operand is NULL or another builder's, when its "
            "type or rank is not listed by ``wnnContextGetOpSupportLimits()``, when an enum or list "
            "of the options is malformed, and when the result is too large; UnknownError when "
            "memory is exhausted. The operands belong to the builder.\n\n")
    return out + "".join(render_operation(api, e) for e in operator_functions(api))


# --- types ---------------------------------------------------------------------------------------

def render_enum(api, enum):
    out = escape(enum["doc"]) + "\n\n"
    out += items("enumerator", ((value_name(enum, v), v["doc"]) for v in enum["values"]))
    return declared("enum", "WNN" + enum["name"], out + source(api, enum))


def render_struct(api, struct):
    out = escape(struct["doc"]) + "\n\n"
    out += items("member", ((declare(m["type"], m["name"]), member_doc(m))
                            for m in api.members(struct)))
    return declared("struct", "WNN" + struct["name"], out + source(api, struct))


def render_callback(api, callback):
    out = escape(callback["doc"]) + "\n\n"
    out += rows((declare(a["type"], a["name"]), a["doc"]) for a in callback["args"])
    return declared("type", f"WNN{callback['name']}Callback", out + source(api, callback))


def render_types(api):
    limits = {x["name"] for x in api.data["limits"]} | {"OpSupportLimits"}
    out = title("Enumerations", "-")
    out += "".join(render_enum(api, e) for e in api.data["enums"])
    out += title("Callbacks", "-")
    out += "".join(render_callback(api, c) for c in api.data["callbacks"])
    out += title("Structures", "-")
    return out + "".join(render_struct(api, s) for s in api.structs.values()
                         if s["name"] not in limits)


# --- operator, data type, rank -------------------------------------------------------------------

def mark(name, operand, allowed):
    if name in operand.get("extensionTypes", ""):
        return "(+)"
    if name not in allowed.split():
        return ""
    return "●" if name in operand["requiredTypes"].split() else "○"


def table_rows(api):
    types = [v["name"] for v in api.enums["OperandDataType"]["values"]]
    for method, operator in api.methods():
        first = True
        for operand in operator["operands"] + operator["outputs"]:
            allowed = resolve(operator["operands"], operand, "types")
            allowed = api.data["typeSets"].get(allowed, allowed)
            ranks = resolve(operator["operands"], operand, "ranks")
            ranks = "0 to 8" if ranks == "N" else ranks.replace("..N", " to 8")
            marks = [mark(t, operand, allowed) for t in types]
            yield [method["name"] if first else "", operand["name"], *marks,
                   ranks.replace("..", " to ")]
            first = False


def render_table(api):
    types = [v["name"] for v in api.enums["OperandDataType"]["values"]]
    out = SPDX + title("Operators, data types, ranks", "=")
    out += ("● required of every implementation by the specification, ○ allowed by it, (+) beyond "
            "it, where ``wnnContextGetOpSupportLimits()`` lists it. The CPU and the NPU offer all of "
            "this, and all ranks: a test compiles each operator with each combination of types and "
            "with each rank for an NPU with 16 KiB of SRAM. Outputs stand below the operands.\n\n")
    out += ".. csv-table::\n   :header-rows: 1\n\n"
    out += "   " + ",".join(["operator", "operand", *types, "ranks"]) + "\n"
    for row in table_rows(api):
        out += "   " + ",".join(f'"{cell}"' for cell in row) + "\n"
    return out


def render(api):
    """Returns {file name: contents}."""
    reference_text = SPDX + title("Reference of the API", "=")
    reference_text += ("Made from ``userspace/webnn.json``, as the headers are. The comment at the "
                       "top of ``webnn.h`` says how objects, options, errors, futures and threads "
                       "work.\n\n.. contents::\n   :local:\n   :depth: 1\n\n")
    return {"api.rst": reference_text + render_functions(api) + render_types(api),
            "operators.rst": render_table(api)}
