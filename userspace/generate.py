#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generates the C API of libwebnn-npu and the library's tables from webnn.json.

    generate.py               writes every generated file below this directory
    generate.py --check       fails when a generated file is not what would be written
    generate.py --list        prints the names of the generated files

The generated files are committed, so that a build needs no generator; a test runs --check.
"""
import argparse
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
WIDTH = 100
SPDX = "/* SPDX-License-Identifier: MIT */\n"
SCALARS = {
    "u32": "uint32_t", "i32": "int32_t", "u64": "uint64_t", "i64": "int64_t", "f64": "double",
    "bool": "WNNBool", "size": "size_t", "int": "int", "void": "void", "char": "char",
    "uint32_t": "uint32_t", "float": "float", "string": "WNNStringView", "number": "WNNNumber",
    "u32[]": "WNNUint32Array", "f32[]": "WNNFloatArray", "Proc": "WNNProc",
    "DataTypeSet": "WNNOperandDataTypeSet",
}


# --- names and types ---------------------------------------------------------------------------

def upper(name):
    """conv2d -> CONV2D, gatherND -> GATHER_ND, isNaN -> IS_NAN."""
    name = name.replace("NaN", "Nan")
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", name).upper()


def lower(name):
    return upper(name).lower()


def pascal(name):
    """high-performance -> HighPerformance, conv2d -> Conv2d."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def c_type(name):
    """The C type of a type of webnn.json: 'Context*', 'void const*', 'u32[]', 'LogCallback'."""
    match = re.fullmatch(r"([\w\[\]]+)((?: const)?\*?)", name)
    if not match:
        sys.exit(f"webnn.json: '{name}' is no type")
    base, suffix = match.groups()
    if base not in SCALARS and base.endswith("[]"):
        base = base[:-2] + "Array"
    base = SCALARS.get(base, "WNN" + base)
    return base + suffix.replace("*", " *")


def declare(type_name, name):
    text = c_type(type_name)
    return text + name if text.endswith("*") else f"{text} {name}"


def value_name(enum, value):
    return f"WNN{enum['name']}_{value.get('c') or pascal(value['name'])}"


def undefined_name(enum):
    return f"WNN{enum['name']}_{enum.get('undefinedName', 'Undefined')}"


def init_name(struct):
    return f"WNN_{upper(struct['name'])}_INIT"


# --- the model ---------------------------------------------------------------------------------

class Api:
    """webnn.json with its lookups."""

    def __init__(self, path):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.enums = {e["name"]: e for e in self.data["enums"]}
        self.structs = {s["name"]: s for s in self.data["structs"]}
        self.handles = {h["name"]: h for h in self.data["handles"]}
        for callback in self.data["callbacks"]:
            if callback["info"]:
                info = callback_info(callback)
                self.structs[info["name"]] = info
        for limits in self.data["limits"]:
            self.structs[limits["name"]] = limits_struct(limits)
        self.structs["OpSupportLimits"] = op_support_limits(self.data)

    def methods(self):
        """Every builder method with its operator entry, in the order of the specification."""
        for operator in self.data["operators"]:
            for method in operator["methods"]:
                yield method, operator

    def members(self, struct):
        """All members of a struct: chain head, those of the base, its own."""
        head = []
        if struct["chain"] in ("in", "out"):
            head = [{"name": "nextInChain", "type": "ChainedStruct*",
                     "doc": "Extensions, or NULL." if struct["chain"] == "in" else
                            "Set it to NULL or to extensions to be filled as well."}]
        elif struct["chain"] != "none":
            head = [{"name": "chain", "type": "ChainedStruct",
                     "doc": f"sType is WNNSType_{struct['chain']}."}]
        if "base" in struct:
            base = self.structs[struct["base"]]
            head += [m for m in self.members(base) if m["name"] != "nextInChain"]
        return head + struct["members"]

    def ordered_structs(self, header):
        """Structs of a header, each after those it holds by value."""
        done, result = set(), []

        def visit(struct):
            if struct["name"] in done:
                return
            done.add(struct["name"])
            for member in self.members(struct):
                name = c_type(member["type"])[3:]
                if name in self.structs:
                    visit(self.structs[name])
            if struct.get("header", "webnn") == header:
                result.append(struct)
        for struct in self.structs.values():
            visit(struct)
        return result

    def types(self, text):
        return self.data["typeSets"].get(text, text).split()


