#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# guest: --root --timeout=1200 --allow-log='onpu .*(firmware|could not be started|probe with driver onpu failed)'
"""Tests library, driver and firmware of neighbouring minor versions in all 27 combinations, as TAP.

Each line of Documentation/versions.csv, a table of installation.rst, has a driver and a firmware,
and is for libraries of all three versions (tests/versions): programs compute or are told what to
do, and the kernel's log says what to install. onpu-smi of the present version looks at all of them.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build/gcc"
IMAGE = pathlib.Path("/run/onpu/firmware/onpu/onpu_v1.bin")
DRIVER = pathlib.Path("/sys/bus/pci/drivers/onpu")
NODE = pathlib.Path("/dev/accel/accel0")
CHANGES = ("older", "same", "newer")
# The text of the kernel's log that onpu-smi repeats.
NEEDED = "the driver has refused it: firmware … speaks version …, but the driver needs … or newer: install onpu-firmware"

sys.path.insert(0, str(TOP / "tests/versions"))
sys.dont_write_bytecode = True
import test_versions  # noqa: E402


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def image(word):
    return BUILD / ("firmware/onpu_v1.bin" if word == "same" else f"tests/versions/firmware-{word}.bin")


def module(word):
    present = pathlib.Path(os.environ["ONPU_GUEST_DRIVER"])
    return present if word == "same" else present.with_name(f"onpu_{word}.ko")


def load(driver, firmware):
    """Puts the firmware where the kernel looks, and loads this driver in place of the loaded one.
    """
    # Jobs of the last program may still hold the module.
    while run("/usr/sbin/rmmod", "onpu").returncode:
        time.sleep(0.1)
    shutil.copy(image(firmware), IMAGE)
    run("dmesg", "-C")
    done = run("/usr/sbin/insmod", module(driver))
    if done.returncode:
        raise RuntimeError(done.stdout)


def fits(message, text):
    """Returns whether a message of messages.txt, in which … stands for any text, is in the text."""
    return re.search(".*".join(map(re.escape, message.split("…"))), text)


def seen_by_smi(works, driver):
    """Yields each mistake in the output of onpu-smi as a text."""
    check = run("onpu-smi", "check")
    if not works:
        if not check.returncode or not fits(NEEDED, check.stdout):
            yield f"onpu-smi check does not say '{NEEDED}': {check.stdout}"
        return
    if check.returncode:
        yield f"onpu-smi check: {check.stdout}"
    found = json.loads(run("onpu-smi", "info", "--json").stdout)["devices"][0]
    wanted = test_versions.library_version(test_versions.CHANGES[driver]).split()[1]
    if found["interface"] != wanted:
        yield f"the driver's version is {found['interface']}, not {wanted}"
    if found.get("max_user_contexts") == 0:
        yield "onpu-smi info tells of a limit of 0, where there is none"


def library(row, word):
    """Yields each mistake of a program with this library as a text."""
    done = run(BUILD / f"tests/versions/version-{word}", "npu")
    first, _, said = done.stdout.partition("\n")
    wanted = test_versions.library_version(test_versions.CHANGES[word])
    if first != wanted:
        yield f"it says '{first}', not '{wanted}'"
    if row["Outcome"] == "works":
        if done.returncode or said:
            yield said or f"it ends with {done.returncode}"
    elif not done.returncode or not fits(row["Programs are told"], said):
        yield f"it ends with {done.returncode} and says '{said}'"


def driver_and_firmware(row):
    works = row["Outcome"] == "works"
    if works != NODE.exists() or works != any(DRIVER.glob("0000:*")):
        yield "the device is bound" if NODE.exists() else "the device is not bound"
    log = "\n".join(line for line in run("dmesg").stdout.splitlines() if "ERROR" in line)
    if not fits(row["The kernel's log says"], log) or works and log:
        yield f"the kernel's log says '{log}'"
    yield from seen_by_smi(works, row["Driver"])


def main():
    with (TOP / "Documentation/versions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    failed = number = 0
    results = [("the table has all combinations", [] if sorted((row["Driver"], row["Firmware"]) for row in rows) ==
               sorted((driver, firmware) for driver in CHANGES for firmware in CHANGES) else ["it has not"])]

    def combinations():
        yield from results
        for row in rows:
            load(row["Driver"], row["Firmware"])
            pair = f"{row['Driver']} driver, {row['Firmware']} firmware"
            yield f"{pair}: {row['Outcome']}", list(driver_and_firmware(row))
            for word in CHANGES:
                yield f"{pair}, {word} library: {row['Outcome']}", list(library(row, word))

    for name, wrong in combinations():
        number += 1
        failed += bool(wrong)
        for line in wrong:
            print(f"{name}: {line}", file=sys.stderr)
        print(f"{'not ' if wrong else ''}ok {number} - {name}", flush=True)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
