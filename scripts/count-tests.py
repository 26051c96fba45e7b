#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums up a check: count-tests.py STAGES PATH…

STAGES has a line "passed|failed|skipped NAME" for each stage. A PATH is a TAP file, or the
meson-logs folder of a build whose tests ran. The script prints the stages and test cases that
failed, each with the end of its output, then "N passed, N failed, N skipped". The status is 1 when
something failed, or when a stage that has test cases passed although no test case of any stage ran.
"""

import collections
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as xml

WITH_CASES = {f"stage {name}" for name in ("frontdoor", "test", "test-more", "guest",
                                               "guest-more", "packages", "sanitizers")}

# The last lines of each failed test that are printed: the end of a log may be all that is left of a
# run.
LAST_LINES = 20


def stages(path):
    """Yields (result, name, []) of each stage; its output is not in the file."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            result, name = line.split()
            yield result, f"stage {name}", []


def tap(path):
    """Yields (result, name, lines before it) of each case of a TAP file."""
    planned = seen = 0
    said = []
    program = os.path.splitext(os.path.basename(path))[0]
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            plan = re.match(r"1\.\.(\d+)", line)
            case = re.match(r"(not )?ok\b *\d* *-? *([^#\n]*)(# *SKIP)?", line, re.IGNORECASE)
            if plan:
                planned = int(plan[1])
            elif case:
                seen += 1
                yield ("failed" if case[1] else "skipped" if case[3] else "passed"), \
                    f"{program}: {case[2].strip()}", said
                said = []
            else:
                said.append(line)
    if seen != planned:
        yield "failed", f"{path}: {seen} of {planned} cases ran", said


def until_failed(lines):
    """Returns the lines up to the first case that failed, or all lines."""
    for number, line in enumerate(lines, 1):
        if line.startswith("not ok"):
            return lines[:number]
    return lines


def meson(folder):
    """Yields (result, name, last lines) of each test case of the meson test runs of a build."""
    build = os.path.basename(os.path.dirname(folder))
    for path in sorted(glob.glob(os.path.join(folder, "testlog*.junit.xml"))):
        yield from meson_run(build, path)


def meson_run(build, path):
    """Yields (result, name, last lines) of each test case of one run; a program that speaks TAP has
    many.
    """
    broken = set()
    with open(path.replace(".junit.xml", ".json"), encoding="utf-8") as file:
        programs = [json.loads(line) for line in file]
    said = {test["name"]: until_failed((test.get("stdout", "") + test.get("stderr", "")).splitlines())
            for test in programs}
    # check.sh ends a run for which no time is left; tests that were under way then have no result.
    ended = {test["name"] for test in programs if test["result"] == "INTERRUPT"}
    for case in xml.parse(path).iter("testcase"):
        if case.get("classname").partition(".")[2] in ended or case.get("name") in ended:
            continue
        name = f"{build}: {case.get('classname')} {case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            program = case.get("classname").partition(".")[2] or case.get("name")
            yield "failed", name, [] if program in broken else said.get(program, [])
            broken.add(program)
        else:
            yield ("skipped" if case.find("skipped") is not None else "passed"), name, []
    # A program that ends badly after all its cases passed is in the other log only.
    for test in programs:
        bad = test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL", "INTERRUPT")
        if bad and test["name"] not in broken:
            yield "failed", f"{build}: {test['name']}: {test['result']}", said[test["name"]]


def main():
    results = list(stages(sys.argv[1]))
    cases = []
    for path in sys.argv[2:]:
        cases += tap(path) if path.endswith(".tap") else meson(os.path.abspath(path))
    results += cases
    for result, name, said in results:
        if result == "failed":
            print(f"failed: {name}")
            print("".join(f"  | {line.rstrip()}\n" for line in said[-LAST_LINES:]), end="")
    count = collections.Counter(result for result, _, _ in results)
    ran = any(result != "skipped" for result, _, _ in cases)
    if not ran and any(result == "passed" and name in WITH_CASES for result, name, _ in results):
        print("failed: no test case ran")
        count["failed"] += 1
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
