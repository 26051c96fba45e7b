#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that tables of Documentation/ have a row for each name that the sources define, and no
other.

cpu-kernels.rst has the names of the CPU's kernels that reports of the placement show, compiler.rst
has the local rules. The page and the picture of the machine have the sizes of the default machine in
uapi/onpu/machines.xml, environment.rst has the names of all machines.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parents[2]
# Names of reference kernels begin with cpu/ref-, and are one row.
KERNEL = r"cpu/(?!ref-)[a-z0-9-]+"


def kernels():
    """Returns the names of the CPU's kernels in its sources, and those in the rows of
    cpu-kernels.rst."""
    named = [name for path in (TOP / "userspace/src/cpu").rglob("*.[cd]*")
             for name in re.findall(rf'"({KERNEL})"', path.read_text(encoding="utf-8"))]
    rows = re.findall(r"^   \* - (``cpu/.*)$", (TOP / "Documentation/cpu-kernels.rst").read_text(encoding="utf-8"), re.M)
    return named, [name for row in rows for name in re.findall(rf"``({KERNEL})``", row)]


def rules():
    """Returns the names of the local rules in rules.def, and those in the table of compiler.rst."""
    named = re.findall(r'^PASS_RULE\("([\w-]+)"', (TOP / "userspace/src/pass/rules.def").read_text(encoding="utf-8"), re.M)
    # The table is the first one that follows the mention of the list.
    page = (TOP / "Documentation/compiler.rst").read_text(encoding="utf-8").partition("``pass/rules.def``")[2]
    return named, re.findall(r"^``([a-z-]+)`` ", re.split(r"^=[= ]+$", page, flags=re.M)[1], re.M)


def machines():
    """Returns the names of the machines in machines.xml, and those in environment.rst."""
    root = xml.etree.ElementTree.parse(TOP / "uapi/onpu/machines.xml").getroot()
    text = (TOP / "Documentation/environment.rst").read_text(encoding="utf-8").partition("envvar:: WEBNN_SIM_MACHINE")[2]
    return ([machine.get("name") for machine in root.findall("machine")],
            sorted(set(re.findall(r"``(onpu-[a-z0-9]+)``", text.partition("envvar::")[0]))))


def sizes(page):
    """Returns the sizes of the default machine as the pages write them, and those of them that
    `page` has."""
    machine = xml.etree.ElementTree.parse(TOP / "uapi/onpu/machines.xml").getroot().find("machine[@default='yes']")
    caps = {cap.get("name"): cap.get("value") for cap in machine.findall("cap")}
    rows, columns, lanes, dma, sram = (
        int(caps[name], 0) for name in ("MXU_ROWS", "MXU_COLS", "LANES", "DMA_BYTES", "SRAM_BYTES"))
    named = [f"{rows} x {columns}", f"{lanes} lanes of 32 bits", f"{dma} bytes a cycle", f"{sram >> 20} MiB"]
    text = (TOP / "Documentation" / page).read_text(encoding="utf-8")
    return named, [size for size in named if size in text]


def main():
    status = 0
    machine = {page: sizes(page) for page in ("machine.rst", "pictures/machine.dot")}
    pages = {"cpu-kernels.rst": kernels(), "compiler.rst": rules(), "environment.rst": machines(), **machine}
    for page, (named, told) in pages.items():
        wrong = [f"does not have {name}, which the sources have" for name in sorted(set(named) - set(told))]
        wrong += [f"has {name}, which is not in the sources" for name in sorted(set(told) - set(named))]
        wrong += [f"has {name} in more than one row" for name in sorted(set(told)) if told.count(name) > 1]
        for line in wrong:
            print(f"Documentation/{page} {line}")
        print(f"{page}: {len(set(named))} names or sizes")
        status |= bool(wrong) or not named
    return status


if __name__ == "__main__":
    sys.exit(main())
