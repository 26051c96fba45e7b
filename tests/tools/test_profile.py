#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run profile: the numbers of the table add up, viewers can read the trace, and the
page has the numbers of the JSON.

test_profile.py WEBNN_RUN [OPTION...]
"""
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

from common import ToolTest, convolution, main, node, perceptron, save

OPTIONS = sys.argv[2:]
LANES = {1: "control", 2: "load", 3: "store", 4: "matrix", 5: "vector"}


class Page(html.parser.HTMLParser):
    """Reads the page: its tables by their ids, as rows of texts, and the elements of each drawing.
    """
    def __init__(self, text):
        super().__init__()
        self.tables, self.drawings, self.tags, self.attributes = {}, {}, [], []
        self.table = self.drawing = self.cell = self.title = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "table":
            self.table = self.tables[attrs["id"]] = []
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            # A cell with a shortened number has the exact number as its title.
            self.table[-1].append(attrs.get("title", ""))
            self.cell = "title" not in attrs
        elif tag == "svg" and "id" in attrs:
            self.drawing = self.drawings[attrs["id"]] = []
        elif tag in ("rect", "circle", "polyline", "polygon") and self.drawing is not None:
            self.drawing.append((tag, attrs, ""))
        self.title = tag == "title"

    def handle_endtag(self, tag):
        if tag in ("td", "th", "tr"):
            self.cell = None
        if tag == "svg":
            self.drawing = None
        self.title = False

    def handle_data(self, data):
        if self.cell:
            self.table[-1][-1] += data
        elif self.title and self.drawing:
            kind, attrs, _ = self.drawing[-1]
            self.drawing[-1] = (kind, attrs, data)


NPU_CELLS = ("cycles", "share", "load", "store", "matrix", "vector", "stall", "macs", "bytes_read",
             "bytes_written", "share_of_peak", "bound", "share_of_bound")


def compare_cell(test, key, cell, n):
    """Compares a number of the page with the JSON. The page rounds shares to 0.1 % and times to
    0.0001 ms, so these may differ by half of that; all others are equal."""
    if key.startswith("share"):
        test.assertRegex(cell.strip(), r"^\d+\.\d%$")
        test.assertAlmostEqual(float(cell.strip()[:-1]), 100 * n[key], delta=0.0501)
    elif key == "ms":
        test.assertAlmostEqual(float(cell), n[key], delta=0.0000501)
    else:
        test.assertEqual(cell.strip(), str(n[key]))


def by_cost(nodes):
    return sorted(nodes, key=lambda n: -n["ms"])


def check_sums(test, result):
    """Checks that parts add up to nodes of the model and to operators, and that the longest come
    first.
    """
    for n in result["nodes"]:
        test.assertAlmostEqual(n["ms"], n["cycles"] / result["clock_hz"] * 1e3 + n["cpu_ns"] / 1e6)
    for name, key in ("by_node", lambda n: n["label"] or n["operator"]), ("by_operator", lambda n: n["onnx_operator"]):
        sums = result[name]
        test.assertEqual([s["ms"] for s in sums], sorted((s["ms"] for s in sums), reverse=True))
        test.assertEqual({s["name"] for s in sums}, {key(n) for n in result["nodes"]})
        for s in sums:
            parts = [n for n in result["nodes"] if key(n) == s["name"]]
            test.assertEqual(s["parts"], len(parts))
            for item in "cycles", "cpu_ns", "macs", "bytes_read", "bytes_written":
                test.assertEqual(s[item], sum(n[item] for n in parts))
            for item in "ms", "share_of_time":
                test.assertAlmostEqual(s[item], sum(n[item] for n in parts))


def compare_page(test, page, result):
    """Checks that the page has all figures of the JSON."""
    summary = {row[0]: row[1] for row in page.tables["summary"]}
    sums = result["placement"]
    test.assertEqual(summary["operators on NPU, on CPU, folded"], f"{sums['npu']}, {sums['cpu']}, {sums['folded']}")
    if result["cycles"]:
        test.assertEqual(int(summary["cycles of the NPU"]), result["cycles"])
        test.assertEqual(int(summary["multiply-accumulates"]), result["macs"])
        test.assertEqual(summary["share of peak"], f"{100 * result['share_of_peak']:.1f}%")
        test.assertEqual(summary["busiest engine"], result["bound"])
        test.assertEqual(summary["share of its bound"], f"{100 * result['share_of_bound']:.1f}%")
        test.assertEqual(summary["on-chip memory in use, at most"],
                         f"{result['sram_most']} of {result['sram_bytes']} bytes")
        for row, (name, engine) in zip(page.tables["engines"][1:], result["engines"].items()):
            test.assertEqual(row[:3], [name, str(engine["instructions"]), str(engine["busy"])])
            test.assertEqual(row[4], str(engine["waiting"]))
    keys = ("operator", "label", "device", "kernel", "ms", "share_of_time", *(NPU_CELLS if result["cycles"] else ()),
            *(("cpu_ns", "share_of_cpu") if any(n["cpu_ns"] for n in result["nodes"]) else ()))
    test.assertEqual(page.tables["nodes"][0], [k.replace("_", " ").replace("cpu", "CPU") for k in keys])
    test.assertEqual(len(page.tables["nodes"]) - 1, len(result["nodes"]))
    for row, n in zip(page.tables["nodes"][1:], by_cost(result["nodes"])):
        for key, cell in zip(keys, row):
            compare_cell(test, key, cell, n)
    for name in "by_operator", "by_node":
        test.assertEqual(len(page.tables[name]) - 1, len(result[name]))
        for row, n in zip(page.tables[name][1:], result[name]):
            for key, cell in zip(("name", "parts", "ms", "share_of_time"), row):
                compare_cell(test, key, cell, n)
    test.assertEqual(page.tables["placement"][1:],
                     [[n[k] for k in ("operator", "label", "device", "kernel", "reason_text")]
                      for n in sums["nodes"]])


def profile(test, model, device, *options):
    """Returns (text, JSON, events of the trace, page)."""
    result, trace, page = (test.folder / n for n in ("p.json", "t.json", "p.html"))
    text, _ = test.tool("profile", model, "-d", device, *options, *(OPTIONS if device == "sim" else ()), "--json",
                        result, "--trace", trace, "--html", page)
    return (text.splitlines(), json.loads(result.read_text()),
            json.loads(trace.read_text())["traceEvents"], Page(page.read_text()))


class Profile(ToolTest):
    def setUp(self):
        super().setUp()
        self.table, self.json, self.events, self.page = profile(self, convolution(self.folder), "sim")

    def test_lanes(self):
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.events
                 if e["ph"] == "M" and e["name"] == "thread_name"}
        for lane, name in LANES.items():
            self.assertEqual(names[2, lane], name)
        self.assertEqual(names[1, 1], "dispatch")

    def test_within_dispatch(self):
        spans = [e for e in self.events if e["ph"] == "X"]
        dispatch = next(e for e in spans if (e["pid"], e["tid"]) == (1, 1))
        self.assertGreater(dispatch["dur"], 0)
        self.assertEqual(dispatch["args"]["spilled_programs"], 0)
        for event in spans:
            self.assertGreaterEqual(event["ts"], dispatch["ts"])
            self.assertLessEqual(event["ts"] + event["dur"],
                                 dispatch["ts"] + dispatch["dur"] + 1e-6)

    def test_engines(self):
        events = [e for e in self.events if e["ph"] == "X" and e["pid"] == 2]
        job = next(e for e in self.events if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 2))
        self.assertEqual(max(e["args"]["end_cycle"] for e in events), job["args"]["cycles"])
        labels = {e["name"] for e in events}
        self.assertLessEqual({"conv", "dense", "softmax", "end of the job"}, labels)
        for event in events:
            self.assertTrue(event["args"]["instruction"])
            self.assertGreaterEqual(event["args"]["stall_cycles"], 0)
            if event["args"]["instruction"] != "end":
                self.assertTrue(event["args"]["operator"])
        for lane in LANES:
            end = 0
            for event in sorted((e for e in events if e["tid"] == lane),
                                key=lambda e: (e["args"]["start_cycle"], e["args"]["end_cycle"])):
                self.assertGreaterEqual(event["args"]["start_cycle"], end)
                end = event["args"]["end_cycle"]
                self.assertAlmostEqual(
                    event["dur"], (end - event["args"]["start_cycle"]) * job["dur"] /
                    job["args"]["cycles"], places=3)

    def engine_events(self, lane):
        return [e["args"] for e in self.events if e["ph"] == "X" and (e["pid"], e["tid"]) == (2, lane)]

    def test_table(self):
        total, rest = map(int, re.match(r"(\d+) cycles, (\d+) of them",
                                        next(t for t in self.table if " of them" in t)).groups())
        self.assertEqual(sum(n["cycles"] for n in self.json["nodes"]) + rest, total)
        rows = self.table[1:1 + len(self.json["nodes"])]
        shares = [float(t.split("%")[0].split()[-1]) for t in rows]
        self.assertEqual(shares, sorted(shares, reverse=True))
        for n, row in zip(by_cost(self.json["nodes"]), rows):
            self.assertEqual(row[:24].strip(), n["operator"])
            ms, share = row.split("%")[0].split()[-2:]
            compare_cell(self, "ms", ms, n)
            compare_cell(self, "share_of_time", share + "%", n)
        self.assertRegex("\n".join(self.table), r"\nMaxPool +1 +0\.\d{4} ")
        engines = [re.match(r"(\w+) +(\d+) instructions, busy +(\d+)", t) for t in self.table
                   if "busy" in t]
        self.assertEqual([e.group(1) for e in engines], list(LANES.values()))
        for lane, engine in zip(LANES, engines):
            events = self.engine_events(lane)
            self.assertEqual(len(events), int(engine.group(2)))
            self.assertEqual(sum(e["end_cycle"] - e["start_cycle"] for e in events),
                             int(engine.group(3)))

    def test_json_adds_up(self):
        nodes = self.json["nodes"]
        self.assertEqual(sum(n["cycles"] for n in nodes) + self.json["end_cycles"],
                         self.json["cycles"])
        self.assertEqual(sum(n["bytes_written"] for n in nodes), self.json["bytes_written"])
        # Weights stay in SRAM: the second dispatch does not read them, and the vector unit computes
        # the product of one row, while the dispatch counts MACs of the matrix unit.
        weights = 4 * (8 * 27 + 512 * 4)
        self.assertEqual(sum(n["bytes_read"] for n in nodes) - weights, self.json["bytes_read"])
        self.assertEqual(sum(n["macs"] for n in nodes) - 512 * 4, self.json["macs"])
        self.assertGreater(self.json["macs"], 0)
        self.assertAlmostEqual(self.json["share_of_peak"], self.json["macs"] / self.json["peak_macs"])
        for lane, name in LANES.items():
            engine, events = self.json["engines"][name], self.engine_events(lane)
            self.assertEqual(engine["instructions"], len(events))
            self.assertEqual(engine["waiting"], sum(e["stall_cycles"] for e in events))
        self.assertEqual(self.json["placement"]["cpu"], 0)
        self.assertEqual(self.json["clock_hz"], 1000000000)
        check_sums(self, self.json)
        self.assertLessEqual({"Conv", "MatMul", "Softmax"}, {s["name"] for s in self.json["by_operator"]})

    def test_sums(self):
        """Tests a node that becomes several operators, and several nodes of one operator."""
        nodes = [node("Softmax", ["x"], ["a"], "first"), node("MeanVarianceNormalization", ["a"], ["b"], "several"),
                 node("Softmax", ["b"], ["y"], "second")]
        model = save(self.folder, "sums", nodes, [("x", [1, 3, 8, 8])], [("y", [1, 3, 8, 8])])
        for device in "sim", "cpu":
            text, result, _, page = profile(self, model, device)
            check_sums(self, result)
            parts = {s["name"]: s["parts"] for s in result["by_operator"]}
            self.assertEqual(parts["Softmax"], 2)
            compare_page(self, page, result)
            self.assertEqual("cycles" in text[0], device == "sim")

    def test_what_follows(self):
        # In the second model, the matrix unit computes an output, which the store engine writes.
        for result in self.json, profile(self, perceptron(self.folder)[0], "sim", "--dim", "N=3")[1]:
            self.check_what_follows(result)

    def check_what_follows(self, result):
        peak = result["peak_macs"] / result["cycles"]
        self.assertAlmostEqual(result["peak_macs_per_cycle"], peak)
        for n in result["nodes"]:
            self.assertAlmostEqual(n["share"], n["cycles"] / result["cycles"])
            if not n["cycles"]:
                self.assertEqual((n["bound"], n["share_of_peak"], n["share_of_bound"]), ("", 0, 0))
                continue
            self.assertAlmostEqual(n["share_of_peak"], n["macs"] / n["cycles"] / peak)
            self.assertAlmostEqual(n["intensity"] * (n["bytes_read"] + n["bytes_written"]),
                                   n["macs"] if n["bytes_read"] + n["bytes_written"] else 0, places=3)
            most = max(n[e] for e in LANES.values())
            self.assertAlmostEqual(n["share_of_bound"], most / n["cycles"])
            if n["bound"] == "latency":
                self.assertLess(most * 2, n["cycles"])
            else:
                self.assertEqual(n[n["bound"]], most)
                self.assertGreaterEqual(most * 2, n["cycles"])

    def test_sizes_have_units(self):
        for text, size in ("1M", 1 << 20), ("64k", 1 << 16), ("0x20000", 1 << 17), ("0032768", 1 << 15):
            result = profile(self, perceptron(self.folder)[0], "sim", "--dim", "N=3", "--sram", text)[1]
            self.assertEqual(result["sram_bytes"], size)
        for text in "1T", "M", "-1M", "8G", "1Mi", " 1M", "+1M", "0x":
            _, err = self.tool("profile", "x.onnx", "--sram", text, status=64)
            self.assertIn(f"for KiB, MiB or GiB, not '{text}'", err)

    def test_page_needs_nothing_else(self):
        self.assertFalse({"script", "link", "img", "iframe", "object"} & set(self.page.tags))
        self.assertFalse({"src", "href", "xlink:href"} & set(self.page.attributes))
        self.assertFalse([a for a in self.page.attributes if a.startswith("on")])

    def test_page_has_the_figures(self):
        compare_page(self, self.page, self.json)

    def test_over_time(self):
        """Tests that over_time has all bytes that are moved, and that the drawing shows its
        numbers.
        """
        over_time = self.json["over_time"]
        parts = len(over_time["sram_bytes"])
        for key in ("bytes_read", "bytes_written"):
            self.assertEqual(len(over_time[key]), parts)
            self.assertEqual(sum(over_time[key]), self.json[key])
        self.assertEqual(max(over_time["sram_bytes"]), self.json["sram_most"])
        self.assertGreater(self.json["sram_most"], 8 * 16 * 16 * 4)
        self.assertLessEqual(self.json["sram_most"], self.json["sram_bytes"])
        most = self.json["bytes_per_cycle"] * self.json["cycles"] / parts
        moved = [r + w for r, w in zip(over_time["bytes_read"], over_time["bytes_written"])]
        scale = 1024
        while scale < self.json["sram_most"]:
            scale *= 2
        for name, top, values, whole in (
                ("written", 34, moved, most), ("read", 34, over_time["bytes_read"], most),
                ("sram", 188, over_time["sram_bytes"], min(scale, self.json["sram_bytes"]))):
            drawn = next(attrs["points"].split()[1:-1:2] for kind, attrs, _ in
                         self.page.drawings["memory"] if attrs.get("class") == name)
            self.assertEqual(len(drawn), parts)
            for point, value in zip(drawn, values):
                self.assertAlmostEqual(float(point.split(",")[1]), top + 120 * (1 - min(value / whole, 1)),
                                       delta=0.06)

    def test_the_bound(self):
        share, name = max((e["busy"] / self.json["cycles"], n) for n, e in self.json["engines"].items())
        self.assertEqual(self.json["bound"], name)
        self.assertAlmostEqual(self.json["share_of_bound"], share)
        self.assertTrue(any(f"{name}, worked in {100 * share:.1f}%" in line for line in self.table))

    def test_timeline(self):
        bars = [(attrs, title) for kind, attrs, title in self.page.drawings["timeline"]
                if kind == "rect"]
        names = {title.rsplit(", ", 1)[0] for _, title in bars}
        self.assertLessEqual({"conv", "dense", "softmax"}, names)
        ends = []
        for attrs, title in bars:
            start, end = map(int, re.search(r"(\d+) to (\d+) cycles", title).groups())
            ends.append(end)
            self.assertAlmostEqual(float(attrs["x"]), 70 + 1000 * start / self.json["cycles"],
                                   delta=0.01)
            events = [e for e in self.engine_events(int(attrs["y"]) // 24 + 1)
                      if e["start_cycle"] == start]
            self.assertTrue(events)
        self.assertEqual(max(ends), self.json["cycles"])

    def test_drawing_of_its_own(self):
        """Tests scripts/page-svg.py, which makes pictures of the documentation: the file has each
        shape of the page.
        """
        script = pathlib.Path(__file__).resolve().parents[2] / "scripts/page-svg.py"
        for name in "timeline", "memory":
            target = self.folder / f"{name}.svg"
            subprocess.run([sys.executable, "-B", script, self.folder / "p.html", name, target], check=True)
            drawing = xml.etree.ElementTree.parse(target).getroot()
            for kind in "rect", "polygon":
                self.assertEqual(sum(1 for _ in drawing.iter(f"{{http://www.w3.org/2000/svg}}{kind}")),
                                 sum(k == kind for k, *_ in self.page.drawings[name]), (name, kind))
        done = subprocess.run([sys.executable, "-B", script, self.folder / "p.html", "none", target],
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no drawing none", done.stderr)

    def test_roofline(self):
        circles = [title.split(", ") for kind, _, title in self.page.drawings["roofline"]
                   if kind == "circle"]
        shown = [n for n in self.json["nodes"] if n["intensity"] > 0]
        self.assertTrue(shown)
        self.assertEqual([c[0] for c in circles], [n["label"] for n in shown])
        for circle, n in zip(circles, shown):
            self.assertEqual(circle[1].split()[0], f"{n['intensity']:.6g}")
            self.assertEqual(circle[2].split()[0], f"{n['macs_per_cycle']:.6g}")
        self.assertEqual(sum(k == "polyline" for k, *_ in self.page.drawings["roofline"]), 1)


class OnCpu(ToolTest):
    def test_cpu(self):
        table, result, _, page = profile(self, convolution(self.folder), "cpu")
        self.assertEqual(result["cycles"], 0)
        for n in result["nodes"]:
            self.assertEqual((n["device"], n["bound"]), ("cpu", "cpu"))
        self.assertGreater(sum(n["cpu_ns"] for n in result["nodes"]), 0)
        self.assertEqual(table[0].split(), ["operator", "label", "ms", "device", "kernel"])
        self.assertTrue(all(" cpu " in line for line in table[1:1 + len(result["nodes"])]))
        check_sums(self, result)
        self.assertAlmostEqual(sum(n["share_of_cpu"] for n in result["nodes"]), 1)
        compare_page(self, page, result)
        self.assertIn("host", page.drawings)
        self.assertNotIn("timeline", page.drawings)
        self.assertNotIn("roofline", page.drawings)
        self.assertNotIn("memory", page.drawings)
        self.assertNotIn("engines", page.tables)

    def test_names_from_a_file(self):
        """Tests that a name cannot become a part of the page."""
        name = '<script>alert("&")</script>'
        model = save(self.folder, "odd", [node("Neg", ["x"], ["y"], name)], [("x", [4])], [("y", [4])])
        _, result, _, page = profile(self, model, "cpu")
        self.assertNotIn("script", page.tags)
        self.assertIn(name, [row[1] for row in page.tables["nodes"]])
        self.assertIn(name, [n["label"] for n in result["nodes"]])

    def test_files_that_cannot_be_written(self):
        model = convolution(self.folder)
        for option in ("--json", "--trace", "--html"):
            _, err = self.tool("profile", model, option, self.folder / "none" / "file", status=3)
            self.assertIn("none/file", err)


if __name__ == "__main__":
    main()
