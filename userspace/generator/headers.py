# SPDX-License-Identifier: MIT
"""Makes the public headers: enumerations, structures and functions, with their documentation."""
import pathlib
import textwrap

from generator.model import (c_type, declare, declare_for_user, function_name, init_name, is_list,
                             operator_functions, pascal, positional, static_init_name,
                             undefined_name, value_name)

TEMPLATES = pathlib.Path(__file__).resolve().parent.parent / "templates"
WIDTH = 100
SPDX = "/* SPDX-License-Identifier: MIT */\n"


# --- comments ----------------------------------------------------------------------------------

def wrap(text, prefix, width=WIDTH):
    """Returns the lines of text, broken at the width, each after the prefix."""
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
    """Returns the line that names the section of the specification; "" when an entry has none."""
    parts = []
    if entry.get("idl"):
        parts.append(entry["idl"])
    if entry.get("section"):
        parts.append("section " + entry["section"])
    if entry.get("anchor"):
        parts.append(api.data["specification"]["url"] + "#" + entry["anchor"])
    return "WebNN: " + ", ".join(parts) if parts else ""


def params(rows):
    """Returns the @param lines; their continuation lines begin with four spaces."""
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
    """Returns the C initialiser of a member."""
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
        return "WNN_NUMBER_STATIC_INIT" if default is None else \
            f"{{ WNNNumberKind_Double, {float(default)!r}, 0, 0 }}"
    if name in ("string", "StringView"):
        return "WNN_STRING_VIEW_STATIC_INIT"
    struct = api.structs.get(c_type(name)[3:])
    if struct:
        return static_init_name(struct)
    return str(default if default is not None else 0)


def has_init(struct):
    """Returns whether a struct has initialisers: those that programs only read have none."""
    return struct["name"] not in ("NamedOperandDescriptor", "NamedOperandDescriptorArray",
                                  "NodePlacement")


def render_init(api, struct):
    name = f"WNN{struct['name']}"
    out = (f"/** Initialiser of {name} with the defaults, for static objects in strict C. */\n"
           f"#define {static_init_name(struct)} {{")
    rows = []
    for member in api.members(struct):
        value = default_value(api, member)
        if member["name"] == "chain":
            value = f"{{ NULL, WNNSType_{struct['chain']} }}"
        rows.append((f"/* .{member['name']} = */ {value}"))
    out += " \\\n\t" + ", \\\n\t".join(rows) + " \\\n}\n"
    value = f"#define {init_name(struct)} WNN_VALUE({name}, {static_init_name(struct)})\n"
    if len(value) > WIDTH:
        value = value.replace(" WNN_VALUE", " \\\n\tWNN_VALUE")
    return out + f"/** A {name} with the defaults. */\n" + value


def render_struct(api, struct):
    out = comment([struct["doc"], reference(api, struct)])
    out += f"typedef struct WNN{struct['name']} {{\n"
    for member in api.members(struct):
        out += member_comment(member_doc(member))
        declared = declare_for_user(member)
        if struct["name"] == "ChainedStruct" and member["name"] == "next":
            declared = "struct " + declared
        out += f"\t{declared};\n"
    out += f"}} WNN{struct['name']};\n"
    return out + ("\n" + render_init(api, struct) if has_init(struct) else "")


def render_callback(api, callback):
    rows = [(a["name"], a["doc"]) for a in callback["args"]]
    rows += [(name, "What was given with the callback.") for name in ("userdata1", "userdata2")]
    text = [callback["doc"], params(rows), reference(api, callback)]
    # Structures are defined after the callbacks, which are members of some of them, so a callback
    # names a structure by its tag.
    tags = {s["name"] for s in api.data["structs"]}
    used = [a["type"].split()[0].rstrip("*") for a in callback["args"]]
    args = [("struct " if name in tags else "") + declare(a["type"], a["name"])
            for name, a in zip(used, callback["args"])]
    before = "".join(f"struct WNN{name};\n\n" for name in used if name in tags)
    args += ["void *userdata1", "void *userdata2"]
    returned = declare(callback.get("returns", "void"), "")
    head = f"typedef {returned}(*WNN{callback['name']}Callback)("
    return before + comment(text) + fill_arguments(head, args) + ";\n"


