#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks scripts/budgets.txt: check-budgets.py CHECKOUT "STAGE OF CHECK…" "STAGE OF MORE…"

Every stage and every guest test must have a row, and nothing else may have one. The sums of the
stages' budgets must not exceed the bars. Two guest tests run at a time, so that half of the sum of
their budgets must not exceed the budget of their stage.
"""

import os
import re
import sys

# Budgets in seconds on the reference machine: ./npu check, and both it and ./npu check --more.
BAR_CHECK = 900
BAR_BOTH = 1680
PLACES = {"stage": ("check", "more"), "guest": ("quick", "check", "more", "full")}


def read_rows(path, errors):
    """Returns {(kind, name): (where, seconds)} from the lines of the file."""
    rows = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 5 or words[0] not in PLACES or words[2] not in PLACES[words[0]] \
                    or not re.fullmatch(r"[1-9]\d*", words[3]) or not re.fullmatch(r"\d+|-", words[4]):
                errors.append(f"line {number} is no row KIND NAME WHERE SECONDS BEFORE")
            elif (words[0], words[1]) in rows:
                errors.append(f"line {number}: {words[0]} {words[1]} has a row already")
            else:
                rows[words[0], words[1]] = words[2], int(words[3])
    return rows


def check_names(kind, rows, expected, errors):
    """Checks the names of a kind; expected: {name: the places where it may be}."""
    for name in expected:
        if (kind, name) not in rows:
            errors.append(f"{kind} {name} has no row")
        elif rows[kind, name][0] not in expected[name]:
            errors.append(f"{kind} {name} runs in {expected[name][0]}, not in {rows[kind, name][0]}")
    for other, name in rows:
        if other == kind and name not in expected:
            errors.append(f"there is no {kind} {name}")


def check_sums(rows, errors):
    stages = {where: sum(row[1] for (kind, _), row in rows.items() if kind == "stage" and row[0] == where)
              for where in PLACES["stage"]}
    for what, seconds, bar in (("check", stages["check"], BAR_CHECK),
                               ("check and --more", sum(stages.values()), BAR_BOTH)):
        if seconds > bar:
            errors.append(f"the stages of {what} have {seconds} s, more than {bar}")
    for stage, places in (("guest", ("quick", "check")), ("guest-more", ("more",))):
        tests = sum(row[1] for (kind, _), row in rows.items() if kind == "guest" and row[0] in places)
        budget = rows.get(("stage", stage), (None, 0))[1]
        if tests > 2 * budget:
            errors.append(f"the tests of {stage} have {tests} s: two at a time take more than the {budget} s of the "
                          "stage")


def main():
    top, check, more = sys.argv[1:]
    errors = []
    rows = read_rows(os.path.join(top, "scripts/budgets.txt"), errors)
    expected = {"environment": ["check"]}
    expected.update({name: ["check"] for name in check.split()})
    expected.update({name: ["more"] for name in more.split()})
    check_names("stage", rows, expected, errors)
    folder = os.path.join(top, "tests/driver")
    guests = {os.path.splitext(name)[0]: PLACES["guest"] for name in sorted(os.listdir(folder))
              if re.fullmatch(r"guest_.*\.(sh|py)", name) and os.access(os.path.join(folder, name), os.X_OK)}
    # The runner's own tests run beside the others.
    guests["guest-runner"] = ["more"]
    check_names("guest", rows, guests, errors)
    check_sums(rows, errors)
    for error in errors:
        print(f"scripts/budgets.txt: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
