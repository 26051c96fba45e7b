# SPDX-License-Identifier: MIT
"""Compares the bound of bench_npu.py with figures worked out by hand, and checks that the device
model never needs fewer cycles, and on onpu-ref2 no more than on onpu-ref1, nor than BARS say; and
that the compiler expects as many cycles as the device model takes.

test_bound.py BUILD runs the small networks of the benchmark in every type.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import networks  # noqa: E402


# The most cycles that networks may take on onpu-ref2.
BARS = {("squeezenet", "f32"): 900_000, ("mobilenetv2", "f32"): 485_000, ("mobilenetv2", "int8"): 260_000, ("efficientnet_b0", "f16"): 600_000,
        ("mobilenetv3_large", "f16"): 380_000, ("lstm_two_layers", "f16"): 1_600_000, ("gru", "f16"): 200_000}
# Layers of the benchmark whose estimated cycles are compared; others take long to simulate.
QUICK_LAYERS = ("resnet50_5_1x1", "mobilenet_dw_112", "mobilenet_dw_56_s2", "mobilenet_dw_14", "mobilenet_pw_56",
                "mobilenet_pw_14", "bert_projection", "bert_layernorm", "bert_softmax")


class Bound(unittest.TestCase):
    def test_matrix_unit(self):
        # 3136 positions are 49 blocks of rows, 64 channels are one block of columns; each block
        # takes 9 taps * 64 channels * 4 cycles.
        net = networks.LAYERS["resnet50_2_3x3"]()
        self.assertEqual(networks.bound(net), (49 * 9 * 64 * 4, 3136 * 64 * 64 * 9))
        # Binary16 takes half the cycles, 8-bit integers a quarter.
        self.assertEqual(networks.bound(net, "f16")[0], 49 * 9 * 64 * 2)
        self.assertEqual(networks.bound(net, "int8")[0], 49 * 9 * 64)

    def test_shallow_products_cost_the_depth_of_the_array(self):
        net = networks.one("shallow", (12, 128, 1), lambda net: net.matmul(0, net.input(12, 1, 128)))
        self.assertEqual(networks.Costs(net).layers()[1][1], 12 * 2 * 2 * 64)

    def test_the_best_form_of_the_array(self):
        ref2 = networks.MACHINES["onpu-ref2"]
        self.assertEqual(sorted(ref2.forms), [(16, 256), (32, 128), (64, 64), (128, 32), (256, 16)])
        # One row of 768 columns: 3 blocks of 16 x 256 in place of 12 of 64 x 64. 100 rows and 100
        # columns: 4 blocks of 64 x 64, 32 x 128 or 128 x 32. Few columns: 1 block of 256 x 16.
        for rows, columns, blocks, square in ((1, 768, 3, 12), (100, 100, 4, 4), (250, 10, 1, 4)):
            for machine, count in ((ref2, blocks), (networks.REF1, square)):
                self.assertEqual(machine.mxu_cycles("mma.f16", 2, rows, columns, 100), 2 * count * 200)
                # A block takes 64 cycles in each form.
                self.assertEqual(machine.mxu_cycles("mma.i8", 1, rows, columns, 9), count * 64)

    def test_vector_unit(self):
        # Nine passes over 12 * 128 * 128 elements in 128 lanes take longer than moving 2 * 786432
        # bytes at 64 in a cycle.
        net = networks.LAYERS["bert_softmax"]()
        self.assertEqual(networks.bound(net)[0], max(9 * 12 * 128, 2 * 786432 // 64))

    def test_short_elements_share_a_lane(self):
        # On onpu-ref2, 1024 bytes go through the lanes in a cycle. An activation of factor 1 moves elements of 2
        # bytes; gelu, of factor 4, takes whole lanes.
        ref2 = networks.MACHINES["onpu-ref2"]
        net = networks.one("relu", (1, 4096), lambda net: net.add("relu", [0], (1, 4096)))
        for type, cycles in (("f32", 16), ("f16", 8)):
            self.assertEqual(networks.Costs(net, type, ref2).layers()[0][2], cycles)
            self.assertEqual(networks.Costs(net, type).layers()[0][2], 32)
        net = networks.one("gelu", (1, 4096), lambda net: net.add("gelu", [0], (1, 4096)))
        self.assertEqual(networks.Costs(net, "f16", ref2).layers()[0][2], 4 * 16)

    def test_bytes(self):
        # The product has one row. 3072 * 768 weights, 768 biases, an input and an output move at 64
        # bytes a cycle. The matrix unit would take 12 * 3072 * 4 cycles for 12 blocks of columns,
        # but the vector unit, which has no other work, takes a share.
        net = networks.one("row", (1, 3072), lambda net: net.gemm(0, 768))
        weights = 4 * (3072 * 768 + 768 + 3072 + 768)
        self.assertEqual(networks.bound(net)[0], -(-weights // 64))
        # When the weights are in SRAM, both units share 6 blocks of 128 columns: the vector unit
        # takes 6 * 768 cycles for all, the matrix unit 8 times as many.
        warm = networks.one("row", (1, 768), lambda net: net.gemm(0, 768))
        self.assertEqual(networks.bound(warm, warm=True)[0], 6 * 768 * 8 // 9)
        # A w4 weight has four bits, and 32 weights share one scale of 16 bits; the vector unit
        # widens 128 weights in a cycle.
        widen = 3072 * 768 // 128
        packed = (3072 * 768 * (.5 + 2 / 32) + 2 * (768 + 3072 + 768)) / 64
        # The matrix unit would take 12 * 3072 * 2 cycles. Each of these that it gives away costs
        # the vector unit a quarter of a cycle.
        taken = (12 * 3072 * 2 - widen) / 1.25
        self.assertEqual(networks.bound(net, "w4")[0], int(max(packed, widen + taken / 4)))

    def test_recurrent_layers(self):
        # The product of the inputs of 10 steps has 6 blocks of 64 columns, 64 deep; that of a state
        # has 6 blocks, 128 deep. The vector unit takes 3 * 128 cycles for a state's product.
        net = networks.Table("gru", input=(10, 1, 64))
        networks.architectures.recurrent(net, 0, "gru", 3, 128)
        costs, sigmoid, tanh = networks.Costs(net, "f16"), networks.FACTORS["vsigmoid"], networks.FACTORS["vtanh"]
        _, mxu, vpu, weights, macs = costs.layers()[0]
        self.assertEqual(mxu, 6 * 64 * 2 + 10 * 6 * 128 * 2)
        self.assertEqual(vpu, 10 * (2 * sigmoid + tanh + 3))
        self.assertEqual(weights, 2 * (384 * (64 + 128) + 384))
        self.assertEqual(macs, 10 * 384 * (64 + 128))
        self.assertEqual(costs.rows(), 10 * [[6 * 128 * 2, 3 * 128, 384 * 128]])

    def test_the_vector_unit_computes_convolutions_of_one_position(self):
        net = networks.one("squeeze", (480, 1, 1), lambda net: net.conv(0, 20, 1, act=None))
        self.assertEqual(networks.Costs(net, "f16").rows(), [[480 * 2, 480, 20 * 480]])
        self.assertEqual(networks.Costs(networks.LAYERS["mobilenet_pw_14"](), "f16").rows(), [])

    def test_the_best_share_of_a_row(self):
        # 189 columns are 3 blocks or 2 passes of the vector unit, but one pass saves 2 of the blocks.
        net = networks.one("row", (1, 512), lambda net: net.gemm(0, 189))
        self.assertEqual(networks.Costs(net, "f16").rows(), [[3 * 512 * 2, 1.5 * 512, 189 * 512]])

    def test_a_batch_moves_its_weights_once(self):
        net = networks.lenet_shared()
        one, macs = networks.bound(net)
        many, all_macs = networks.bound(net, batch=8)
        self.assertEqual(all_macs, 8 * macs)
        self.assertLessEqual(many, 8 * one)

    def test_no_network_takes_less(self):
        names = ("squeezenet", "mobilenetv2", "lenet_warm", "gpt2_decode", "bert_layer", "attention_1024", "efficientnet_b0",
                 "mobilenetv3_large", "lstm_two_layers", "gru")
        first, second = (self.measure(machine, *names) for machine in ("onpu-ref1", "onpu-ref2"))
        # The second machine can do all that the first one does in as many cycles.
        for name, types in second.items():
            for key, figures in types.items():
                with self.subTest(network=name, type=key):
                    self.assertLessEqual(figures["cycles"], first[name][key]["cycles"])
                    self.assertLessEqual(figures["cycles"], BARS.get((name, key), math.inf))

    def check_estimate(self, figures):
        self.assertAlmostEqual(figures["estimate"] / figures["cycles"], 1, delta=.03)

    def test_the_compiler_expects_what_layers_take(self):
        for machine in networks.MACHINES:
            for name, figures in self.run_bench(machine, *QUICK_LAYERS)["layers"].items():
                with self.subTest(machine=machine, layer=name):
                    self.check_estimate(figures)

    def run_bench(self, machine, *names):
        with tempfile.TemporaryDirectory(prefix="test-bound-") as folder:
            out = pathlib.Path(folder) / "out.json"
            subprocess.run([sys.executable, "-B", HERE.parent / "bench_npu.py", "--build", BUILD, "--machine", machine, "--json", out,
                            *names],
                           check=True, stdout=subprocess.DEVNULL)
            figures = json.loads(out.read_text())
        self.assertEqual(figures["machine"], machine)
        return figures

    def measure(self, machine, *names):
        result = self.run_bench(machine, *names)["networks"]
        self.assertEqual(sorted(result), sorted(names))
        for name, types in result.items():
            self.assertEqual(list(types), list(networks.NETWORKS[name][1]))
            for key, figures in types.items():
                with self.subTest(machine=machine, network=name, type=key):
                    self.assertEqual(sorted(figures), ["bound", "cycles", "estimate", "share", "share_of_peak"])
                    # The compiler estimates a first dispatch; lenet_warm measures a second one.
                    if name != "lenet_warm":
                        self.check_estimate(figures)
                    self.assertLessEqual(figures["bound"], figures["cycles"])
                    self.assertGreater(figures["share_of_peak"], 0)
                    self.assertLessEqual(figures["share_of_peak"], figures["share"])
        return result


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
