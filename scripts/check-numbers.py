#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no number of the contract in uapi/onpu is typed twice: check-numbers.py [CHECKOUT].

Names and values come from isa.xml, registers.xml and machines.xml. The script looks at the sources that speak with
the machine, without their comments. A copy is

  * a definition (#define, enumerator, constant, member of an initialiser) with the value of a contract's constant and
    all words of its name, but for words like SIZE and MAX: "#define FULL_PAGE 4096" is ONPU_PAGE_SIZE;
  * the size of a thing next to a count of it or its address: "num_slots * 128";
  * a cost in cycles that is added to cycles, or returned by a function that is named after them: "issue += 8";
  * a magic number anywhere.
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

FOLDERS = ("emulator", "firmware", "driver", "userspace/src/codegen", "userspace/src/isa", "userspace/src/plan",
           "userspace/src/run", "userspace/src/winsys")

# Words of a constant's name that its copy need not have, and words that mean the same.
FILLER = {"BYTES", "CAP", "COUNT", "MAX", "NUM", "SIZE", "ONPU"}
SAME = {"ENGINE": "ENG", "INSTRUCTION": "INSN", "SETUP": "CYCLE", "CACHED": "CACHE"}
# Smaller values are so common that equal ones mean nothing.
LEAST = 4

NUMBER = r"(?:0[xX][0-9a-fA-F]+|[0-9]+)"
DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:\\\n|.)+?)[ \t]*$"
                        r"|(?:^|[{,])[ \t]*\.?(\w+)[ \t]*=[ \t]*([^,;={}\n]+?)[ \t]*(?=,|\}|$)"
                        r"|\bconst\b[^;={}()\[\]]*?\b(\w+)[ \t]*=[ \t]*([^,;={}]+);", re.MULTILINE)
SCALED = re.compile(rf"(\w+)\)*[ \t]*[*/%][ \t]*({NUMBER})[uUlL]*\b"
                    rf"|\b({NUMBER})[uUlL]*[ \t]*\*[ \t]*\(*(?:\w+(?:->|\.))*(\w+)")
ADDED = re.compile(rf"(\w+)[ \t]*\+=?[ \t]*({NUMBER})[uUlL]*\b(?![ \t]*[*<.])")
RETURNED = re.compile(rf"(?:\breturn|[?:+])[ \t]*({NUMBER})[uUlL]*\b(?![ \t]*[*<.])")
LITERAL = re.compile(rf"(?<![\w.])({NUMBER})[uUlL]*\b")
FUNCTION = re.compile(r"^\w[^;={}]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
CYCLES = {"CYCLE", "COST", "ISSUE"}


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def words(name):
    """Returns the words of a name, in capitals and singular."""
    found = set()
    for word in re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).upper().split("_"):
        word = SAME.get(word, word)
        found.add(SAME.get(word[:-1], word[:-1]) if word.endswith("S") and len(word) > 3 and word not in FILLER
                  else word)
    return found - {""}


def contract(top):
    """Returns {name: value} of the constants, sizes and capabilities that the contract defines."""
    numbers = {}
    isa = ElementTree.parse(os.path.join(top, "uapi/onpu/isa.xml")).getroot()
    for constant in isa.findall("constant"):
        numbers[constant.get("name")] = int(constant.get("value"), 0)
    root = next(b for b in isa.findall("bitset") if b.get("size"))
    numbers["ONPU_INSN_BYTES"] = int(root.get("size")) // 8
    for thing in ElementTree.parse(os.path.join(top, "uapi/onpu/registers.xml")).getroot():
        if local(thing) == "enum":
            for value in thing:
                name = value.get("name", "")
                if local(value) == "value" and (thing.get("constants") or name.endswith("_COUNT")):
                    numbers[name] = int(value.get("value"), 0)
        elif local(thing) == "domain":
            if thing.get("struct"):
                numbers[f"sizeof(struct {thing.get('struct')})"] = int(thing.get("size"), 0)
            for reg in thing:
                if reg.get("name", "").startswith("CAP_") and reg.get("reset"):
                    numbers[f"ONPU_{reg.get('name')}__RESET"] = int(reg.get("reset"), 0)
    machines = ElementTree.parse(os.path.join(top, "uapi/onpu/machines.xml")).getroot()
    for cap in machines.find("machine[@default='yes']").findall("cap"):
        if cap.get("value"):
            numbers[f"ONPU_CAP_{cap.get('name')}__RESET"] = int(cap.get("value"), 0)
    return {name: value for name, value in numbers.items() if value >= LEAST}


