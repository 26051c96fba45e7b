#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run info --svg and --html: the drawn shapes and their colours: test_drawing.py
WEBNN_RUN
"""
import os
import re
import shutil
import unittest
import xml.etree.ElementTree

from common import ToolTest, convolution, main, node, perceptron, save

SVG = "{http://www.w3.org/2000/svg}"
GREEN, ORANGE, RED, WHITE = "#a9d9a0", "#f9cf92", "#f28e8e", "white"


def read(text):
    """Returns (colours of each node, by the tuple of its texts; texts at the arrows) of a drawing.
    """
    nodes, labels = {}, []
    for group in xml.etree.ElementTree.fromstring(text).iter(f"{SVG}g"):
        texts = [t.text for t in group.iter(f"{SVG}text")]
        if group.get("class") == "node":
            nodes[tuple(texts)] = {p.get("fill") for p in group.iter() if p.get("fill", "none") != "none"
                                   and p.tag != f"{SVG}text"}
        elif group.get("class") == "edge":
            labels += texts or [""]
    return nodes, labels


@unittest.skipUnless(shutil.which("dot"), "there is no program dot")
class Drawing(ToolTest):
    def draw(self, model, *options):
        path = self.folder / "model.svg"
        self.tool("info", model, *options, "--svg", path)
        return read(path.read_text())

    def test_devices(self):
        for device, colour in ("sim", GREEN), ("cpu", ORANGE):
            nodes, labels = self.draw(convolution(self.folder), "-d", device)
            for name in ("Conv", "conv"), ("MaxPool", "pool"), ("MatMul", "dense"), ("Softmax", "softmax"):
                self.assertEqual(nodes[name], {colour})
            self.assertLessEqual({("x",), ("y",)}, set(nodes))
            self.assertEqual(len(nodes), 8)
            self.assertEqual(sorted(labels), sorted(["1×3×16×16", "1×8×16×16", "1×8×16×16", "1×8×8×8", "1×512",
                                                     "1×4", "1×4"]))

    def test_refused(self):
        model = save(self.folder, "bad", [node("Relu", ["x"], ["r"], "relu"), node("NonZero", ["r"], ["y"], "nz")],
                     [("x", [1, 4, 4])], [("y", None)])
        nodes, _ = self.draw(model)
        self.assertEqual((nodes["NonZero", "nz"], nodes["Relu", "relu"]), ({RED}, {WHITE}))

    def test_open(self):
        nodes, labels = self.draw(perceptron(self.folder)[0])
        self.assertEqual(nodes["Add", "bias2"], {WHITE})
        self.assertEqual(sorted(labels), ["", "", "", "N×4", "N×6"])

    def test_many_nodes(self):
        """Tests that a large graph is drawn with one arrow for each tensor that a node takes,
        without texts at the arrows.
        """
        nodes = [node("Add", [f"t{i}", f"t{i}"], [f"t{i + 1}"], f"n{i}") for i in range(600)]
        model = save(self.folder, "many", nodes, [("t0", [4])], [("t600", [4])])
        drawn, labels = self.draw(model)
        self.assertEqual((len(drawn), labels), (602, [""] * 601))
        self.assertIn("t300 4", (self.folder / "model.svg").read_text())

    def chain(self, names):
        nodes = [node("Relu" if i % 2 else "Neg", [f"t{i}"], [f"t{i + 1}"], name) for i, name in enumerate(names)]
        last = f"t{len(names)}"
        return save(self.folder, "chain", nodes, [("t0", [4])], [(last, [4])])

    def test_boxes(self):
        """Tests that thousands of nodes are drawn as boxes of several nodes, grouped by the parts
        of their names or into equal shares.
        """
        model = self.chain([f"/model/layer.{i // 50}/part/node_{i}" for i in range(2000)])
        path = self.folder / "model.svg"
        said = self.tool("info", model, "--svg", path)[1]
        self.assertIn("40 boxes of several nodes instead of 2000 nodes; to see each node, draw a part that webnn-run extract", said)
        drawn, labels = read(path.read_text())
        self.assertEqual((len(drawn), len(labels)), (42, 41))
        self.assertIn(("50 nodes", "/model/layer.7/part/node_3…"), drawn)
        for names in ([f"n{i}" for i in range(8000)], ["same"] * 1501):
            _, labels = self.draw(self.chain(names))
            self.assertEqual(len(labels), len(range(0, len(names), len(names) // 300 + 1)) + 1)
            self.assertEqual(path.read_text().count('class="node"'), len(labels) + 1)

    def test_names(self):
        """Tests that names in a model cannot become markup of the picture or the page."""
        name = '<b>\\N "&"];x [label="</svg>'
        model = save(self.folder, "odd", [node("Neg", ["x"], ["y"], name)], [("x", [4])], [("y", [4])])
        self.assertIn(("Neg", name), self.draw(model)[0])
        page = self.folder / "page.html"
        self.tool("info", model, "--html", page)
        text = page.read_text()
        self.assertNotIn("<b>", text)
        self.assertEqual(text.count("</svg>"), 1)
        svg = re.search(r"<svg.*</svg>", text, re.DOTALL).group(0)
        self.assertIn(("Neg", name), read(svg)[0])
        self.assertEqual(re.findall(r"class=key style=\"background:(#\w+)\">(\w+)<", text),
                         [(GREEN, "npu"), (ORANGE, "cpu"), ("#d9d9d9", "folded"), (RED, "refused")])
        self.assertFalse(re.search("<(script|link|img|iframe)", text))

    def test_cannot_be_written(self):
        for option in "--svg", "--html":
            self.assertIn("none/file", self.tool("info", convolution(self.folder), option,
                                                 self.folder / "none" / "file", status=3)[1])


class Without(ToolTest):
    def test_no_dot(self):
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, PATH=path)
        os.environ["PATH"] = str(self.folder)
        out, err = self.tool("info", convolution(self.folder), "--svg", self.folder / "x.svg", status=3)
        self.assertIn("the program dot, which draws the graph, is not there: install the package graphviz", err)
        self.assertIn("it runs on cpu", out)
        self.assertFalse((self.folder / "x.svg").exists())

    def test_programs(self):
        path = self.folder / "m.mlir"
        path.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
        self.refuses(2, "only models of ONNX are drawn", "info", path, "--svg", self.folder / "x.svg")
        graph = self.folder / "saved.graph"
        self.tool("compile", convolution(self.folder), "-o", graph)
        self.refuses(2, "only models of ONNX are drawn", "info", graph, "--html", self.folder / "x.html")


if __name__ == "__main__":
    main()
