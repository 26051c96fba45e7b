#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the driver's guest instructions from the SUBMIT ioctl to the doorbell, with a QEMU plugin.

The output has the count for one job with one in-fence and one out-fence, what each further job of a
batch of 64 adds, and, from the same run, the count for a trivial ioctl of vgem, which is the cost
of any ioctl. The figure is the smallest of --rounds counts; a median far above it says that
interrupts and other work came between.

A second guest measures the time from a SUBMIT until a program knows that its job has ended: when it
sleeps, and when it looks at the completion page. These are times of an emulated processor, for
comparison with each other alone.

Usage: bench_driver.py [--json FILE] [--rounds N] [--build DIR]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 64
# The numbers of the marks in driver/markers.h.
MARKS = {1: "one", 2: "batch", 3: "trivial"}


def run_guest(build, rounds, counts):
    folder = build / "tests/bench/driver"
    return subprocess.run(
        [ROOT / "npu", "guest", "--root", "--cpus=1", "--append=nokaslr", "--modprobe=vgem",
         "--emu-arg=--sync", f"--plugin={folder / 'bench-count-plugin.so'},out={counts}", "--",
         folder / "bench-submit-loop", str(rounds)], check=False).returncode


def measure_latency(build, rounds):
    """Returns {"sleep": [ns, …], "look": [ns, …]}."""
    program = build / "tests/bench/driver/bench-submit-loop"
    result = subprocess.run([ROOT / "npu", "guest", "--root", "--cpus=2", "--modprobe=vgem", "--",
                             program, str(rounds), "latency"],
                            check=False, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"the guest that measures latency ended with status {result.returncode}")
    samples = {"sleep": [], "look": []}
    for name, ns in re.findall(r"^(sleep|look) (\d+)\r?$", result.stdout, flags=re.M):
        samples[name].append(int(ns))
    for name, values in samples.items():
        if len(values) < rounds:
            sys.exit(f"{len(values)} times of '{name}', expected {rounds}")
    return samples


def read_counts(file):
    samples = {name: [] for name in MARKS.values()}
    for line in file.read_text().splitlines():
        mark, count = line.split()
        samples[MARKS[int(mark)]].append(int(count))
    return samples


def summary(samples):
    return {"min": min(samples), "median": int(statistics.median(samples)), "max": max(samples)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc")
    args = parser.parse_args()

    counts = ROOT / "build" / f"bench-driver-{os.getpid()}"
    try:
        status = run_guest(args.build.resolve(), args.rounds, counts)
        if status:
            sys.exit(f"the guest ended with status {status}")
        samples = read_counts(counts)
    finally:
        counts.unlink(missing_ok=True)
    for name, values in samples.items():
        if len(values) < args.rounds:
            sys.exit(f"{len(values)} counts of '{name}', expected {args.rounds}")

    # The minimum leaves out the first rounds, which fault pages in and fill caches of objects.
    result = {name: summary(values) for name, values in samples.items()}
    further = (result["batch"]["min"] - result["one"]["min"]) / (BATCH - 1)
    data = {"submit": {"one_job": result["one"]["min"], "per_further_job": round(further, 1),
                       "batch": BATCH},
            "vgem": {"version_ioctl": result["trivial"]["min"]},
            "ratio_to_trivial": round(result["one"]["min"] / result["trivial"]["min"], 2),
            "rounds": args.rounds, "counts": result,
            "latency_ns": {name: summary(values) for name, values
                           in measure_latency(args.build.resolve(), args.rounds).items()}}
    print(f"{'guest instructions':38} {'min':>9} {'median':>9} {'max':>9}")
    for name, title in (("one", "SUBMIT of one job to doorbell"),
                        ("batch", f"SUBMIT of {BATCH} jobs to doorbell"),
                        ("trivial", "VERSION ioctl of vgem")):
        row = result[name]
        print(f"{title:38} {row['min']:9} {row['median']:9} {row['max']:9}")
    print(f"{'each further job':38} {further:9.1f}")
    print(f"{'microseconds':38} {'min':>9} {'median':>9} {'max':>9}")
    for name, title in (("sleep", "a job, for a program that sleeps"),
                        ("look", "a job, for one that looks")):
        row = data["latency_ns"][name]
        print(f"{title:38} {row['min'] / 1e3:9.1f} {row['median'] / 1e3:9.1f} {row['max'] / 1e3:9.1f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=2, sort_keys=True)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
