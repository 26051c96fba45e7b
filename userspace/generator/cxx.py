# SPDX-License-Identifier: MIT
"""Makes the C++ header from a template, the structures with their defaults, and the operators."""
import textwrap

from generator.headers import TEMPLATES, default_value, operand_text
from generator.model import (c_type, count_argument, init_name, is_list, operator_functions,
                             pascal, positional)

# Structures that applications make and fill in, with the members of C.
MADE = ("OperandDescriptor", "TensorDescriptor", "ContextOptions", "ContextDeviceOptions",
        "BorrowedConstant", "TensorDmaBuf", "TensorHostMemory")

# The types of C++ for types of webnn.json, where members of options have other types than in C.
MEMBERS = {"string": "Text", "StringView": "Text", "u32[]": "OptionalList<uint32_t>",
           "f32[]": "OptionalList<float>", "number": "Number", "bool": "bool",
           "RecurrentNetworkActivation[]": "OptionalList<WNNRecurrentNetworkActivation>",
           "Operand": "Operand"}


def render_struct(struct):
    name = struct["name"]
    head = f"\t{name}() : WNN{name}({init_name(struct)}) {{}}\n"
    if len(head) > 92:
        head = f"\t{name}()\n\t\t: WNN{name}({init_name(struct)}) {{}}\n"
    return f"struct {name} : WNN{name} {{\n{head}}};\n"


def render_descriptor(struct):
    """Renders a descriptor that is made of data type and shape, and keeps a copy of the shape."""
    name = struct["name"]
    flags = name == "TensorDescriptor"
    more = ",\n\t\tbool canRead = true, bool canWrite = true" if flags else ""
    body = "\t\tdataType = type;\n\t\tshape = shape_;\n"
    if flags:
        body += "\t\treadable = canRead;\n\t\twritable = canWrite;\n"
    return (f"struct {name} : WNN{name} {{\n"
            f"\t{name}(WNNOperandDataType type, Uint32List dimensions{more})\n"
            f"\t\t: WNN{name}({init_name(struct)}), shape_(std::move(dimensions))\n"
            f"\t{{\n{body}\t}}\n"
            f"\t{name}(const {name} &) = delete;\n"
            f"\t{name} &operator=(const {name} &) = delete;\n\n"
            "private:\n\tUint32List shape_;\n};\n")


def member_default(api, member):
    """Returns the initialiser of a member of options: "{}" where its type has the default."""
    kind = member["type"]
    if kind == "number":
        return "{}" if member.get("default") is None else f"{{ {float(member['default'])!r} }}"
    if kind in MEMBERS and kind != "bool":
        return "{}"
    if kind == "bool":
        return " = true" if member.get("default") else " = false"
    return " = " + default_value(api, member).replace("NULL", "nullptr")


def render_options(api, struct):
    """Renders an aggregate that keeps texts and lists; get() makes the struct of C for a call."""
    name = struct["name"]
    out = f"struct {name} {{\n"
    copies = ""
    for member in api.members(struct):
        kind = MEMBERS.get(member["type"], c_type(member["type"]))
        blank = "" if kind.endswith("*") else " "
        out += f"\t{kind}{blank}{member['name']}{member_default(api, member)};\n"
        copies += f"\t\toptions.{member['name']} = {member['name']};\n"
    return (out + "\t/** For the C API; points to what this object holds. */\n"
            f"\tWNN{name} get() const &\n\t{{\n"
            f"\t\tWNN{name} options = {init_name(struct)};\n\n{copies}"
            "\t\treturn options;\n\t}\n};\n")


def structs(api):
    """Renders the structures that applications fill in: descriptors, options and those in MADE."""
    used = {o["options"] for o in api.data["operators"]}
    out = []
    for header in ("webnn", "webnn_npu"):
        for struct in api.ordered_structs(header):
            if struct["name"] in ("OperandDescriptor", "TensorDescriptor"):
                out.append(render_descriptor(struct))
            elif struct["name"] in used:
                out.append(render_options(api, struct))
            elif struct["name"] in MADE:
                out.append(render_struct(struct))
    return "\n".join(out)


