#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the cycles of networks and of single layers on the device model, beside a lower bound.
--machine chooses one of the named machines; without it, the default one is measured.

Each network runs once, npu-only, in a process of its own. The output has for each: cycles, MACs of
the matrix unit, bytes of the two DMA engines, busy cycles of the engines, operators on the NPU, on
the CPU and folded, the cycles that the compiler expects of the first dispatch (--json), bytes of
values between nodes and of the arena that these values share (those that stay in SRAM need none),
CPU seconds of the build and of loading the graph from a file, and

  bound = the largest of: cycles of the matrix unit in blocks of its array, in the best of its
          forms; cycles of the vector unit for the work that only it can do; bytes of weights,
          inputs and outputs / bytes that both DMA engines load and store in a cycle. Each is summed
          over the layers.
  share = bound / cycles

The section "networks" has some of them in several types, as applications would bring them: f32,
f16, int8 (quantised as by ONNX Runtime; of bert_layer only the weights), and int4, fp8 (E4M3) and
mxfp4 for weights alone, int4 and mxfp4 in blocks of 32. There share_of_peak is the MACs divided by
those that the matrix unit can do in that type in the same cycles. mobilenetv2_batch8 has the
figures of one image, lenet_warm those of the second dispatch.

With --dispatches 2 all figures are those of a second dispatch, which finds its first weights in
SRAM.

--nodes adds the cost of each node and each kind of kernel, and the bound of its layer alone.

SqueezeNet, MobileNetV2 and LeNet have their weights from ../shared/models and are left out without
them; the others are seeded.

build_GRAPH_DEVICE only builds graphs of up to 100,000 nodes: a chain; a chain with a constant for
each node; a mesh with long-lived values; a tree with half of its nodes side by side; a chain of
outputs. The output has CPU seconds for each size, and the ratio of the time per node of the largest
size to that of the size a quarter as large: about 1 when the time is linear.

Usage: bench_npu.py [--json FILE] [--build DIR] [--machine NAME] [--sram BYTES] [--dispatches N] [--nodes] [NAME…]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = [f"build_{graph}_{device}" for graph in ("chain", "constants", "mesh", "tree", "outputs") for device in ("sim", "cpu")]
BUILD_SIZES = (12500, 25000, 50000, 100000)
SHARED_MODELS = ROOT.parent / "shared" / "models"
sys.path.insert(0, str(ROOT / "tests" / "bench" / "npu"))
from networks import DEFAULT_MACHINE, LAYERS, MACHINES, NETWORKS, SEEDED, SHARED, bound, bounds_of_nodes, least_macs, share_of_peak  # noqa: E402
from models import quantized  # noqa: E402


