# SPDX-License-Identifier: MIT
"""Reads webnn.json, finds its entries by name, and makes the C names of what it defines."""
import json
import re
import sys

SCALARS = {
    "u32": "uint32_t", "i32": "int32_t", "u64": "uint64_t", "i64": "int64_t", "f64": "double",
    "bool": "WNNBool", "size": "size_t", "int": "int", "void": "void", "char": "char",
    "uint32_t": "uint32_t", "float": "float", "string": "WNNStringView", "number": "WNNNumber",
    "u32[]": "WNNUint32Array", "f32[]": "WNNFloatArray", "Proc": "WNNProc",
    "DataTypeSet": "WNNOperandDataTypeSet",
}


# --- names and types ---------------------------------------------------------------------------

def upper(name):
    """Returns a name in capitals: conv2d -> CONV2D, gatherND -> GATHER_ND, isNaN -> IS_NAN."""
    name = name.replace("NaN", "Nan")
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", name).upper()


def lower(name):
    return upper(name).lower()


def pascal(name):
    """Returns a name without hyphens: high-performance -> HighPerformance, conv2d -> Conv2d."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def c_type(name):
    """Returns the C type for a type of webnn.json, such as 'Context*', 'void const*', 'u32[]' or
    'LogCallback'.
    """
    match = re.fullmatch(r"([\w\[\]]+)((?: const)?\*{0,2})", name)
    if not match:
        sys.exit(f"webnn.json: '{name}' is no type")
    base, suffix = match.groups()
    if base not in SCALARS and base.endswith("[]"):
        base = base[:-2] + "Array"
    base = SCALARS.get(base, "WNN" + base)
    return base + suffix.replace("*", " *", 1)


def declare(type_name, name):
    text = c_type(type_name)
    return text + name if text.endswith("*") else f"{text} {name}"


def declare_for_user(entry):
    """Returns the declaration of an argument or member in a public header, which says whether it
    may be NULL.
    """
    return declare(entry["type"], ("WNN_NULLABLE " if may_be_null(entry) else "") + entry["name"])


def may_be_null(entry):
    """Returns whether an argument or member may be NULL: chains and userdata may, and those for
    which webnn.json says "nullable", or what NULL means.
    """
    return entry.get("nullable") or "; NULL:" in entry["doc"] or \
        entry["name"] in ("nextInChain", "userdata1", "userdata2")


def value_name(enum, value):
    return f"WNN{enum['name']}_{value.get('c') or pascal(value['name'])}"


def undefined_name(enum):
    return f"WNN{enum['name']}_{enum.get('undefinedName', 'Undefined')}"


def init_name(struct):
    return f"WNN_{upper(struct['name'])}_INIT"


def static_init_name(struct):
    return f"WNN_{upper(struct['name'])}_STATIC_INIT"


# --- the model ---------------------------------------------------------------------------------

class Api:
    """Holds webnn.json, with its entries by name."""

    def __init__(self, path):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.data["functions"] = list(with_sync(self.data["functions"]))
        self.data["functions"] += with_aliases(self.data["functions"], self.data["aliases"])
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
        """Yields (method, operator) of every builder method, in the order of the specification."""
        for operator in self.data["operators"]:
            for method in operator["methods"]:
                yield method, operator

    def members(self, struct):
        """Returns all members of a struct: the head of its chain, those of its base, its own."""
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
        """Returns the structs of a header, each after those that it holds by value."""
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
        """Returns the names of types in a text, or of a set of types that webnn.json names."""
        return self.data["typeSets"].get(text, text).split()


def sync_function(function):
    """Returns the function that waits for the operation of another one, and sets the name of it in
    function["sync"]. It has the arguments of that one, with a time limit and the result in the
    place of the callback.
    """
    sync = function["sync"]
    base = function_name(function)
    args = function["args"][:-1] + [
        {"name": "timeoutNS", "type": "u64",
         "doc": "How long to wait at most, in nanoseconds, or WNN_WAIT_FOREVER."}]
    if "result" in sync:
        args.append(dict(sync["result"], doc=f"Out: {sync['result']['doc']}. NULL on error."))
    doc = f"As {base}, but waits for the result. Runs no callbacks of other operations."
    made = {"object": function["object"], "method": sync.get("method", function["method"] + "Sync"),
            "doc": " ".join([doc] + ([sync["doc"]] if "doc" in sync else [])), "args": args,
            "returns": {"type": "Status",
                        "doc": "Success, or what went wrong; wnnGetLastError has the message."},
            "errors": ["TimedOut: timeoutNS were over; " +
                       sync.get("timedOut", "the operation is cancelled"),
                       "InvalidStateError: called from inside a callback of the library",
                       f"those of {base}"]}
    made.update({key: function[key] for key in ("header", "since") if key in function})
    sync["function"] = function_name(made)
    return made


def with_sync(functions):
    """Yields each function, then the one that waits for its operation, if webnn.json asks for it.
    """
    for function in functions:
        yield function
        if "sync" in function:
            yield sync_function(function)


def with_aliases(functions, aliases):
    """Yields functions that are older names of others, for programs that use these names."""
    known = {function_name(f): f for f in functions}
    for alias in aliases:
        function = known[alias["of"]]
        made = {"doc": f"Older name of {alias['of']}.", "object": alias["object"],
                "method": alias["method"], "alias": alias["of"], "args": function["args"],
                "returns": {"type": function["returns"]["type"]}}
        if "header" in function:
            made["header"] = function["header"]
        yield made


def callback_info(callback):
    """Returns the struct that takes a callback, its mode and its userdata."""
    mode = {"name": "mode", "type": "CallbackMode", "default": "AllowProcessEvents",
            "doc": "When and where callback may run."}
    users = [{"name": f"userdata{n}", "type": "void*", "doc": "Given to callback."} for n in (1, 2)]
    own = {"name": "callback", "type": callback["name"] + "Callback", "doc": "The function that is called."}
    return {"name": callback["name"] + "CallbackInfo", "chain": "in",
            "header": callback.get("header", "webnn"), "members": [mode, own] + users,
            "doc": f"A WNN{callback['name']}Callback, and when and where it may run."}


def limits_struct(limits):
    """Returns the struct with the limits of the operands of some operators."""
    members = [{"name": n, "type": "TensorLimits", "doc": f"What {n} may be."}
               for n in limits["members"]]
    return dict(limits, members=members, chain="none",
                doc="What the operands of an operator may be.")


def op_support_limits(data):
    """Returns the struct with what a context supports, which has a member for each operator."""
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


# --- operators ---------------------------------------------------------------------------------

def is_list(operator):
    """Returns whether the operator gives a sequence of operands."""
    return len(operator["outputs"]) > 1 or operator["outputs"][0].get("variadic", False)


def positional(operator):
    """Returns the operands that are arguments; the others are members of the options."""
    return [o for o in operator["operands"] if not o.get("optional")]


def count_argument(operator, arguments):
    """Returns the argument that tells how many outputs there are, where their number varies."""
    count = operator["outputs"][0]["count"]
    return next(a for a in arguments if a.get("idl", a["name"]) == count)


def operator_functions(api):
    """Yields (C name, operator, method, arguments, doc, errors) of all functions that make
    operators.
    """
    for method, operator in api.methods():
        yield (method["name"], operator, method["name"], operator.get("arguments", []),
               method["doc"], operator.get("errors", []))
        for over in operator.get("overloads", []):
            yield (over["c"], operator, method["name"], over["arguments"], over["doc"],
                   over["errors"])


def function_name(function):
    return "wnn" + (function["object"] or "") + pascal(function["method"])


def exports(api):
    """Returns the names of all functions of the library."""
    names = {function_name(f) for f in api.data["functions"]}
    for handle in api.data["handles"]:
        names |= {f"wnn{handle['name']}AddRef", f"wnn{handle['name']}Release"}
    names |= {"wnnGraphBuilder" + pascal(row[0]) for row in operator_functions(api)}
    return sorted(names)


def since(api):
    """Returns {name of a function: the version of the library that had it first}, without functions
    of the first version.
    """
    versions = {function_name(f): f["since"] for f in api.data["functions"] if "since" in f}
    for name, operator, *_ in operator_functions(api):
        if "since" in operator:
            versions["wnnGraphBuilder" + pascal(name)] = operator["since"]
    return versions
