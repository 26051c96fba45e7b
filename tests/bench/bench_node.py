#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a dispatch from JavaScript beside one from C, on the CPU path with one network, relu of
[1, 16].

C and Node alternate, with a thousand dispatches in flight; the best of all rounds counts, and the
difference is the cost of the binding. Then Node makes 10,000 dispatches between timers. The output
has the longest time that the binding held the event loop, with and without the time that other
processes had the processor, and the largest delay of the loop.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess


class Loop:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "WEBNN_DEVICE": "cpu"})
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"bench node: {command[0]} did not start")

    def run(self, mode, count):
        self.process.stdin.write(f"{mode} {count}\n")
        self.process.stdin.flush()
        return [int(number) for number in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    top = pathlib.Path(__file__).resolve().parents[2]
    build = top / "build/gcc"
    loops = {"c": Loop(build / "tests/bench/latency/bench-latency-loop", "relu"),
             "node": Loop(shutil.which("node"), top / "tests/bench/node/loop.js", build / "bindings/node")}
    best = {}
    for _ in range(options.rounds):
        for name, loop in loops.items():
            best[name] = min(best.get(name, 1e9), loop.run("flight", 1000)[0] / 1e6)
    held, own, late = (value / 1e6 for value in loops["node"].run("timers", 10000))
    for loop in loops.values():
        loop.close()
    print(f"dispatch, 1000 in flight: C {best['c']:.2f} us, Node {best['node']:.2f} us, "
          f"the binding {best['node'] - best['c']:.2f} us")
    print(f"10000 dispatches between timers: the binding held the event loop for {own:.2f} ms at most "
          f"({held:.2f} ms with what others took); the loop was {late:.2f} ms late at most")
    if options.json:
        options.json.write_text(json.dumps({"us": best, "held_ms": own, "held_wall_ms": held, "late_ms": late}, indent=1) + "\n")


if __name__ == "__main__":
    main()