def render_handle(api, handle):
    return comment([handle["doc"], reference(api, handle)]) + \
        f"typedef struct WNN{handle['name']}Impl *WNN{handle['name']};\n"


# --- header: functions -------------------------------------------------------------------------

def fill_arguments(head, args, tail=")"):
    """Returns head(arg, arg), broken after commas. Further lines begin below the opening bracket,
    after tabs and then blanks, or after one tab where the bracket is far to the right.
    """
    column = len(head.rpartition("\n")[2].expandtabs(8))
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


def prototype(returned, name, args, nullable=False, instead=None):
    name = f"WNN_NULLABLE {name}" if nullable else name
    head = "WNN_EXPORT "
    if instead:
        head = f"WNN_DEPRECATED(\"{instead} is its name\")\n" + head
    return fill_arguments(f"{head}{declare(returned, name)}(", args) + ";\n"


def self_param(handle):
    return handle[0].lower() + handle[1:]


def render_function(api, function):
    rows, args = [], []
    documented = "alias" not in function
    if function["object"]:
        name = self_param(function["object"])
        noun = {"GraphBuilder": "builder"}.get(function["object"], name)
        rows.append((noun, f"The {noun}."))
        args.append(declare(function["object"], noun))
    for arg in function["args"]:
        rows.append((arg["name"], arg["doc"]))
        args.append(declare_for_user(arg))
    result = function.get("returns", {"type": "void"})
    text = [function["doc"], params(rows) if rows and documented else ""]
    if "doc" in result:
        text.append(returns(result["doc"]))
    if "errors" in function:
        text.append(error_lines(function["errors"]))
    text.append(reference(api, function))
    return comment(text) + prototype(result["type"], function_name(function), args,
                                     "NULL on error" in result.get("doc", ""),
                                     function.get("alias"))


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


def operator_args(operator, arguments, for_user=False):
    nullable = "WNN_NULLABLE " if for_user else ""
    args = ["WNNGraphBuilder builder"]
    for operand in positional(operator):
        if operand.get("variadic"):
            args.append(f"size_t {operand['name'][:-1]}Count")
            args.append(f"WNNOperand const *{operand['name']}")
        else:
            args.append(f"WNNOperand {operand['name']}")
    args += [declare(a["type"], a["name"]) for a in arguments]
    args.append(f"WNN{operator['options']} const *{nullable}options")
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
                                     operator_args(operator, arguments, for_user=True),
                                     nullable=returned == "Operand")


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
        out += (TEMPLATES / "views.txt").read_text(encoding="utf-8")
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
            out += section("Operators") + (TEMPLATES / "operators.txt").read_text() + "\n"
            out += "\n".join(render_operator(api, o, c, d, a, e)
                             for c, o, _, a, d, e in operator_functions(api))
    return out


def render_version(api):
    """Returns the version as macros, for programs that can be compiled with several versions."""
    rows = list(zip(("MAJOR", "MINOR", "PATCH"), api.data["version"]))
    text = ".".join(str(number) for _, number in rows)
    out = "/* The version of this header; wnnGetVersion tells that of the library that runs. */\n"
    out += "".join(f"#define WNN_VERSION_{name} {number}\n" for name, number in rows)
    out += f"#define WNN_VERSION_TEXT \"{text}\"\n\n"
    return out + ("/** Whether this header is of that version or a later one, also for #if. */\n"
                  "#define WNN_VERSION_AT_LEAST(major, minor, patch) \\\n"
                  "\t(WNN_VERSION_MAJOR > (major) || (WNN_VERSION_MAJOR == (major) && \\\n"
                  "\t (WNN_VERSION_MINOR > (minor) || (WNN_VERSION_MINOR == (minor) && \\\n"
                  "\t  WNN_VERSION_PATCH >= (patch)))))")


def render_header(api, header):
    text = (TEMPLATES / f"{header}.h.in").read_text(encoding="utf-8")
    return SPDX + text.replace("@VERSION@", render_version(api)) \
        .replace("@DECLARATIONS@\n", declarations(api, header)) \
        .replace("@FUNCTIONS@\n", functions(api, header))