def callback_info(callback):
    mode = {"name": "mode", "type": "CallbackMode", "default": "AllowProcessEvents",
            "doc": "When and where callback may run."}
    users = [{"name": f"userdata{n}", "type": "void*", "doc": "Given to callback."} for n in (1, 2)]
    own = {"name": "callback", "type": callback["name"] + "Callback", "doc": "Takes the result."}
    return {"name": callback["name"] + "CallbackInfo", "chain": "in",
            "header": callback.get("header", "webnn"), "members": [mode, own] + users,
            "doc": "Who takes the result of an asynchronous operation: "
                   f"WNN{callback['name']}Callback."}


def limits_struct(limits):
    members = [{"name": n, "type": "TensorLimits", "doc": f"What {n} may be."}
               for n in limits["members"]]
    return dict(limits, members=members, chain="none",
                doc="What the operands of an operator may be.")


def op_support_limits(data):
    members = [
        {"name": "preferredInputLayout", "type": "InputOperandLayout", "default": "nchw",
         "doc": "The layout of images that is fastest."},
        {"name": "maxTensorByteLength", "type": "u64",
         "doc": "The greatest size of a tensor in bytes."},
        {"name": "input", "type": "TensorLimits", "doc": "What inputs of a graph may be."},
        {"name": "constant", "type": "TensorLimits", "doc": "What constants may be."},
        {"name": "output", "type": "TensorLimits", "doc": "What outputs of a graph may be."}]
    for operator in data["operators"]:
        for method in operator["methods"]:
            members.append({"name": method["name"], "type": operator["limits"],
                            "doc": f"Operands of wnnGraphBuilder{pascal(method['name'])}."})
    return {"name": "OpSupportLimits", "idl": "MLOpSupportLimits", "section": "8.3.7.1",
            "chain": "out", "doc": "What a context can do.", "members": members}


# --- comments ----------------------------------------------------------------------------------

def wrap(text, prefix, width=WIDTH):
    width -= prefix.count("\t") * 7
    lines = []
    for part in text.split("\n"):
        lines += textwrap.wrap(part, width - len(prefix), break_long_words=False,
                               break_on_hyphens=False) or [""]
    return "\n".join((prefix + line).rstrip() for line in lines)


def comment(paragraphs, indent=""):
    body = f"\n{indent} *\n".join(wrap(p, f"{indent} * ") for p in paragraphs if p)
    return f"{indent}/**\n{body}\n{indent} */\n"


def member_comment(text):
    one = f"\t/** {text} */\n"
    if len(one) + 7 <= WIDTH and "\n" not in text:
        return one
    return "\t/**\n" + wrap(text, "\t * ") + "\n\t */\n"


def reference(api, entry):
    """The line that names the section of the specification, if there is one."""
    parts = []
    if entry.get("idl"):
        parts.append(entry["idl"])
    if entry.get("section"):
        parts.append("section " + entry["section"])
    if entry.get("anchor"):
        parts.append(api.data["specification"]["url"] + "#" + entry["anchor"])
    return "WebNN: " + ", ".join(parts) if parts else ""


def params(rows):
    """@param lines; continuation lines are indented below the text."""
    lines = []
    for name, text in rows:
        lines += textwrap.wrap(f"@param {name} {text}", WIDTH - 3, subsequent_indent="    ",
                               break_on_hyphens=False)
    return "\n".join(lines)


def returns(text):
    return "\n".join(textwrap.wrap("@return " + text, WIDTH - 3, subsequent_indent="    ",
                                   break_on_hyphens=False))


def error_lines(errors):
    lines = ["Errors:"]
    for error in errors:
        lines += textwrap.wrap("- " + error, WIDTH - 3, subsequent_indent="  ",
                               break_on_hyphens=False)
    return "\n".join(lines)


# --- header: enums, structs --------------------------------------------------------------------

def render_enum(api, enum):
    out = comment([enum["doc"], reference(api, enum)]) + f"typedef enum WNN{enum['name']} {{\n"
    if "undefined" in enum:
        out += member_comment(enum["undefined"])
        out += f"\t{undefined_name(enum)} = 0,\n"
    for value in enum["values"]:
        text = value["doc"]
        if "idl" in enum:
            text = f"\"{value['name']}\": {text}"
        number = value["value"]
        out += member_comment(text)
        out += f"\t{value_name(enum, value)} = {number if number < 65536 else hex(number)},\n"
    out += "\t/** Makes the type 32 bits wide; no value. */\n"
    return out + f"\tWNN{enum['name']}_Force32 = 0x7FFFFFFF\n}} WNN{enum['name']};\n"


