#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares webnn.json with the specification: interface definitions, allowed and required types and
ranks. Also tests that webnn.json is consistent in itself.
"""
import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
import webnn_idl  # noqa: E402

API = json.loads((webnn_idl.TOP / "userspace" / "webnn.json").read_text(encoding="utf-8"))
IDL = webnn_idl.find_text()
TABLE = webnn_idl.SHARED / "spec" / "webnn.md"


def methods():
    return {m["name"]: o for o in API["operators"] for m in o["methods"]}


def struct_members(name):
    """Returns the members of a structure without extensions, those of the base first."""
    struct = next(s for s in API["structs"] if s["name"] == name)
    base = struct_members(struct["base"]) if "base" in struct else []
    return base + [m for m in struct["members"] if not m.get("extension")]


def idl_members(name, dictionaries):
    base, members = dictionaries[name]
    return (idl_members(base, dictionaries) if base else []) + members


def same_default(idl, ours):
    if idl is None:
        return ours is None
    if idl in ("true", "false"):
        return ours is (idl == "true")
    if idl.startswith('"'):
        return ours == idl.strip('"')
    return ours is not None and float(idl) == float(ours)


@unittest.skipIf(IDL is None, "the text of the specification is not beside the checkout")
class Definitions(unittest.TestCase):
    def test_enums(self):
        theirs = webnn_idl.enums(IDL)
        ours = {e["name"]: [v["name"] for v in e["values"] if not v.get("extension")]
                for e in API["enums"] if "idl" in e}
        self.assertEqual(len(theirs), 12)
        self.assertEqual(ours, theirs)

    def test_option_dictionaries(self):
        theirs = webnn_idl.dictionaries(IDL)
        ours = {s["name"] for s in API["structs"]} | {x["name"] for x in API["limits"]}
        made = {"OpSupportLimits", "ContextLostInfo"}  # generated; the arguments of a callback
        self.assertEqual({n for n in theirs if n not in ours} - made, set())
        for name in theirs:
            if name.endswith("SupportLimits") or name in made:
                continue
            with self.subTest(name):
                self.compare_members(name, idl_members(name, theirs), struct_members(name))

    def compare_members(self, name, theirs, ours):
        kinds = {"DataTypeSet": "DataTypeList", "Uint32Array": "u32[]"}
        self.assertEqual([(m["name"], kinds.get(m["type"], m["type"])) for m in ours],
                         [(n, t) for n, t, _, _ in theirs])
        for member, (_, _, default, required) in zip(ours, theirs):
            self.assertEqual(bool(member.get("required")), required, member["name"])
            self.assertTrue(same_default(default, member.get("default")),
                            f"{name}.{member['name']}: {default} is {member.get('default')} here")

    def test_limit_dictionaries(self):
        theirs = {n: [m[0] for m in members] for n, (_, members) in
                  webnn_idl.dictionaries(IDL).items() if re.fullmatch(r"(?!Op)\w+SupportLimits", n)}
        self.assertEqual({x["name"]: x["members"] for x in API["limits"]}, theirs)
        self.assertEqual({n: o["limits"] for n, o in methods().items()},
                         webnn_idl.operator_limits(IDL))

    def test_operators(self):
        theirs = webnn_idl.operators(IDL)
        self.assertEqual(len(theirs), 95)
        self.assertEqual(list(methods()), list(theirs))
        for name, operator in methods().items():
            with self.subTest(name):
                self.compare_operator(operator, *theirs[name])

    def compare_operator(self, operator, listed, arguments):
        ours = [(o["name"], "Operand[]" if o.get("variadic") else "Operand")
                for o in operator["operands"] if not o.get("optional")]
        ours += [(a["name"], a["type"]) for a in operator.get("arguments", [])]
        ours.append(("options", operator["options"]))
        theirs = [(n, t.split(" or ")[-1].strip(" ()") if " or " in t else t)
                  for n, t in arguments]
        theirs = [(n, webnn_idl.type_of(t) if "sequence" in t else t) for n, t in theirs]
        self.assertEqual(ours, theirs)
        outputs = operator["outputs"]
        self.assertEqual(len(outputs) > 1 or bool(outputs[0].get("variadic")), listed)
        optional = [o["name"] for o in operator["operands"] if o.get("optional")]
        self.assertEqual(optional, [m["name"] for m in struct_members(operator["options"])
                                    if m["type"] == "Operand"])

    def test_interfaces(self):
        ours = {tuple(f["idl"].split(".")) for f in API["functions"] if "idl" in f}
        for name in ("MLContext", "MLGraph", "MLTensor", "MLOperand", "MLGraphBuilder", "ML"):
            theirs = webnn_idl.interface_members(IDL, name)
            with self.subTest(name):
                self.assertEqual({m for n, m in ours if n == name}, theirs)


# How arguments of methods look in C when a name or a type differs. All others are the same.
BUFFERS = {"inputData": "void const*", "buffer": "void const*", "outputData": "void*"}
RECORDS = {"MLNamedTensors": "NamedTensor const*", "MLNamedOperands": "NamedOperand const*"}
INTERFACES = ("ML", "MLContext", "MLGraph", "MLTensor", "MLOperand", "MLGraphBuilder")


def c_arguments(arguments):
    """Returns the arguments of a method of the specification as webnn.json has them."""
    handles = {h["name"] for h in API["handles"]}
    enums = {e["name"] for e in API["enums"]}
    result = []
    for name, kind, _ in arguments:
        plain = kind.removeprefix("ML")
        if kind == "AllowSharedBufferSource":
            result += [("data", BUFFERS[name]), ("size", "size")]
        elif kind in RECORDS:
            result += [(name[:-1] + "Count", "size"), (name, RECORDS[kind])]
        elif kind == "GPUDevice":
            result.append((name, "void*"))
        elif plain in handles or plain in enums or plain == "Number":
            result.append((name, plain))
        elif kind == "USVString":
            result.append((name, "StringView"))
        else:
            result.append((name, plain + " const*"))
    return result


@unittest.skipIf(IDL is None, "the text of the specification is not beside the checkout")
class Interfaces(unittest.TestCase):
    def functions(self, name):
        """Returns {method or attribute: its functions}, in the order of webnn.json."""
        result = {}
        for function in API["functions"]:
            owner, _, method = function.get("idl", "").partition(".")
            if owner == name:
                result.setdefault(method, []).append(function)
        return result

    def test_attributes(self):
        known = {"FrozenArray<unsignedlong>": "Uint32Array", "boolean": "bool",
                 "MLOperandDataType": "OperandDataType",
                 "Promise<MLContextLostInfo>": "Future"}
        seen = 0
        for name in INTERFACES:
            for attribute, kind in webnn_idl.interface_attributes(IDL, name).items():
                with self.subTest(f"{name}.{attribute}"):
                    function, = self.functions(name)[attribute]
                    self.assertEqual(function["returns"]["type"], known[kind.replace(" ", "")])
                    seen += 1
        self.assertEqual(seen, 9)

    def check_returned(self, function, returned):
        promised = re.fullmatch(r"Promise<(\w+)>", returned)
        if not promised:
            ours = function.get("returns", {"type": "void"})["type"]
            self.assertIn(ours, ("Status", "void", returned.removeprefix("ML")))
            return []
        self.assertEqual(function["returns"]["type"], "Future")
        info = function["args"][-1]
        self.assertTrue(info["type"].endswith("CallbackInfo"))
        callback = next(c for c in API["callbacks"]
                        if c["name"] + "CallbackInfo" == info["type"])
        result = [(a["name"], a["type"]) for a in callback["args"]]
        wanted = {"undefined": [], "ArrayBuffer": [("data", "void const*"), ("size", "size")]} \
            .get(promised[1])
        if wanted is None:
            plain = promised[1].removeprefix("ML")
            wanted = [(plain[0].lower() + plain[1:], plain)]
        self.assertEqual(result, [("status", "Status"), *wanted, ("message", "string")])
        return [("callbackInfo", info["type"])]

    def check_method(self, function, returned, arguments):
        last = self.check_returned(function, returned)
        if returned == "MLOpSupportLimits":
            last = [("limits", "OpSupportLimits*")]
        self.assertEqual([(a["name"], a["type"]) for a in function["args"]],
                         c_arguments(arguments) + last)
        for name, _, optional in arguments:
            if optional:
                ours = next(a for a in function["args"] if a["name"] == name)
                self.assertIn("NULL: the defaults", ours["doc"])

    def test_methods(self):
        seen = 0
        for name in INTERFACES:
            functions = {n: list(f) for n, f in self.functions(name).items()}
            for method, returned, arguments in webnn_idl.interface_methods(IDL, name):
                if method == "constructor":
                    continue
                with self.subTest(f"{name}.{method}({', '.join(a[0] for a in arguments)})"):
                    wanted = len(c_arguments(arguments))
                    ours = next(f for f in functions[method] if
                                sum(a["type"] != "Future" and a["name"] not in
                                    ("callbackInfo", "limits") for a in f["args"]) == wanted and
                                (not arguments or f["args"][0]["name"] ==
                                 c_arguments(arguments)[0][0]))
                    functions[method].remove(ours)
                    self.check_method(ours, returned, arguments)
                    seen += 1
        self.assertEqual(seen, 17)

    def test_sync_functions_give_what_the_callbacks_take(self):
        seen = 0
        for function in API["functions"]:
            if "sync" not in function:
                continue
            info = function["args"][-1]["type"]
            callback, = (c for c in API["callbacks"] if c["name"] + "CallbackInfo" == info)
            taken = callback["args"][1:-1]  # between the status and the message
            result = function["sync"].get("result", {"name": None, "type": "*"})
            self.assertEqual([result["name"], result["type"]],
                             [taken[0]["name"], taken[0]["type"] + "*"] if taken else [None, "*"],
                             function["method"])
            seen += 1
        self.assertEqual(seen, 8)


def table_rows():
    """Yields (methods, operand, allowed types, required types, allowed ranks, required ranks)."""
    text = TABLE.read_text(encoding="utf-8")
    known = {n.lower(): n for n in methods()}
    families = {"elementwise-binary": ["add", "sub", "mul", "div", "max", "min", "pow"]}
    start = text.index("| op | operand | allowed types |")
    for line in text[start:].splitlines()[2:]:
        if not line.startswith("|"):
            return
        op, *cells = [c.strip() for c in line.strip("|").split("|")]
        names = families.get(op) or [known[p.lower()] for p in op.split("-") if p.lower() in known]
        yield (names, *cells)


def table_operand(operator, name):
    name = re.sub(r"'s items$| if .*$", "", name)
    name = re.sub(r"^outputs\[(\d)\]$", r"output\1", name)
    return next(o for o in operator["operands"] + operator["outputs"] if o["name"] == name)


@unittest.skipUnless(TABLE.exists(), "the table of types and ranks is not beside the checkout")
class TypesAndRanks(unittest.TestCase):
    # Rows in which the specification's steps contradict its table.
    STEPS = {("isNaN", "a", "types"): "float32 float16",
             ("isInfinite", "a", "types"): "float32 float16",
             ("gather", "output", "ranks"): "N"}

    def expect(self, method, name, key, ours, theirs):
        theirs = self.STEPS.get((method, name, key), theirs)
        theirs = re.sub(r"'s items$", "", theirs).replace(", ", " ").replace(" to ", "..")
        operator = methods()[method]
        if theirs != ours and ours.startswith("same as "):
            # When a has one type, "same as a" and that type mean the same.
            base = next(o for o in operator["operands"] if o["name"] == ours[8:])
            ours = base[key]
        self.assertEqual(ours, theirs, f"{method} {name} {key}")

    def test_table(self):
        seen = set()
        for names, operand, types, required, ranks, required_ranks in table_rows():
            self.assertTrue(names, operand)
            for method in names:
                ours = table_operand(methods()[method], operand)
                seen.add((method, ours["name"]))
                self.expect(method, ours["name"], "types", ours["types"], types)
                self.expect(method, ours["name"], "requiredTypes", ours["requiredTypes"], required)
                self.expect(method, ours["name"], "ranks", ours["ranks"], ranks)
                self.expect(method, ours["name"], "requiredRanks", ours["requiredRanks"],
                            required_ranks)
        every = {(n, x["name"]) for n, o in methods().items() for x in o["operands"] + o["outputs"]}
        self.assertEqual(seen, every)


class Consistency(unittest.TestCase):
    def test_everything_is_documented(self):
        def walk(entry, path):
            if isinstance(entry, list):
                for index, item in enumerate(entry):
                    walk(item, f"{path}[{index}]")
            elif isinstance(entry, dict):
                if "name" in entry and "ranks" not in entry and "methods" not in entry:
                    self.assertTrue(entry.get("doc"), f"{path}: {entry['name']} has no doc")
                for key, value in entry.items():
                    walk(value, f"{path}.{key}")
        for part in ("constants", "enums", "handles", "callbacks", "structs", "operators"):
            walk(API[part], part)
        for function in API["functions"]:
            self.assertTrue(function["doc"], function["method"])

    def test_functions_are_named_as_in_the_specification(self):
        for function in API["functions"]:
            if "idl" not in function or function["idl"].endswith(".constructor"):
                continue
            name = function["idl"].split(".")[1]
            getter = "get" + name[0].upper() + name[1:]
            # Overloads have a suffix that begins with a capital letter.
            self.assertRegex(function["method"], rf"^({name}([A-Z]\w*)?|{getter})$")

    def test_limits_name_every_operand(self):
        limits = {x["name"]: x["members"] for x in API["limits"]}
        for name, operator in methods().items():
            ours = [x["name"] for x in operator["operands"] + operator["outputs"]]
            self.assertEqual(sorted(ours), sorted(limits[operator["limits"]]), name)

    def test_required_is_allowed(self):
        everything = API["typeSets"]["any"].split()
        for name, operator in methods().items():
            entries = operator["operands"] + operator["outputs"]
            for entry in entries:
                allowed = entry
                while allowed["types"].startswith("same as "):
                    allowed = next(o for o in entries if o["name"] == allowed["types"][8:])
                types = everything if allowed["types"] == "any" else allowed["types"].split()
                self.assertLessEqual(set(entry["requiredTypes"].split()), set(types),
                                     f"{name} {entry['name']}")

    def test_enum_values_differ(self):
        for enum in API["enums"]:
            values = [v["value"] for v in enum["values"]]
            self.assertEqual(len(values), len(set(values)), enum["name"])
            self.assertNotIn(0, values if "undefined" in enum else [], enum["name"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
