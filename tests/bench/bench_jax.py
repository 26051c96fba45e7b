#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures programs of JAX (jax/programs.py) on the plugin, device cpu, beside JAX's own CPU.

JAX is the newest release of those that ./npu check has fetched. Each side runs in a process of its
own, with the arguments on its device. The sides alternate; each begins when the threads of the
other sleep. The figure is the ratio of the fastest runs of --rounds rounds, with one and with two
threads; a side may use as many processors as it has threads. The table begins with the programs
that are slowest by comparison; it also has the time of compilation, and the largest difference
between the results, relative to the largest number.

Usage: bench_jax.py [--json [FILE]] [--rounds N] [--turn MS] [--most SECONDS] [--build DIR]
[--threads N,…] [--device NAME] [PROGRAM…]
--json without FILE prints JSON in place of the table.
"""
import argparse
import contextlib
import json
import pathlib
import re
import sys
import tempfile
import time

import bench_cpu
from side import Side, difference

ROOT = bench_cpu.ROOT
FOLDER = ROOT / "tests" / "bench" / "jax"
SAMPLES = ROOT / "build" / "samples" / "jax"


def newest():
    """Returns the folder of the newest release that is there; None where there is none."""
    releases = SAMPLES.iterdir() if SAMPLES.is_dir() else ()
    return max(releases, key=lambda path: [int(number) for number in path.name.split(".")], default=None)


def known():
    """Returns the names of the programs. Their file needs JAX, which this process does not load."""
    return re.findall(r"^@program\ndef (\w+)", (FOLDER / "programs.py").read_text(), re.M)


def measure(name, sides, folder, args):
    """Returns a row of the table; or the error of a side that failed."""
    results = [folder / f"{side.name}.npz" for side in sides]
    loaded = [side.ask("load", name, path) for side, path in zip(sides, results)]
    row = {f"{side.name}_failure": answer["failure"] for side, answer in zip(sides, loaded) if "failure" in answer}
    if row:
        return row
    times, end = [], time.monotonic() + args.most
    while len(times) < args.rounds and (not times or time.monotonic() < end):
        times.append([side.ask("run", args.turn)["ns"] for side in sides])
    ours, other = (min(taken) * 1e-6 for taken in zip(*times))
    return {"ours_ms": ours, "jaxlib_ms": other, "ratio": ours / other, "difference": difference(results),
            "ours_compile_ms": loaded[0]["compile_ns"] * 1e-6, "jaxlib_compile_ms": loaded[1]["compile_ns"] * 1e-6}


def line(name, row):
    if "ratio" not in row:
        return f"{name:22} " + "; ".join(f"{side}: {text[:150]}" for side, text in row.items())
    off = f"{row['difference']:.0e}" if row["difference"] is not None else "shapes differ"
    return (f"{name:22} {row['ours_ms']:9.3f} {row['jaxlib_ms']:9.3f} {row['ratio']:8.2f} {row['ours_compile_ms']:9.0f} "
            f"{row['jaxlib_compile_ms']:9.0f}  {off}")


def table(rows, threads, version):
    print(f"\n{threads} thread{'s' if threads > 1 else ''}, the best of all turns; jaxlib {version}\n"
          f"{'program':22} {'ours ms':>9} {'jaxlib':>9} {'ratio':>8} {'compile':>9} {'jaxlib':>9}  difference")
    for name, row in sorted(rows.items(), key=lambda item: -item[1].get("ratio", 0)):
        print(line(name, row))


def main():
    parser = argparse.ArgumentParser(description="Programs of JAX on the plugin and on JAX's own CPU.")
    parser.add_argument("--json", nargs="?", type=pathlib.Path, const="-", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turn", type=float, default=20, metavar="MS", help="how long either runs before it is the other's turn")
    parser.add_argument("--most", type=float, default=5, metavar="SECONDS", help="no further turn of a program begins after so long")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--device", default="cpu", help="the plugin's device; cpu without this option")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    args = parser.parse_args()
    unknown = [name for name in args.programs if name not in known()]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are: {' '.join(known())}")
    release = newest()
    if not release:
        print(f"bench jax: skipped: there is no {SAMPLES}; ./npu check fetches it where PyPI is reached")
        sys.exit(77)
    ours = {"JAX_PLATFORMS": "onpu", "WEBNN_DEVICE": args.device,
            "ONPU_PJRT_PLUGIN": str(args.build / "userspace" / "pjrt" / "libpjrt_onpu.so")}
    result = {"rounds": args.rounds, "turn_ms": args.turn, "device": args.device, "programs": {}}
    for threads in map(int, args.threads.split(",")):
        rows = {}
        with tempfile.TemporaryDirectory(dir=args.build, prefix="bench-jax-") as path, contextlib.ExitStack() as stack:
            sides = [Side(FOLDER / "worker.py", "ours", threads, [release, ROOT / "bindings" / "jax"], ours),
                     Side(FOLDER / "worker.py", "jaxlib", threads, [release], {"JAX_PLATFORMS": "cpu"})]
            for side in sides:
                stack.callback(side.close)
            result["jaxlib"] = sides[1].version
            for name in args.programs or known():
                rows[name] = measure(name, sides, pathlib.Path(path), args)
                print(f"{threads} {line(name, rows[name])}", file=sys.stderr, flush=True)
        for name, row in rows.items():
            result["programs"].setdefault(name, {})[f"t{threads}"] = row
        if str(args.json) != "-":
            table(rows, threads, result["jaxlib"])
    if str(args.json) == "-":
        print(json.dumps(result, indent=2))
    elif args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