def member_doc(member):
    text = member["doc"]
    if member.get("required"):
        text += " Required."
    if "absent" in member:
        text += f" Absent: {member['absent']}."
    elif "default" in member and member["default"] != "":
        value = member["default"]
        text += f" Default: {str(value).lower() if isinstance(value, bool) else value}."
    return text


def default_value(api, member):
    """The C initialiser of a member."""
    name, default = member["type"], member.get("default")
    if name in api.enums:
        enum = api.enums[name]
        for value in enum["values"]:
            if default in (value["name"], value.get("c")) and default is not None:
                return value_name(enum, value)
        return undefined_name(enum) if "undefined" in enum else f"WNN{name}_Force32"
    if name.endswith("*") or name in api.handles or name.endswith("Callback"):
        return "NULL"
    if name == "bool":
        return "WNN_TRUE" if default else "WNN_FALSE"
    if name == "f64":
        return repr(float(default or 0))
    if name == "number":
        return "WNN_NUMBER_INIT" if default is None else \
            f"{{ WNNNumberKind_Double, {float(default)!r}, 0, 0 }}"
    if name in ("string", "StringView"):
        return "WNN_STRING_VIEW_INIT"
    struct = api.structs.get(c_type(name)[3:])
    if struct:
        return init_name(struct)
    return str(default if default is not None else 0)


def has_init(struct):
    return struct["name"] not in ("NamedOperandDescriptor", "NamedOperandDescriptorArray",
                                  "NodePlacement")


def render_init(api, struct):
    out = (f"/** Initialiser of WNN{struct['name']} with the defaults. */\n"
           f"#define {init_name(struct)} {{")
    rows = []
    for member in api.members(struct):
        value = default_value(api, member)
        if member["name"] == "chain":
            value = f"{{ NULL, WNNSType_{struct['chain']} }}"
        rows.append((f"/* .{member['name']} = */ {value}"))
    return out + " \\\n\t" + ", \\\n\t".join(rows) + " \\\n}\n"


def render_struct(api, struct):
    out = comment([struct["doc"], reference(api, struct)])
    out += f"typedef struct WNN{struct['name']} {{\n"
    for member in api.members(struct):
        out += member_comment(member_doc(member))
        declared = declare(member["type"], member["name"])
        if struct["name"] == "ChainedStruct" and member["name"] == "next":
            declared = "struct " + declared
        out += f"\t{declared};\n"
    out += f"}} WNN{struct['name']};\n"
    return out + ("\n" + render_init(api, struct) if has_init(struct) else "")


def render_callback(api, callback):
    rows = [(a["name"], a["doc"]) for a in callback["args"]]
    rows.append(("userdata1, userdata2", "What was given with the callback."))
    text = [callback["doc"], params(rows), reference(api, callback)]
    args = [declare(a["type"], a["name"]) for a in callback["args"]]
    args += ["void *userdata1", "void *userdata2"]
    returned = declare(callback.get("returns", "void"), "")
    head = f"typedef {returned}(*WNN{callback['name']}Callback)("
    return comment(text) + fill_arguments(head, args) + ";\n"


def render_handle(api, handle):
    return comment([handle["doc"], reference(api, handle)]) + \
        f"typedef struct WNN{handle['name']}Impl *WNN{handle['name']};\n"


# --- header: functions -------------------------------------------------------------------------

