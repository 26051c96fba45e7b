#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures an all_reduce of a StableHLO program on ranks of MPI, beside MPI_Allreduce.

Two loops over equal floats alternate within a run: a StableHLO program that has nothing but the
all_reduce, and a loop in C. The time of one operation is the time of its loop divided by the
iterations. The output has the medians over the rounds of both times, in clock time and in processor
time of all ranks together, and of their ratios; for processor time it also has the least round. On
a machine that has other work, processor time is more reliable than clock time, and the least round
is the most reliable figure. A least-squares fit of the median processor time for each rank gives
alpha (seconds for each message) and beta (seconds for each byte): an all_reduce of n bytes on p
ranks that is sent in slices takes 2 (p - 1) alpha + 2 (p - 1) / p n beta.
"""
import argparse
import json
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
SIZES = [4 << k for k in range(0, 23, 2)]
# Messages of fewer bytes use a protocol of their own and are left out of the fit.
LEAST_FITTED = 16384
COLUMNS = ("seconds", "mpi_seconds", "ratio", "processor_seconds", "mpi_processor_seconds", "processor_ratio",
           "least_processor_seconds", "mpi_least_processor_seconds")
# The ranks run with the MPI settings of ./npu exec; a rank that waits yields, as there may be fewer
# processors than ranks.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


def measure(ranks, sizes):
    line = ["mpirun", "--oversubscribe", "-n", str(ranks),
            str(TOP / "build/gcc/tests/bench/collectives/bench-collectives-loop"), *map(str, sizes)]
    done = subprocess.run(line, env=ENVIRONMENT, check=True, text=True, stdout=subprocess.PIPE)
    rows = []
    for text in done.stdout.splitlines():
        size, *numbers = map(float, text.split())
        row = {"bytes": int(size), **dict(zip(COLUMNS, numbers))}
        row["least_processor_ratio"] = row["least_processor_seconds"] / row["mpi_least_processor_seconds"]
        rows.append(row)
    return rows


def fit(rows, ranks):
    """Returns alpha and beta of the all_reduces that are sent in slices; rows must have at least
    two different sizes of these. The fit minimises relative errors, so that large sizes do not
    outweigh small ones.
    """
    sums = [0.0] * 5
    for row in rows:
        if row["bytes"] < LEAST_FITTED:
            continue
        t, a, b = row["processor_seconds"] / ranks, 2 * (ranks - 1), 2 * (ranks - 1) / ranks * row["bytes"]
        a, b = a / t, b / t
        for i, x in enumerate((a * a, a * b, b * b, a, b)):
            sums[i] += x
    aa, ab, bb, a, b = sums
    determinant = aa * bb - ab * ab
    return max((a * bb - b * ab) / determinant, 0), (b * aa - a * ab) / determinant


def main():
    parser = argparse.ArgumentParser(prog="./npu bench collectives", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--bytes", help="numbers of bytes, with commas", default=",".join(map(str, SIZES)))
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    rows = measure(args.ranks, [int(size) for size in args.bytes.split(",")])
    print("bytes      us: all_reduce  MPI_Allreduce  ratio   processors, us: all_reduce  MPI_Allreduce  ratio"
          "  of the least")
    for row in rows:
        print(f"{row['bytes']:<10} {row['seconds'] * 1e6:14.1f} {row['mpi_seconds'] * 1e6:14.1f} {row['ratio']:6.2f}"
              f"{row['processor_seconds'] * 1e6:29.1f} {row['mpi_processor_seconds'] * 1e6:14.1f}"
              f" {row['processor_ratio']:6.2f} {row['least_processor_ratio']:13.2f}")
    result = {"ranks": args.ranks, "processors": os.cpu_count(), "rows": rows}
    if args.ranks > 1 and len({row["bytes"] for row in rows if row["bytes"] >= LEAST_FITTED}) > 1:
        alpha, beta = fit(rows, args.ranks)
        print(f"alpha {alpha * 1e6:.2f} us, beta {beta * 1e9:.3f} ns a byte")
        result["alpha_seconds"], result["beta_seconds_per_byte"] = alpha, beta
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
