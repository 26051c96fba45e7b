#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that all parts have one version: test_release.py VERSION BUILD IMAGE|- TOOL…, as TAP.

VERSION is what meson took from userspace/webnn.json. The test compares it with the versions of
headers, packages, tools and the firmware's image. It also compares the table of releases in
installation.rst, which has the versions of the interfaces between the parts.
"""
import csv
import json
import pathlib
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import variant  # noqa: E402

VERSION, BUILD, IMAGE = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "bindings/python"))
import build_wheel  # noqa: E402

# In ONPU_FW_HEADER, after magic and size: minor and major number of the messages, then the firmware's version.
HEADER = struct.Struct("<8xHHI")


def numbers(text):
    return tuple(map(int, text.split(".")))


def value(name):
    text = variant.REGISTERS.read_text(encoding="utf-8")
    return int(re.search(rf'<value name="{name}" value="(\d+)"', text)[1])


def header_version():
    text = (TOP / "userspace/include/webnn/webnn.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"#define WNN_VERSION_{part}\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def symbols_of_later():
    """Returns the lines of the packages' symbols files that name a later version than VERSION."""
    return [line for path in (TOP / "debian").glob("*.symbols") for line in path.read_text(encoding="utf-8").splitlines()
            if re.fullmatch(r" \S+ \d+\.\d+\.\d+", line) and numbers(line.split()[-1]) > numbers(VERSION)]


def parts():
    """Yields (name, version that the part states, version that is right) for each part."""
    yield "webnn.h", header_version(), VERSION
    changelog = (TOP / "debian/changelog").read_text(encoding="utf-8")
    yield "debian/changelog", re.match(r"open-npu \((\S+)\)", changelog)[1], VERSION
    yield "the symbols of the packages", symbols_of_later(), []
    yield "the wheel", build_wheel.project_version(), VERSION
    for path in sorted(BUILD.glob("meson-private/webnn-*.pc")):
        yield path.name, re.search(r"^Version: (.*)$", path.read_text(encoding="utf-8"), re.M)[1], VERSION
    package = BUILD / "bindings/node/package.json"
    if package.exists():
        yield "package.json", json.loads(package.read_text(encoding="utf-8"))["version"], VERSION
    for tool in sys.argv[4:]:
        told = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        name = pathlib.Path(tool).name
        yield name, re.match(rf"{name} ([\d.]+)", told)[1], VERSION
    abi = (value("ONPU_ABI_MAJOR"), value("ONPU_ABI_MINOR"))
    if IMAGE != "-":
        minor, major, word = HEADER.unpack_from(pathlib.Path(IMAGE).read_bytes())
        yield "the firmware", ".".join(str(word >> shift & 255) for shift in (16, 8, 0)), VERSION
        yield "its messages", (major, minor), abi
    with (TOP / "Documentation/releases.csv").open(encoding="utf-8") as file:
        *_, last = csv.reader(file)
    yield "the table of releases", last, [VERSION, variant.version(variant.HEADER.read_text(encoding="utf-8")),
                                          ".".join(map(str, abi)), str(value("ONPU_ISA_MAJOR"))]


def main():
    failed = number = 0
    for number, (name, told, right) in enumerate(parts(), 1):
        failed += told != right
        if told != right:
            print(f"{name}: {told}, and {right} is right", file=sys.stderr)
        print(f"{'' if told == right else 'not '}ok {number} - the version of {name}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
