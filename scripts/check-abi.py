#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that Documentation/ABI describes the driver's files in sysfs, no more and no less:
check-abi.py [CHECKOUT]."""

import os
import re
import sys

SOURCE = "driver/onpu_sysfs.c"
ABI = "Documentation/ABI/testing/sysfs-driver-onpu"

# An entry as Documentation/ABI/README of the kernel wants it.
ENTRY = re.compile(r"What:\t+\S*/(\w+)\nDate:\t+\w+ \d{4}\nKernelVersion:\t\d+\.\d+\nContact:\t\S+\n"
                   r"Description:\t\S.*\n(?:\t\t\S.*\n)*")


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    with open(os.path.join(top, SOURCE), encoding="utf-8") as file:
        # The macro that makes most of the attributes is not an attribute itself.
        source = re.sub(r"^#define (?:.*\\\n)*.*", "", file.read(), flags=re.MULTILINE)
    attributes = re.findall(r"^(?:static DEVICE_ATTR\w*|ONPU_ATTR)\((\w+)", source, re.MULTILINE)
    # hwmon makes the names of files from the type of a channel and what it has.
    attributes += [f"{kind}1_{what.lower()}" for kind, what in
                   re.findall(r"^\tHWMON_CHANNEL_INFO\((\w+), HWMON_[A-Z]+?_(\w+)\)", source, re.MULTILINE)]
    with open(os.path.join(top, ABI), encoding="utf-8") as file:
        text = file.read()
    entries = ENTRY.findall(text)
    problems = [f"{SOURCE}: {name}: no entry in {ABI}" for name in sorted({*attributes} - {*entries})]
    problems += [f"{ABI}: {name}: not in {SOURCE}" for name in sorted({*entries} - {*attributes})]
    if not attributes:
        problems.append(f"{SOURCE}: no attribute found")
    if len(entries) != text.count("What:"):
        problems.append(f"{ABI}: an entry is not in the kernel's format")
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
