#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the places that we declare for functions in ONNX Runtime's tables with those in its
headers: test_slots.py DEF…

The headers are those of Debian (1.21 in Debian 13, which has the places that older versions have)
and of the folder ONPU_ORT_HEADERS. Functions that a version of the headers lacks are left out; the
script prints how many.
"""
import os
import pathlib
import re
import sys

FOLDERS = [pathlib.Path("/usr/include/onnxruntime"),
           pathlib.Path("/usr/include/onnxruntime/core/session")]
SLOT = re.compile(r"^SLOT\((\w+), (\d+), (\d+), (.*?), (\w+), \(", re.M)
MEMBER = re.compile(r"ORT_CLASS_RELEASE\(\s*(\w+)\s*\)|ORT_API2_STATUS\(\s*(\w+)|ORT_API_T\([^,]*,\s*(\w+)|"
                    r"ORT_API_CALL\s*\*\s*(\w+)\s*\)")


def members(text, table):
    """Returns the names of the members of a table, in their order."""
    body = re.search(rf"^struct Ort{table} \{{(.*?)^\}};", text, re.S | re.M)
    names, depth, start = [], 0, 0
    for at, character in enumerate(body[1] if body else ""):
        depth += (character in "({") - (character in ")}")
        if character == ";" and not depth:
            found = MEMBER.search(body[1][start:at])
            start = at + 1
            if found:
                names.append("Release" + found[1] if found[1] else found[2] or found[3] or found[4])
    return names


def read(folder):
    text = ""
    for name in "onnxruntime_c_api.h", "onnxruntime_ep_c_api.h":
        if (folder / name).exists():
            text += (folder / name).read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    # A build without the editor has a place holder in its table.
    return re.sub(r"#if defined\(ORT_MINIMAL_BUILD\).*?#else(.*?)#endif", r"\1", text, flags=re.S)


def main():
    slots = [slot for path in sys.argv[1:]
             for slot in SLOT.findall(pathlib.Path(path).read_text(encoding="utf-8"))]
    folders = FOLDERS + [pathlib.Path(name) for name in [os.environ.get("ONPU_ORT_HEADERS")] if name]
    folders = [folder for folder in folders if (folder / "onnxruntime_c_api.h").exists()]
    if not folders:
        print("skipped: there are no headers of ONNX Runtime (package libonnxruntime-dev)")
        return 77
    wrong = 0
    for folder in folders:
        text = read(folder)
        version = int(re.search(r"#define ORT_API_VERSION (\d+)", text)[1])
        tables = {table: members(text, table) for table in {slot[0] for slot in slots}}
        checked = 0
        for table, place, since, _, name in slots:
            if int(since) > version:
                continue
            checked += 1
            there = tables[table][int(place)] if int(place) < len(tables[table]) else "nothing"
            if there != name:
                print(f"{folder}: place {place} of {table} is {there}, not {name}")
                wrong += 1
        print(f"{folder}, version {version}: {checked} of {len(slots)} places compared")
        wrong += not checked
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
