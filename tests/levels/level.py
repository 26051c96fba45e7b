#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a test at one level of vector instructions of the CPU: level.py LIBRARY own|onednn LEVEL
PROGRAM…

`own` sets the level of the library's own kernels (WEBNN_CPU_LEVEL), with oneDNN at its best level;
`onednn` sets that of oneDNN (ONEDNN_MAX_CPU_ISA), with our kernels at their best. So both lists of
levels are tested one after the other, not in all combinations. When the processor lacks the level,
the test is skipped with a reason.

level.py LIBRARY list prints the levels that run on this processor, and those that do not. level.py
LIBRARY demo PROGRAM FILE checks that the demo on the CPU gives the right accuracy and classes;
FILE, if it exists, has SqueezeNet's expected answer.

LIBRARY is the file name by which oneDNN is loaded; empty: the library was built without oneDNN.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
# The smallest accuracy on the held-out pictures, which the network also reaches in double
# precision.
DIGITS = 0.994
TOP5 = [388, 851, 853, 389, 296]

# The flags of /proc/cpuinfo that a level needs, and its name in a sentence.
OWN = {
    "base": ((), "the instructions of every x86-64"),
    "avx2": (("avx2", "fma", "f16c"), "AVX2"),
    "avx512": (("avx512f", "avx512bw", "avx512dq", "avx512vl"), "AVX-512"),
}

# Levels for which oneDNN has different code for float32, float16 or 8-bit integers: the value that
# oneDNN returns, and the name.
ONEDNN = {
    "SSE41": (0x1, "SSE4.1"),
    "AVX": (0x3, "AVX"),
    "AVX2": (0x7, "AVX2"),
    "AVX2_VNNI": (0xf, "AVX-VNNI"),
    "AVX2_VNNI_2": (0x1f, "AVX-VNNI-INT8"),
    "AVX512_CORE": (0x27, "AVX-512"),
    "AVX512_CORE_VNNI": (0x67, "AVX512-VNNI"),
}


def processor_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def why_not_own(level):
    flags, name = OWN[level]
    return None if set(flags) <= processor_flags() else f"this processor has no {name}"


ASK = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).dnnl_get_effective_cpu_isa())"


def effective(library, level):
    """Returns the level that oneDNN uses when it may use `level`: the processor limits it. None:
    oneDNN cannot be loaded.

    oneDNN is asked in a process of its own, as it reads the variable only once."""
    done = subprocess.run([sys.executable, "-c", ASK, library], capture_output=True, text=True, check=False,
                          env=os.environ | {"ONEDNN_MAX_CPU_ISA": level})
    return None if done.returncode else int(done.stdout)


def why_not_onednn(library, level):
    value, name = ONEDNN[level]
    has = effective(library, level) if library else None
    if has is None:
        return f"{library} cannot be loaded" if library else "the library was built without oneDNN"
    return None if has == value else f"this processor has no {name}, or this oneDNN no such level"


def find_levels(library):
    """Yields the name of each level, with the reason why it does not run, or None."""
    for level in OWN:
        yield level, why_not_own(level)
    for level in ONEDNN:
        yield "oneDNN " + level, why_not_onednn(library, level)


def print_list(library):
    for name, reason in find_levels(library):
        print(f"level {name}: " + (f"not run, {reason}" if reason else "run"))
    if library:
        print(f"oneDNN without a limit, level {effective(library, 'ALL'):#x}: run, by all other tests")
    return 0


def run(library, whose, level, command):
    reason = why_not_own(level) if whose == "own" else why_not_onednn(library, level)
    name = level if whose == "own" else f"oneDNN {level}"
    if reason:
        print(f"level {name}: not run, {reason}")
        return SKIPPED
    print(f"level {name}: run", flush=True)
    variable = "WEBNN_CPU_LEVEL" if whose == "own" else "ONEDNN_MAX_CPU_ISA"
    return subprocess.run(command, check=False, env=os.environ | {variable: level}).returncode


def demo(program, expected):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "demo.json"
        done = subprocess.run([program, "--device", "cpu", "--json", path], stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            return done.returncode
        data = json.loads(path.read_text())
    problems = []
    if not data["digits"]["accuracy"] >= DIGITS:
        problems.append(f"accuracy is {data['digits']['accuracy']:.4f}, below {DIGITS}")
    if os.path.exists(expected):
        if data["squeezenet"]["top5"] != TOP5:
            problems.append(f"SqueezeNet's classes are {data['squeezenet']['top5']}, not {TOP5}")
        if not data["squeezenet"]["max_error"] <= 1e-4:
            problems.append(f"SqueezeNet's largest error is {data['squeezenet']['max_error']}, above 1e-4")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def main():
    library, what, *rest = sys.argv[1:]
    if what == "list":
        return print_list(library)
    if what == "demo":
        return demo(*rest)
    return run(library, what, rest[0], rest[1:])


if __name__ == "__main__":
    sys.exit(main())
