#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows what took longer than its budget: show-times.py TIMES LOGS…

TIMES has a line KIND NAME SECONDS BUDGET PROCESSOR for each stage and step of a check. LOGS are
folders with the logs of meson test, whose tests are added to TIMES. A budget is for the reference
machine with nothing else to do: a time beyond it is shown, and is no error.
"""

import glob
import json
import os
import sys


def tests(folder):
    """Yields (name, seconds) of the tests of a build, the longest first."""
    build = os.path.basename(os.path.dirname(os.path.abspath(folder)))
    found = []
    for path in glob.glob(os.path.join(folder, "testlog*.json")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                test = json.loads(line)
                found.append((f"{build}:{test['name'].rpartition(' / ')[2]}", test["duration"]))
    return sorted(found, key=lambda row: -row[1])


def main():
    times = sys.argv[1]
    with open(times, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    with open(times, "a", encoding="utf-8") as file:
        for folder in sys.argv[2:]:
            for name, seconds in tests(folder):
                print("test", name, f"{seconds:.1f}", "-", "-", file=file)
    stages = [row for row in rows if row[0] == "stage"]
    print("seconds of each stage, and its budget on the reference machine:")
    for _, name, seconds, budget, _ in stages:
        print(f"  {name:16} {seconds:>5} of {budget:>4}")
    over = [row for row in rows if row[3] != "-" and int(row[2]) > int(row[3])]
    for kind, name, seconds, budget, _ in over:
        print(f"warning: {kind} {name} took {seconds} s, its budget is {budget} s")
    print(f"times of all stages and tests: {times}")


if __name__ == "__main__":
    main()