def run(args, net, shared, folder, type="f32", batch=1, dispatches=1):
    command = [args.build / "tests" / "bench" / "npu" / "bench-npu-graph"]
    if shared:
        command += ["--model", net.name, "--models", SHARED_MODELS]
    else:
        table, shape = folder / "table", net.shapes[0]
        table.write_text(json.dumps(net.layers))
        picture = len(shape) == 3 and any(layer["op"] in ("conv", "maxpool") for layer in net.layers)
        command += ["--table", table, "--weights", net.offset, "--type", type, "--dispatches", dispatches,
                    "--input", ",".join(map(str, (batch, *shape) if picture else shape))]
    if args.sram:
        command += ["--sram", args.sram]
    if args.nodes:
        command.append("--nodes")
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          env={**os.environ, "WEBNN_SIM_MACHINE": args.machine})
    if done.returncode:
        sys.exit(f"bench npu: {net.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(args, name, net, shared):
    with tempfile.TemporaryDirectory(prefix="bench-npu-") as folder:
        result = run(args, net, shared, pathlib.Path(folder))
    result["bound"], macs = bound(net, machine=MACHINES[args.machine])
    # The matrix unit may do more MACs than the table has, because adjacent blocks of a streamed
    # group may both compute the rows at their border. It may do fewer, because it may skip rows
    # that no later window reads.
    if not 0.99 * least_macs(net) <= result["macs"] <= 1.25 * macs:
        sys.exit(f"bench npu: {name}: the matrix unit did {result['macs']} MACs, the table has {macs}")
    result["share"] = round(result["bound"] / result["cycles"], 4)
    busy = "  ".join(f"{engine} {100 * result['busy'][engine] / result['cycles']:3.0f}%"
                     for engine in ("ld", "st", "mxu", "vpu"))
    print(f"{name:20} {result['cycles']:9} cycles  {result['macs'] / 1e6:7.1f} MMAC  in {result['bytes_ld'] / 1e6:6.1f} MB  "
          f"out {result['bytes_st'] / 1e6:6.1f} MB  {busy}  bound {result['bound']:9}  share {100 * result['share']:5.1f} %  "
          f"build {result['build_s']:.3f} s  load {result['load_s']:.4f} s", flush=True)
    if args.nodes:
        print_nodes(net, result["plan"], MACHINES[args.machine])
    return result


def measure_network(args, name):
    """Measures one of NETWORKS in each of its types; returns the figures by type."""
    make, types, dispatches, batch = NETWORKS[name]
    result = {}
    for key, type in types.items():
        net = quantized(make()) if type == "int8" else make()
        with tempfile.TemporaryDirectory(prefix="bench-npu-") as folder:
            ran = run(args, net, False, pathlib.Path(folder), type, batch, max(dispatches, args.dispatches))
        least, macs = bound(net, type, batch, dispatches > 1, MACHINES[args.machine])
        result[key] = {"cycles": ran["cycles"] // batch, "estimate": ran["estimate"] // batch,
                       "bound": least // batch, "share": round(least / ran["cycles"], 4),
                       "share_of_peak": round(share_of_peak(macs, ran["cycles"], type, MACHINES[args.machine]), 4)}
        print(f"{name:20} {key:5} {ran['cycles'] // batch:9} cycles  bound {least // batch:9}  share {100 * least / ran['cycles']:5.1f} %  "
              f"of the peak {100 * result[key]['share_of_peak']:5.1f} %  in {ran['bytes_ld'] / 1e6:6.1f} MB  "
              f"out {ran['bytes_st'] / 1e6:6.1f} MB  build {ran['build_s']:.3f} s  load {ran['load_s']:.4f} s", flush=True)
        if args.nodes:
            print_nodes(net, ran["plan"], MACHINES[args.machine])
    return result


def print_nodes(net, nodes, machine):
    """Prints every node's cycles beside its bound, then the sums for each kernel. The kernels with
    the largest difference between cycles and bound come first.
    """
    bounds = bounds_of_nodes(net, nodes, machine)
    kernels = {}
    for node, least in zip(nodes, bounds or [0] * len(nodes)):
        node["bound"] = least
        busy = "  ".join(f"{engine} {node[engine]:8}" for engine in ("ld", "st", "mxu", "vpu"))
        print(f"    {node['cycles']:9} cycles  bound {least:9}  {busy}  {node['op']:24} {node['kernel']}")
        total = kernels.setdefault(node["kernel"], [0, 0, 0])
        for i, value in enumerate((1, node["cycles"], least)):
            total[i] += value
    for kernel, (count, cycles, least) in sorted(kernels.items(), key=lambda k: k[1][2] - k[1][1]):
        print(f"    {kernel:24} {count:4} nodes  {cycles:9} cycles  bound {least:9}  lost {cycles - least:9}")


def measure_build(args, name):
    """Builds each size three times; returns the shortest time in seconds by size, because the
    machine may be busy. The key "ratio" has the time for one node of the largest size divided by
    that of the size a quarter as large.
    """
    graph, device = name.split("_")[1:]
    command = [args.build / "tests" / "bench" / "npu" / "bench-npu-graph", "--graph", graph, "--device", device, "--count"]
    result = {}
    for count in BUILD_SIZES:
        runs = [subprocess.run([str(c) for c in (*command, count)], capture_output=True, text=True) for _ in range(3)]
        if any(done.returncode for done in runs):
            sys.exit(f"bench npu: {name}: {runs[0].stderr.strip()}")
        result[str(count)] = min(json.loads(done.stdout)["build_s"] for done in runs)
    *_, quarter, _, whole = result.values()
    result["ratio"] = round(whole / quarter / 4, 2)
    print(f"{name:20} " + "  ".join(f"{count} nodes {result[str(count)]:.2f} s" for count in BUILD_SIZES) +
          f"  ratio {result['ratio']:.2f}", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description="Networks and layers on the device model, beside the machine's bound.")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc")
    parser.add_argument("--machine", choices=sorted(MACHINES), default=DEFAULT_MACHINE)
    parser.add_argument("--sram", type=int, help="another size of the SRAM, in bytes")
    parser.add_argument("--dispatches", type=int, default=1, help="of the networks in several types, so many, of which the last one counts")
    parser.add_argument("--nodes", action="store_true", help="the profile of each node as well")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    groups = {"models": {**SHARED, **SEEDED}, "layers": LAYERS}
    known = {name for group in groups.values() for name in group} | set(BUILDS) | set(NETWORKS)
    if set(args.names) - known:
        parser.error(f"no {', '.join(sorted(set(args.names) - known))}; there are: {', '.join(sorted(known))}")

    result = {"machine": args.machine, "networks": {}, "models": {}, "layers": {}, "builds": {}}
    for name in NETWORKS:
        if not args.names or name in args.names:
            result["networks"][name] = measure_network(args, name)
    for group, members in groups.items():
        for name, make in members.items():
            if args.names and name not in args.names:
                continue
            if name in SHARED and not (SHARED_MODELS / name).exists():
                print(f"{name:20} left out: there is no {SHARED_MODELS / name}")
                continue
            result[group][name] = measure(args, name, make(), name in SHARED)
    for name in BUILDS:
        if not args.names or name in args.names:
            result["builds"][name] = measure_build(args, name)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