def fill_arguments(head, args, tail=")"):
    """head(arg, arg) broken after commas below the opening bracket, tabs first."""
    column = len(head.expandtabs(8))
    pad = "\t" * (column // 8) + " " * (column % 8)
    if column > 60 or column + max(map(len, args or [""])) + 3 > WIDTH:
        column, pad = 8, "\t"
        head += "\n\t"
    lines, current = [], ""
    for index, arg in enumerate(args or ["void"]):
        item = arg + (", " if index + 1 < len(args) else tail)
        if current and column + len(current) + len(item.rstrip()) + 1 > WIDTH:
            lines.append(current.rstrip())
            current = ""
        current += item
    lines.append(current)
    return head + ("\n" + pad).join(lines)


def prototype(returned, name, args):
    return fill_arguments(f"WNN_EXPORT {declare(returned, name)}(", args) + ";\n"


def function_name(function):
    return "wnn" + (function["object"] or "") + pascal(function["method"])


def self_param(handle):
    return handle[0].lower() + handle[1:]


def render_function(api, function):
    rows, args = [], []
    if function["object"]:
        name = self_param(function["object"])
        noun = {"GraphBuilder": "builder"}.get(function["object"], name)
        rows.append((noun, f"The {noun}."))
        args.append(declare(function["object"], noun))
    for arg in function["args"]:
        rows.append((arg["name"], arg["doc"]))
        args.append(declare(arg["type"], arg["name"]))
    result = function.get("returns", {"type": "void"})
    text = [function["doc"], params(rows) if rows else ""]
    if "doc" in result:
        text.append(returns(result["doc"]))
    if "errors" in function:
        text.append(error_lines(function["errors"]))
    text.append(reference(api, function))
    return comment(text) + prototype(result["type"], function_name(function), args)


def render_references(handle):
    noun = {"GraphBuilder": "builder"}.get(handle["name"], self_param(handle["name"]))
    own = "" if handle["name"] != "Operand" else \
        " Only for references of wnnOperandAddRef."
    rows = params([(noun, f"The {noun}.")])
    arg = [declare(handle["name"], noun)]
    return (comment(["Takes another reference. NULL: does nothing.", rows]) +
            prototype("void", f"wnn{handle['name']}AddRef", arg) + "\n" +
            comment(["Gives a reference back; the last one frees the object. Never blocks, works "
                     f"on any thread.{own} NULL: does nothing.", rows]) +
            prototype("void", f"wnn{handle['name']}Release", arg))


# --- header: operators -------------------------------------------------------------------------

def types_text(text):
    return {"any": "any type"}.get(text, text.replace(" ", "|") if not text.startswith("same") else
                                   "type of " + text[len("same as "):])


def ranks_text(text):
    if text.startswith("same"):
        return "rank of " + text[len("same as "):]
    if text == "N":
        return "any rank"
    return "rank " + text.replace("..N", " or more").replace("..", " to ")


def operand_text(operand):
    text = f"{types_text(operand['types'])}, {ranks_text(operand['ranks'])}"
    return text + (f"; {operand['doc']}" if "doc" in operand else "")


def is_list(operator):
    """Whether the operator gives a sequence of operands."""
    return len(operator["outputs"]) > 1 or operator["outputs"][0].get("variadic", False)


def positional(operator):
    return [o for o in operator["operands"] if not o.get("optional")]


def operator_args(operator, arguments):
    args = ["WNNGraphBuilder builder"]
    for operand in positional(operator):
        if operand.get("variadic"):
            args.append(f"size_t {operand['name'][:-1]}Count")
            args.append(f"WNNOperand const *{operand['name']}")
        else:
            args.append(f"WNNOperand {operand['name']}")
    args += [declare(a["type"], a["name"]) for a in arguments]
    args.append(f"WNN{operator['options']} const *options")
    if is_list(operator):
        args += ["size_t outputCount", "WNNOperand *outputs"]
    return args


def operator_params(operator, arguments):
    rows = [("builder", "The builder.")]
    for operand in positional(operator):
        if operand.get("variadic"):
            rows.append((operand["name"][:-1] + "Count", f"Number of items of {operand['name']}."))
        rows.append((operand["name"], operand_text(operand) + "."))
    rows += [(a["name"], a["doc"][:1].upper() + a["doc"][1:] + ".") for a in arguments]
    text = "NULL: the defaults."
    for operand in operator["operands"]:
        if operand.get("optional"):
            text += f" {operand['name']}: {operand_text(operand)}."
    rows.append(("options", text))
    if is_list(operator):
        rows += list_params(operator)
    return rows


def list_params(operator):
    outputs = operator["outputs"]
    if outputs[0].get("variadic"):
        return [("outputCount", "Number of items of outputs: exactly the number of parts."),
                ("outputs", f"Filled with the parts: {operand_text(outputs[0])}. They belong to "
                            "the builder. NULL on error.")]
    always = sum("when" not in o for o in outputs)
    count = f"exactly {always}" + (f", {always + 1} with {outputs[-1]['when']}"
                                   if always < len(outputs) else "")
    text = " ".join(f"[{i}]: {operand_text(o)}." for i, o in enumerate(outputs))
    return [("outputCount", f"Number of items of outputs: {count}."),
            ("outputs", "Filled with operands that belong to the builder, with NULL on error. "
                        + text)]


def render_operator(api, operator, c_name, doc, arguments, errors):
    text = [doc, params(operator_params(operator, arguments))]
    if is_list(operator):
        text.append(returns("Success, or what went wrong; wnnGraphBuilderGetLastError has the "
                            "message."))
    else:
        text.append(returns(operand_text(operator["outputs"][0]) +
                            ". Belongs to the builder. NULL on error."))
    text += operator.get("notes", [])
    common = "those of every operator (see above)"
    if is_list(operator):
        errors = list(errors) + ["outputCount is not as said above"]
    text.append(error_lines([common] + ["TypeError: " + e for e in errors]))
    text.append(reference(api, operator))
    returned = "Status" if is_list(operator) else "Operand"
    return comment(text) + prototype(returned, "wnnGraphBuilder" + pascal(c_name),
                                     operator_args(operator, arguments))


def operator_functions(api):
    """(C name, operator, method, arguments, doc, errors) of all functions that make operators."""
    for method, operator in api.methods():
        yield (method["name"], operator, method["name"], operator.get("arguments", []),
               method["doc"], operator.get("errors", []))
        for over in operator.get("overloads", []):
            yield (over["c"], operator, method["name"], over["arguments"], over["doc"],
                   over["errors"])


# --- headers -----------------------------------------------------------------------------------

def section(title):
    return f"\n/* --- {title} {'-' * (88 - len(title))} */\n\n"


def render_constant(constant):
    return f"/** {constant['doc']} */\n#define {constant['name']} ({constant['value']})\n"


def of_header(entries, header):
    return [e for e in entries if e.get("header", "webnn") == header]


def declarations(api, header):
    data = api.data
    out = ""
    early = ("StringView", "ChainedStruct", "Uint32Array", "FloatArray")
    structs = api.ordered_structs(header)
    out += section("Constants")
    out += "\n".join(render_constant(c) for c in of_header(data["constants"], header))
    out += section("Enumerations")
    out += "\n".join(render_enum(api, e) for e in of_header(data["enums"], header))
    if header == "webnn":
        out += section("Objects") + "\n".join(render_handle(api, h) for h in data["handles"])
        out += section("Strings, arrays and chains")
        out += "\n".join(render_struct(api, s) for s in structs if s["name"] in early)
    out += section("Callbacks")
    out += "\n".join(render_callback(api, c) for c in of_header(data["callbacks"], header))
    out += section("Structures")
    return out + "\n".join(render_struct(api, s) for s in structs if s["name"] not in early)


def functions(api, header):
    out = ""
    for handle in [None] + api.data["handles"]:
        name = handle["name"] if handle else None
        mine = [f for f in of_header(api.data["functions"], header) if f["object"] == name]
        if not mine:
            continue
        out += section(f"Functions of WNN{name}" if name else "Functions without an object")
        if handle and header == "webnn":
            out += render_references(handle) + "\n"
        out += "\n".join(render_function(api, f) for f in mine)
        if name == "GraphBuilder" and header == "webnn":
            out += section("Operators") + (HERE / "templates" / "operators.txt").read_text() + "\n"
            out += "\n".join(render_operator(api, o, c, d, a, e)
                             for c, o, _, a, d, e in operator_functions(api))
    return out


def render_header(api, header):
    text = (HERE / "templates" / f"{header}.h.in").read_text(encoding="utf-8")
    return SPDX + text.replace("@DECLARATIONS@\n", declarations(api, header)) \
        .replace("@FUNCTIONS@\n", functions(api, header))


def exports(api):
    names = {function_name(f) for f in api.data["functions"]}
    for handle in api.data["handles"]:
        names |= {f"wnn{handle['name']}AddRef", f"wnn{handle['name']}Release"}
    names |= {"wnnGraphBuilder" + pascal(row[0]) for row in operator_functions(api)}
    return sorted(names)


def render_map(api):
    names = "".join(f"\t{name};\n" for name in exports(api))
    return ("# SPDX-License-Identifier: MIT\n# Generated by generate.py from webnn.json.\n"
            f"WEBNN_1 {{\nglobal:\n{names}local:\n\t*;\n}};\n")


def outputs(api):
    """Path below this directory -> contents of every generated file."""
    return {"include/webnn/webnn.h": render_header(api, "webnn"),
            "include/webnn/webnn_npu.h": render_header(api, "webnn_npu"),
            "webnn.map": render_map(api)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--list", action="store_true", help="print the generated files")
    options = parser.parse_args()
    stale = []
    for name, text in outputs(Api(HERE / "webnn.json")).items():
        path = HERE / name
        if options.list:
            print(name)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in stale:
        verdict = "differs from webnn.json; run generate.py" if options.check else "written"
        print(f"{name}: {verdict}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