def telling(name):
    """Returns the words of a constant's name that a copy would have, too."""
    name = re.sub(r"sizeof\(struct (\w+)\)", r"\1_size", name).replace("__RESET", "")
    return words(name) - FILLER or words(name) - {"ONPU"}


def evaluate(text):
    """Returns the value of a constant expression, or None."""
    text = text.replace("\\\n", " ")
    text = re.sub(r"\bU?INT(?:8|16|32|64)_C\(([^()]*)\)", r"(\1)", text)
    text = re.sub(r"\((?:u?int\d+_t|size_t|unsigned int|u32|u64|int|unsigned)\)", "", text)
    text = re.sub(rf"\b({NUMBER})[uUlL]+\b", r"\1", text)
    if not re.fullmatch(rf"(?:{NUMBER}|[()+*<\- \t])+", text) or not re.search(r"\d", text):
        return None
    # Only numbers and operators are left in the text.
    try:
        return int(eval(text, {"__builtins__": {}}))  # pylint: disable=eval-used
    except (SyntaxError, TypeError, ValueError):
        return None


def blank(match):
    """Returns a comment or a string literal as blanks; its line ends stay."""
    return re.sub(r"[^\n]", " ", match[0])


def definitions(text, numbers):
    for match in DEFINITION.finditer(text):
        name, value = next((match[i], match[i + 1]) for i in (1, 3, 5) if match[i])
        value = evaluate(value)
        for constant, number in numbers.items():
            if value == number and telling(constant) <= words(name):
                yield match.start(match.lastindex), f"{name} is {constant}"
                break


def scaled(text, numbers):
    sizes = {name: value for name, value in numbers.items() if re.search(r"(_SIZE|_BYTES)$", name)}
    for match in SCALED.finditer(text):
        name, literal = (match[1], match[2]) if match[1] else (match[4], match[3])
        for constant, number in sizes.items():
            if int(literal, 0) == number and telling(constant) <= words(name):
                yield match.start(), f"{literal} next to {name} is {constant}"
                break


def costs(text, numbers):
    cycles = {value: name for name, value in reversed(numbers.items()) if name.startswith("ONPU_CYCLES_")}
    for match in ADDED.finditer(text):
        if int(match[2], 0) in cycles and words(match[1]) & CYCLES:
            yield match.start(2), f"{match[2]} cycles added to {match[1]} are " + cycles[int(match[2], 0)]
    for function in FUNCTION.finditer(text):
        if not words(function[1]) & CYCLES:
            continue
        for match in RETURNED.finditer(text, function.start(2), function.end(2)):
            if int(match[1], 0) in cycles:
                yield match.start(1), f"{match[1]} in {function[1]}() is " + cycles[int(match[1], 0)]


def magic(text, numbers):
    values = {value: name for name, value in numbers.items() if value >> 24 and value & (value - 1)}
    for match in LITERAL.finditer(text):
        value = int(match[1], 16 if match[1][:2] in ("0x", "0X") else 10)
        if value in values:
            yield match.start(), f"{match[1]} is {values[value]}"


def sources(top):
    for folder in FOLDERS:
        for path, _, names in sorted(os.walk(os.path.join(top, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(path, name)


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    numbers = contract(top)
    found = set()
    for path in sources(top):
        with open(path, encoding="utf-8") as file:
            text = COMMENT.sub(blank, file.read())
        for rule in (definitions, scaled, costs, magic):
            for at, problem in rule(text, numbers):
                found.add((os.path.relpath(path, top), text.count("\n", 0, at) + 1, problem))
    for name, line, problem in sorted(found):
        print(f"{name}:{line}: {problem}: take it from uapi/onpu, or name what else it is")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