def argument_type(kind):
    return {"u32[]": "const Uint32List &"}.get(kind, c_type(kind) + " ")


def arguments_of(operator, arguments):
    """Returns (declarations, values of the call), both with the options but without the outputs."""
    declared, values = [], ["get()"]
    for operand in positional(operator):
        if operand.get("variadic"):
            declared.append(f"const std::vector<Operand> &{operand['name']}")
            values += [f"{operand['name']}_.size()", f"{operand['name']}_.data()"]
        else:
            declared.append(f"Operand {operand['name']}")
            values.append(operand["name"])
    for argument in arguments:
        declared.append(argument_type(argument["type"]) + argument["name"])
        values.append(argument["name"])
    declared.append(f"const {operator['options']} &options = {{}}")
    return declared, values + ["&own"]


def count_of(operator, arguments):
    """Returns an expression of C++ for the number of operands that a call makes."""
    outputs = operator["outputs"]
    if outputs[0].get("variadic"):
        argument = count_argument(operator, arguments)
        name = argument["name"]
        if argument["type"].endswith("[]"):
            return f"WNNUint32Array({name}).count"
        # 8193 outputs are refused as any larger number is, and need less memory.
        return f"{name} <= 8192 ? {name} : 8193"
    always = sum("when" not in o for o in outputs)
    if always == len(outputs):
        return str(always)
    return f"options.{outputs[always]['when']} ? {len(outputs)} : {always}"


def wrap(head, items, tail, indent):
    """Returns head, the items with commas between them, and tail, broken between items only."""
    # An item is not broken: \a stands for its blanks while the text is wrapped.
    text = head.replace(" ", "\a") + ", ".join(i.replace(" ", "\a") for i in items) + tail
    lines = textwrap.wrap(text, 84, initial_indent=indent, subsequent_indent=indent + "\t",
                          break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\a", " ")


def render_operator(operator, c_name, method, arguments, doc):
    declared, values = arguments_of(operator, arguments)
    returned = "std::vector<Operand>" if is_list(operator) else "Operand"
    outputs = "; ".join(operand_text(o) for o in operator["outputs"])
    out = "\n".join(textwrap.wrap(f"/** {doc} Gives {outputs}. */", 90, initial_indent="\t",
                                  subsequent_indent="\t *  ", break_on_hyphens=False)) + "\n"
    out += wrap(f"{returned} {method}(", declared, ")", "\t") + "\n\t{\n"
    for operand in positional(operator):
        if operand.get("variadic"):
            name = operand["name"]
            out += f"\t\tstd::vector<WNNOperand> {name}_({name}.begin(), {name}.end());\n"
    out += f"\t\tconst WNN{operator['options']} own = options.get();\n"
    function = "wnnGraphBuilder" + pascal(c_name)
    if is_list(operator):
        out += f"\t\tstd::vector<WNNOperand> outputs({count_of(operator, arguments)});\n"
        values += ["outputs.size()", "outputs.data()"]
        out += wrap(f"WNNStatus status = {function}(", values, ");", "\t\t") + "\n\n"
        return out + "\t\treturn made(status, outputs);\n\t}\n"
    return out + "\n" + wrap(f"return made({function}(", values, "));", "\t\t") + "\n\t}\n"


def render(api):
    text = (TEMPLATES / "webnn.hpp.in").read_text(encoding="utf-8")
    # Functions of C that are overloads have one name in C++, that of their method.
    operators = "".join(render_operator(o, c, m, a, d)
                        for c, o, m, a, d, _ in operator_functions(api))
    return text.replace("@STRUCTS@\n", structs(api) + "\n") \
        .replace("@OPERATORS@\n", operators)
