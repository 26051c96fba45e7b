#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests programs on several ranks of MPI: test_ranks.py WEBNN_RUN STABLEHLO_TEST.

Their results must be those of threads, or of one rank. When one rank dies, fails or runs another
program, the others must end with an error, and nothing is saved.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

import bytecode_writer

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared/stablehlo"
EXAMPLES = HERE.parents[1] / "Documentation/examples"
WEBNN_RUN, STABLEHLO_TEST = map(os.path.abspath, sys.argv[1:3])
# MPI may run as root, with more ranks than processors, without a network. Memory that MPI itself
# does not free is no leak of ours.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl": "self,sm", "ASAN_OPTIONS": "detect_leaks=0"}

SUM = """    %{0} = "stablehlo.all_reduce"(%{1}) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
    }}) {{replica_groups = dense<> : tensor<0x0xi64>}} : (tensor<{2}xf32>) -> tensor<{2}xf32>
"""
IDS = """module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<3xf32>) -> (tensor<ui32>, tensor<ui32>, tensor<3xf32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %p = stablehlo.partition_id : tensor<ui32>
""" + SUM.format("s", "x", 3) + """    return %r, %p, %s : tensor<ui32>, tensor<ui32>, tensor<3xf32>
  }
}
"""
# This program adds sums without end.
LOOP = """func.func @main(%x: tensor<4000xf32>) -> tensor<4000xf32> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%y = %x) : tensor<4000xf32>
    cond { stablehlo.return %true : tensor<i1> }
    do {
""" + SUM.format("s", "y", 4000) + """      stablehlo.return %s : tensor<4000xf32>
    }
  return %r : tensor<4000xf32>
}
"""
# In this program rank 2 reaches a comparison that fails, while the other ranks wait for it.
WRONG = """func.func @main(%x: tensor<4000xf32>) -> tensor<4000xf32> {
  %r = stablehlo.replica_id : tensor<ui32>
  %two = stablehlo.constant dense<2> : tensor<ui32>
  %is = stablehlo.compare EQ, %r, %two : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %n = "stablehlo.if"(%is) ({
    check.expect_eq_const %r, dense<7> : tensor<ui32>
    stablehlo.return %r : tensor<ui32>
  }, {
    stablehlo.return %r : tensor<ui32>
  }) : (tensor<i1>) -> tensor<ui32>
""" + SUM.format("s", "x", 4000) + """  return %s : tensor<4000xf32>
}
"""
# In this program rank 2 reaches one sum more than the other ranks.
ABSENT = WRONG.replace("    check.expect_eq_const %r, dense<7> : tensor<ui32>\n", SUM.format("q", "x", 4000))


def mlp(x, w1, b1, w2, b2):
    h = x @ w1 + b1
    return h / 2 * (1 + numpy.tanh((2 / numpy.pi) ** 0.5 * (h + 0.044715 * h ** 3))) @ w2 + b2


def normalised(x, scale, offset):
    x = x - x.mean(1, keepdims=True)
    return x / ((x ** 2).mean(1, keepdims=True) + 1e-5) ** 0.5 * scale + offset


def transformer(x, s1, o1, wq, wk, wv, wo, s2, o2, **of_mlp):
    n = normalised(x, s1, o1)
    q, k, v = (numpy.split(n @ w, 4, 1) for w in (wq, wk, wv))
    heads = []
    for i in range(4):
        e = numpy.exp(q[i] @ k[i].T / 4)
        heads.append(e / e.sum(1, keepdims=True) @ v[i])
    x = x + numpy.concatenate(heads, 1) @ wo
    return x + mlp(normalised(x, s2, o2), **of_mlp)


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text("ascii").split()]


def rank_of(pid):
    for variable in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
            return int(variable.split(b"=")[1])
    return -1


def ticks(pid):
    return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[11:13]))


