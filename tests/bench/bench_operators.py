#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures every ONNX operator that the importer knows on the CPU path beside ONNX Runtime, in one
size each (operators/cases.py).

ONNX Runtime is the release of PyPI that ./npu check has fetched. Each side runs in a process of its
own, whose inputs and outputs keep their addresses. The sides alternate; each begins when the
threads of the other sleep. The figure is the ratio of the fastest runs of --rounds rounds, with one
and with two threads. The table begins with the operators that are slowest by comparison. The
results of both sides are compared; the largest difference, relative to the largest number, stands
beside the ratio. An operator that ONNX Runtime does not run is listed with our time alone; one that
takes no time when a graph runs, with the reason.

Usage: bench_operators.py [--json [FILE]] [--rounds N] [--turn MS] [--most SECONDS] [--build DIR]
[--threads N,…] [OPERATOR…]
--json without FILE prints JSON in place of the table.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import bench_cpu
from side import Side, difference

ROOT = bench_cpu.ROOT
sys.path.insert(0, str(ROOT / "tests" / "bench" / "operators"))
from cases import ALONE, CASES  # noqa: E402

WORKER = ROOT / "tests" / "bench" / "operators" / "worker.py"


def known(build):
    """Returns the names of the importer's operators, in the order of its table, without duplicates.
    """
    lines = subprocess.run([build / "tests" / "onnx" / "onnx-cases", "--operators"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    return list(dict.fromkeys(line.split("\t")[0] for line in lines))


def measure(operator, sides, folder, args):
    """Returns a row of the table: our time, ONNX Runtime's, their ratio and the difference; or the
    error of a side that failed.
    """
    model, feeds = CASES[operator]().model(operator)
    (folder / "model.onnx").write_bytes(model)
    np.savez(folder / "inputs.npz", **feeds)
    results = [folder / f"{side.name}.npz" for side in sides]
    loaded = [side.ask("load", folder / "model.onnx", folder / "inputs.npz", path) for side, path in zip(sides, results)]
    row = {f"{side.name}_failure": answer["failure"] for side, answer in zip(sides, loaded) if "failure" in answer}
    able = [side for side, answer in zip(sides, loaded) if "failure" not in answer]
    times, end = [], time.monotonic() + args.most
    while len(times) < args.rounds and (not times or time.monotonic() < end):
        times.append([side.ask("run", args.turn)["ns"] for side in able])
    row |= {f"{side.name}_ms": min(taken) * 1e-6 for side, taken in zip(able, zip(*times))}
    if len(able) == len(sides):
        row["ratio"] = row["ours_ms"] / row["ort_ms"]
        row["difference"] = difference(results)
    return row


def line(operator, row):
    if "ratio" in row:
        off = f"{row['difference']:.0e}" if row.get("difference") is not None else "-"
        return f"{operator:50} {row['ours_ms']:9.3f} {row['ort_ms']:9.3f} {row['ratio']:8.2f}  {off}"
    if "ours_failure" in row:
        return f"{operator:50} refused: {row['ours_failure']}"
    return f"{operator:50} {row['ours_ms']:9.3f}         - {'-':>8}  ONNX Runtime: {row['ort_failure'][:90]}"


def table(operators, threads, version):
    rows = sorted(operators.items(), key=lambda item: -item[1].get("ratio", 0))
    print(f"\n{threads} thread{'s' if threads > 1 else ''}, the best of all turns; ONNX Runtime {version}\n"
          f"{'operator':50} {'ours ms':>9} {'ORT ms':>9} {'ratio':>8}  difference")
    for operator, row in rows:
        print(line(operator, row))


def main():
    parser = argparse.ArgumentParser(description="Each ONNX operator on the CPU path and in ONNX Runtime.")
    parser.add_argument("--json", nargs="?", type=pathlib.Path, const="-", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turn", type=float, default=10, metavar="MS", help="how long either runs before it is the other's turn")
    parser.add_argument("--most", type=float, default=5, metavar="SECONDS", help="no further turn of an operator begins after so long")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    args = parser.parse_args()
    every = known(args.build)
    without = [operator for operator in every if operator not in CASES and operator not in ALONE]
    if without:
        sys.exit(f"bench operators: operators/cases.py has no case for {', '.join(without)}")
    unknown = [operator for operator in args.operators if operator not in every]
    if unknown:
        parser.error(f"no operator {', '.join(unknown)}; com.microsoft.Gelu is written so")
    if str(args.json) in every:
        parser.error(f"--json would write a file {args.json}: operators come in front of it")
    if not bench_cpu.NEWEST.is_dir():
        print(f"bench operators: skipped: there is no {bench_cpu.NEWEST}; ./npu check fetches it where PyPI is reached")
        sys.exit(77)
    chosen = args.operators or every
    result = {"rounds": args.rounds, "turn_ms": args.turn, "operators": {},
              "alone": {operator: ALONE[operator] for operator in chosen if operator in ALONE}}
    package = [args.build / "bindings" / "python"]
    for threads in map(int, args.threads.split(",")):
        rows = {}
        with tempfile.TemporaryDirectory(dir=args.build, prefix="bench-operators-") as path, contextlib.ExitStack() as stack:
            sides = [Side(WORKER, "ours", threads, package), Side(WORKER, "ort", threads, [bench_cpu.NEWEST])]
            for side in sides:
                stack.callback(side.close)
            result["onnxruntime"] = sides[1].version
            for operator in chosen:
                if operator in CASES:
                    rows[operator] = measure(operator, sides, pathlib.Path(path), args)
                    print(f"{threads} {line(operator, rows[operator])}", file=sys.stderr, flush=True)
        for operator, row in rows.items():
            result["operators"].setdefault(operator, {})[f"t{threads}"] = row
        if str(args.json) != "-":
            table(rows, threads, result["onnxruntime"])
    if str(args.json) == "-":
        print(json.dumps(result, indent=2))
        return
    for operator, reason in result["alone"].items():
        print(f"{operator:50} not timed: {reason}")
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
