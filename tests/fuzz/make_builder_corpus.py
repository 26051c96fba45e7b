# SPDX-License-Identifier: MIT
"""Makes seeds of the fuzz target builder, for make_corpus.py: every operator with the first types
that it allows.

The seeds depend on webnn.json only; fuzz_builder.c says what their bytes mean.
"""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
API = json.loads((HERE / "../../userspace/webnn.json").read_text(encoding="utf-8"))
TYPES = {v["name"]: v["value"] for e in API["enums"] if e["name"] == "OperandDataType"
         for v in e["values"]}
CALL_INPUT, CALL_OPERATOR = 0, 4
SIZE = 2


def resolve(operator, operand, key):
    while operand[key].startswith("same as "):
        operand = next(o for o in operator["operands"] if o["name"] == operand[key][8:])
    return operand[key]


def recurrent_shape(method, name):
    """Returns the shape of an operand of a recurrent operator: weights have rows for every gate,
    states one matrix for each direction.
    """
    cell, gates = method.endswith("Cell"), 4 if method.startswith("lstm") else 3
    lead = [] if cell else [1]
    if name == "input":
        return [SIZE] * (2 if cell else 3)
    if "State" in name:
        return lead + [SIZE, SIZE]
    if name == "peepholeWeight":
        return lead + [3 * SIZE]
    return lead + [gates * SIZE] + ([SIZE] if "eight" in name else [])


def shape(operator, method, operand):
    if method.startswith(("gru", "lstm")):
        return recurrent_shape(method, operand["name"])
    ranks = operand["ranks"]
    if ranks.startswith("same as"):
        ranks = resolve(operator, operand, "ranks")
    low, _, high = ranks.partition("..")
    rank = 2 if low == "N" else max(2, int(low))
    if low != "N" and (high or low) != "N":
        rank = min(rank, int(high or low))
    if operand.get("sampleRank", "").startswith("N-"):
        rank += int(operand["sampleRank"][1:])
    return [SIZE] * rank


def number(value):
    return bytes([value]) if value < 0xff else bytes([0xff]) + value.to_bytes(4, "little")


def items(values):
    return bytes([len(values)]) + b"".join(number(v) for v in values)


def argument(entry, rank):
    lists = {"newShape": [SIZE] * rank, "beginningPadding": [1] * rank,
             "endingPadding": [1] * rank, "starts": [0] * rank, "sizes": [1] * rank,
             "splits": [1, 1], "repetitions": [SIZE] * rank}
    numbers = {"axis": 0, "dataType": TYPES["float16"], "steps": SIZE, "hiddenSize": SIZE,
               "splitCount": SIZE}
    return items(lists[entry["name"]]) if entry["name"] in lists else \
        number(numbers[entry["name"]])


def options(name):
    structs = {s["name"]: s for s in API["structs"]}
    struct, members = structs[name], []
    while struct:
        members = struct["members"] + members
        struct = structs.get(struct.get("base"))
    return bytes(sum(m["type"] != "Operand" for m in members))


def seed(operator, method, index, type_name, arguments):
    data, choices = b"", b""
    operands = operator["operands"]
    rank = len(shape(operator, method, operands[0]))
    first = resolve(operator, operands[0], "types")
    for number_of, operand in enumerate(operands):
        allowed = resolve(operator, operand, "types")
        types = API["typeSets"].get(allowed, allowed).split()
        own = type_name if allowed == first else types[0]
        data += bytes([CALL_INPUT, TYPES[own]]) + items(shape(operator, method, operand))
        choices += bytes([number_of])
    if operands[0].get("variadic"):
        choices = bytes([2, 0, 0])
    data += bytes([CALL_OPERATOR, index]) + choices
    data += b"".join(argument(a, rank) for a in arguments)
    data += options(operator["options"])
    outputs = operator["outputs"]
    if outputs[0].get("variadic"):
        data += bytes([SIZE])
    elif len(outputs) > 1:
        data += bytes([sum("when" not in o for o in outputs)])
    return data


def all_arguments(operator):
    """Returns the arguments that fuzz_builder.c reads; arguments of overloads stay zero."""
    return operator.get("arguments", [])


def builder_seeds(_isa, _rng):
    index = 0
    for operator in API["operators"]:
        for method in operator["methods"]:
            first = resolve(operator, operator["operands"][0], "types")
            for type_name in API["typeSets"].get(first, first).split()[:3]:
                data = seed(operator, method["name"], index, type_name, all_arguments(operator))
                yield f"op-{method['name']}-{type_name}", data
            index += 1
