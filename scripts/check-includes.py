#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no include in userspace/src or emulator points upwards: check-includes.py [CHECKOUT].

In the library: util < isa < ir < graph < pass < plan < codegen; winsys and cpu stand beside these,
below run; api is on top. Within plan: list < place < kernel < lower < stream. From these folders,
codegen may include list/, place/place.h, lower/range.h and stream/stream.h, and higher layers
nothing; the headers that lie in plan itself are for all.

Library and device model share no code. The device model includes nothing of the library; in the
library only winsys/sim*.c includes the model. Only winsys/drm*.c speaks to the kernel's driver, and
util/dmabuf.c makes the ioctls that memory and fences of all drivers have.

In the device model: math < machine < device < vfu. The device includes the machine's public header
onpu_sim.h only, and vfu that and the device's public header onpu_device.h.
"""

import os
import re
import sys

COMPILER = ["util", "isa", "ir", "graph", "pass", "plan", "codegen"]

ALLOWED = {name: set(COMPILER[:i + 1]) for i, name in enumerate(COMPILER)}
# The device's capability values, which the compiler reads, are in winsys.h.
ALLOWED["plan"].add("winsys")
ALLOWED["codegen"].add("winsys")
ALLOWED["winsys"] = {"util", "isa", "winsys"}
ALLOWED["cpu"] = {"util", "ir", "cpu"}
ALLOWED["run"] = set(COMPILER) | {"winsys", "cpu", "run"}
ALLOWED["api"] = ALLOWED["run"] | {"api"}

# Folders of plan, lowest first, and what others may include of them; what lies beside the folders is for everybody.
PLAN = ["list", "place", "kernel", "lower", "stream"]
PLAN_FOR_CODEGEN = re.compile(r"plan/(list/|place/place\.h$|lower/range\.h$|stream/stream\.h$)")

# The parts of the device model, folders and files, that each part of it may include.
MODEL = {
    "math": {"math"},
    "machine": {"math", "machine", "onpu_memory.h", "onpu_sim.h"},
    "device": {"math", "device", "onpu_memory.h", "onpu_sim.h", "onpu_device.h"},
    "vfu": {"math", "vfu", "onpu_sim.h", "onpu_device.h"},
    "onpu_sim.h": set(),
    "onpu_memory.h": {"onpu_sim.h"},
    "onpu_device.h": {"onpu_sim.h"},
    "onpu_emu.c": {"vfu", "onpu_sim.h", "onpu_device.h"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(folder):
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".inc")):
                yield os.path.join(path, name)


def includes(path):
    """Yields (line, kind of bracket, name) of each include."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match[1], match[2]


def resolve(top, path, kind, name):
    """Returns the path in the checkout of an included file; None when it is a system's or a
    generated header.
    """
    folders = [os.path.join(top, "userspace/src"), os.path.join(top, "userspace/include"),
               os.path.join(top, "emulator"), top]
    if kind == '"':
        folders.insert(0, os.path.dirname(path))
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(candidate):
            return os.path.relpath(candidate, top)
    return None


def check_library(top, path, line, name, target):
    """Returns the problem with an include of a file of the library, or None."""
    here = os.path.relpath(path, os.path.join(top, "userspace/src"))
    layer = here.split(os.sep)[0]
    if layer not in ALLOWED:
        return f"'{layer}' is no layer of userspace/src"
    speaks = here.startswith("winsys/drm") or (here == "util/dmabuf.c" and name == "sys/ioctl.h")
    if re.match(r"(xf86drm|drm/|libdrm/|sys/ioctl)", name) and not speaks:
        return f"{name}: only winsys/drm*.c speaks to the kernel's driver"
    if target and target.startswith("emulator/") and not re.match(r"winsys/sim(_full\w*|_heap)?\.[ch]$", here):
        return f"{name}: only winsys/sim*.c knows the device model"
    if target and target.startswith("userspace/src/"):
        other = target.split(os.sep)[2]
        if other not in ALLOWED[layer]:
            return f"{layer} must not include {other} ({name})"
        return check_plan(here, os.path.relpath(target, "userspace/src"))
    return None


def check_plan(here, other):
    """Returns the problem with an include of a header of the planner's folders, or None."""
    parts = other.split(os.sep)
    if parts[0] != "plan" or len(parts) < 3:
        return None
    if here.startswith("plan" + os.sep):
        folder = here.split(os.sep)[1]
        if folder in PLAN and PLAN.index(parts[1]) <= PLAN.index(folder):
            return None
        return f"{here} must not include {other}: {' < '.join(PLAN)}"
    if here.startswith("codegen" + os.sep) and PLAN_FOR_CODEGEN.match(other):
        return None
    return f"{here} must not include {other}: it is inside of the planner"


def check_model(top, path, name, target):
    """Returns the problem with an include of a file of the device model, or None."""
    here = os.path.relpath(path, os.path.join(top, "emulator")).split(os.sep)[0]
    if here not in MODEL:
        return f"'{here}' is no part of emulator"
    if target and target.startswith("userspace/"):
        return f"the device model must not include the library ({name})"
    if target and target.startswith("emulator/"):
        other = target.split(os.sep)[1]
        if other not in MODEL[here]:
            return f"{here} must not include {other} ({name})"
    return None


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    problems = []
    for path in sources(os.path.join(top, "userspace/src")):
        for line, kind, name in includes(path):
            problem = check_library(top, path, line, name, resolve(top, path, kind, name))
            if problem:
                problems.append(f"{os.path.relpath(path, top)}:{line}: {problem}")
    for path in sources(os.path.join(top, "emulator")):
        for line, kind, name in includes(path):
            problem = check_model(top, path, name, resolve(top, path, kind, name))
            if problem:
                problems.append(f"{os.path.relpath(path, top)}:{line}: {problem}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