def is_alive(pid):
    """Returns whether a process is alive, which a zombie is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, text, name="program.mlir"):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def start(self, count, *command):
        return subprocess.Popen(["mpirun", "--oversubscribe", "-n", str(count), *command], cwd=self.folder,
                                env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_ranks(self, count, *command):
        process = self.start(count, *command)
        out, err = process.communicate(timeout=200)
        return process.returncode, out, err

    def load(self, name):
        return numpy.load(self.folder / name)

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                      if path.suffix != ".mlir" and path.is_file())

    # ---- results

    def test_ids_and_files(self):
        """Tests the ids of ranks, which are replicas of partitions. A path with %r is a file for
        each rank; other files come from rank 0.
        """
        for rank in range(4):
            numpy.save(self.folder / f"x{rank}.npy", numpy.full(3, 10 ** rank, numpy.float32))
        status, out, err = self.run_ranks(4, WEBNN_RUN, "run", self.program(IDS), "-d", "cpu", "--input", "x=x%r.npy",
                                          "--output-dir", "out%r", "--output", "result2=of0.npy")
        self.assertEqual(status, 0, err)
        self.assertEqual([self.load(f"out{r}/result0.npy").item() for r in range(4)], [0, 0, 1, 1])
        self.assertEqual([self.load(f"out{r}/result1.npy").item() for r in range(4)], [0, 1, 0, 1])
        # Groups consist of replicas: ranks 0 and 2, ranks 1 and 3.
        self.assertEqual([self.load(f"out{r}/result2.npy")[0] for r in range(4)], [101, 1010, 101, 1010])
        self.assertEqual(self.load("of0.npy")[2], 101)
        self.assertFalse([name for name in self.files() if name.endswith(".part")])
        self.assertIn("rank 3: result1: uint32 [], from 1 to 1", out)
        self.assertIn("rank 3: on cpu: loaded in ", out)
        self.assertLess(out.index("rank 0: result0"), out.index("rank 3: result0"))

    def test_partitions(self):
        program = self.program(IDS.replace("attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32} ",
                                           ""))
        options = ("-d", "cpu", "--fill", "x=1", "--output-dir", "out%r")
        status, _, err = self.run_ranks(4, WEBNN_RUN, "run", program, *options)
        self.assertEqual((status, self.load("out3/result0.npy").item()), (0, 3), err)
        status, _, err = self.run_ranks(4, WEBNN_RUN, "run", program, "--partitions", "4", *options)
        self.assertEqual((status, self.load("out3/result1.npy").item()), (0, 3), err)
        status, _, err = self.run_ranks(3, WEBNN_RUN, "run", program, "--partitions", "2", *options)
        self.assertNotEqual(status, 0)
        self.assertIn("the program runs on 3 ranks, which must be a multiple of its 2 partitions", err)
        status, _, err = self.run_ranks(3, WEBNN_RUN, "run", self.program(IDS), *options)
        self.assertNotEqual(status, 0)
        self.assertIn("the program has 2 replicas of 2 partitions, there are 3 ranks", err)

    def test_shardings(self):
        """Tests that shardings that slice values over partitions are refused on several partitions,
        but not on several replicas, which have whole values.
        """
        text = """module {
  func.func @main(%x: tensor<4xf32>ARGUMENT) -> tensor<4xf32> {
    %y = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "MARK"} : (tensor<4xf32>) -> tensor<4xf32>
    %z = stablehlo.add %y, %yMORE : tensor<4xf32>
    return %z : tensor<4xf32>
  }
}
"""
        parted, parts = "{devices=[2]<=[2]}", "it cuts a value over several devices, which is not done on ranks"
        cases = [("", parted, "", "line 3, column 5: stablehlo.custom_call: " + parts),
                 (f' {{mhlo.sharding = "{parted}"}}', "{replicated}", "", "line 2, column 13: func.func: " + parts),
                 (' {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}', "{manual}", "", "line 2, column 13: func.func: " + parts),
                 ("", "{manual}", ' {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}',
                  "line 4, column 5: stablehlo.add: " + parts),
                 (' {sdy.sharding = #sdy.sharding<@m, [{}]>}', "{devices=[1,2]<=[2] last_tile_dim_replicate}", "", None)]
        for argument, mark, more, said in cases:
            program = self.program(text.replace("ARGUMENT", argument).replace("MARK", mark).replace("MORE", more))
            for partitions in ("1", "2"):
                status, out, err = self.run_ranks(2, WEBNN_RUN, "run", program, "-d", "cpu", "--fill", "x=2",
                                                  "--partitions", partitions)
                if said and partitions == "2":
                    self.assertNotEqual(status, 0, out)
                    self.assertIn(said, err)
                else:
                    self.assertEqual(status, 0, err)
                    self.assertIn("rank 1: result0: float32 [4], from 4 to 4", out)

    def test_shardings_in_bytecode(self):
        """Tests that a sharding of Shardy in bytecode is refused where it cuts a value, as in text.
        """
        path = self.folder / "shardy.mlir.bc"
        for axes in ((), ("x",)):
            path.write_bytes(bytecode_writer.shardy(axes=axes))
            status, out, err = self.run_ranks(2, WEBNN_RUN, "run", path, "-d", "cpu", "--partitions", "2")
            self.assertEqual(status == 0, not axes, out + err)
            self.assertEqual("sdy.sharding_constraint: it cuts a value over several devices" in err, bool(axes), err)

    def test_processes_are_ranks(self):
        """Tests that stablehlo-test runs interpreter.run_parallel on ranks, and that programs pass
        on ranks that pass on threads.
        """
        paths = [HERE / "programs/devices.mlir", HERE / "programs/collectives.mlir"]
        if SHARED.is_dir():
            paths += [path for path in sorted((SHARED / "interpret").glob("*.mlir"))
                      if "run_parallel" in path.read_text("utf-8")]
        for device in ("cpu", "sim"):
            done = subprocess.run([STABLEHLO_TEST, "--device", device, "--mpi", "4", "--json", self.folder / "result",
                                   *paths], env=ENVIRONMENT, check=False, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=200)
            result = json.loads((self.folder / "result").read_text("utf-8"))
            self.assertEqual((done.returncode, result["failed"], result["refused"], result["ranks"]), (0, 0, 0, 4),
                             done.stderr)
            self.assertGreaterEqual(result["passed"], 13)

    def test_goes_on(self):
        """Tests that a comparison that fails on all ranks counts as one failure, and that the next
        program runs.
        """
        done = subprocess.run([STABLEHLO_TEST, "--mpi", "2", "--json", self.folder / "result", HERE / "wrong.mlir",
                               HERE / "programs/devices.mlir"], env=ENVIRONMENT, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
        result = json.loads((self.folder / "result").read_text("utf-8"))
        self.assertEqual((done.returncode, result["passed"], result["refused"]), (1, 2, 1), done.stderr)
        self.assertIn("3 processes, each of which needs a rank, but there are 2", done.stderr)

    # ---- the sharded examples

    def make_inputs(self, text):
        """Makes files of all inputs of a program, each whole and for each of four ranks: a slice if
        the input is sharded, else a copy. Returns the values by name, and the options for one rank
        and for four.
        """
        draw = numpy.random.default_rng(7)
        axes = {"w1": 1, "b1": 0, "w2": 0, "wq": 1, "wk": 1, "wv": 1, "wo": 0}
        values, whole, parts = {}, [], []
        for name, shape in re.findall(r"%(\w+): tensor<([\dx]+)xf32>[,)]", text.split("{\n", 2)[1]):
            value = draw.normal(0, 0.3, tuple(map(int, shape.split("x")))).astype(numpy.float32)
            values[name] = value.astype(numpy.float64)
            numpy.save(self.folder / f"{name}.npy", value)
            for rank in range(4):
                part = numpy.split(value, 4, axes[name])[rank] if name in axes else value
                numpy.save(self.folder / f"{name}.{rank}.npy", part)
            whole += ["--input", f"{name}={name}.npy"]
            parts += ["--input", f"{name}={name}.%r.npy"]
        return values, whole, parts

    def sharded(self, name, oracle):
        """Tests that four ranks compute what one rank and numpy compute, on the CPU and on sim."""
        text = (EXAMPLES / f"sharded/{name}.mlir").read_text("utf-8")
        values, whole, parts = self.make_inputs(text)
        self.program(text, "one.mlir")
        self.program((EXAMPLES / f"sharded/{name}_sharded.mlir").read_text("utf-8"), "four.mlir")
        expected = oracle(**values)
        for device in ("cpu", "sim"):
            subprocess.run([WEBNN_RUN, "run", "one.mlir", "-d", device, *whole, "--output", "one.npy"], check=True,
                           cwd=self.folder, stdout=subprocess.DEVNULL)
            status, _, err = self.run_ranks(4, WEBNN_RUN, "run", "four.mlir", "-d", device, *parts, "--output",
                                            "four.%r.npy")
            self.assertEqual(status, 0, err)
            one = self.load("one.npy")
            numpy.testing.assert_allclose(one, expected, rtol=0, atol=2e-5 * abs(expected).max())
            for rank in range(4):
                numpy.testing.assert_allclose(self.load(f"four.{rank}.npy"), one, rtol=0, atol=1e-5 * abs(one).max())
            numpy.testing.assert_array_equal(self.load("four.0.npy"), self.load("four.3.npy"))

    def test_mlp(self):
        self.sharded("mlp", mlp)

    def test_transformer(self):
        self.sharded("transformer", transformer)

    # ---- errors

    def ends(self, process, since):
        """Checks that all ranks end with an error and without a result; returns stderr."""
        out, err = process.communicate(timeout=100)
        print(f"the others ended {time.monotonic() - since:.1f} s later", file=sys.stderr)
        self.assertNotEqual(process.returncode, 0, out)
        self.assertEqual(self.files(), [])
        return err

    def test_killed(self):
        process = self.start(4, WEBNN_RUN, "run", self.program(LOOP), "-d", "cpu", "--fill", "x=0", "--output-dir",
                             "out%r")
        ranks = {}
        # Wait until all ranks have computed for a while.
        while len(ranks) < 4 or min(map(ticks, ranks.values())) < 50:
            self.assertIsNone(process.poll())
            time.sleep(0.05)
            ranks = {rank_of(pid): pid for pid in children(process.pid) if rank_of(pid) >= 0}
        os.kill(ranks[2], signal.SIGKILL)
        err = self.ends(process, time.monotonic())
        self.assertIn("signal 9", err)
        self.assertFalse([pid for pid in ranks.values() if is_alive(pid)])

    def test_fails(self):
        process = self.start(4, WEBNN_RUN, "run", self.program(WRONG), "-d", "cpu", "--fill", "x=0", "--output-dir",
                             "out%r")
        self.assertIn("line 6, column 5: check.expect_eq_const: element 0 is 2, expected is 7",
                      self.ends(process, time.monotonic()))

    def test_another_program(self):
        self.program(IDS, "program0.mlir")
        self.program(IDS + "// Another.\n", "program1.mlir")
        process = self.start(4, "sh", "-c", f"exec {WEBNN_RUN} run program$((OMPI_COMM_WORLD_RANK == 3)).mlir -d cpu "
                             "--fill x=1 --output-dir out%r")
        err = self.ends(process, time.monotonic())
        self.assertIn("run different programs", err)

    def test_absent(self):
        """Tests that the program ends with an error when some ranks reach another operation than
        the others, and all would wait for ever.
        """
        process = self.start(4, WEBNN_RUN, "run", self.program(ABSENT), "-d", "cpu", "--fill", "x=0", "--output-dir",
                             "out%r")
        self.assertIn("all ranks wait for each other", self.ends(process, time.monotonic()))

    def test_no_input(self):
        """Tests that the others end when one rank ends before it begins to compute."""
        for rank in range(3):
            numpy.save(self.folder / f"x{rank}.npy", numpy.zeros(3, numpy.float32))
        process = self.start(4, WEBNN_RUN, "run", self.program(IDS), "-d", "cpu", "--input", "x=x%r.npy", "--output-dir",
                             "out%r")
        out, err = process.communicate(timeout=100)
        self.assertNotEqual(process.returncode, 0, out)
        self.assertIn("x3.npy: cannot be read: No such file", err)
        self.assertFalse([name for name in self.files() if name.startswith("out")])

    def test_not_saved(self):
        """Tests that when one rank cannot save its file, the others save none either."""
        (self.folder / "out1").write_text("no folder", encoding="utf-8")
        status, _, err = self.run_ranks(4, WEBNN_RUN, "run", self.program(IDS), "-d", "cpu", "--fill", "x=1",
                                        "--output-dir", "out%r")
        self.assertNotEqual(status, 0)
        self.assertIn("out1/result0.npy.part: Not a directory", err)
        self.assertFalse([name for name in self.files() if name.endswith(".npy")])

    def test_no_module(self):
        """Tests that without the module that uses MPI, only programs that need it fail."""
        library = next(pathlib.Path(WEBNN_RUN).parents[1].glob("import/stablehlo/libwebnn-stablehlo.so.1"))
        shutil.copy(library, self.folder / library.name)
        self.program(IDS.replace("num_replicas = 2", "num_replicas = 1").replace("num_partitions = 2",
                                                                                 "num_partitions = 1"))
        for variables, status, says in (({}, 0, "result2: float32 [3]"),
                                        ({"OMPI_COMM_WORLD_SIZE": "2"}, 4, "install the package webnn-stablehlo-mpi")):
            done = subprocess.run([WEBNN_RUN, "run", "program.mlir", "-d", "cpu", "--fill", "x=1"], cwd=self.folder,
                                  env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(self.folder), **variables}, check=False,
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual((done.returncode, says in done.stdout), (status, True), done.stdout)


if __name__ == "__main__":
    if not shutil.which("mpirun"):
        print("there is no mpirun")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
