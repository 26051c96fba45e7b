#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the scripts behind ./npu check find the faults that they look for, and pass good
files.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts"))

import shares  # noqa: E402

SPDX = "// SPDX-License-Identifier: MIT\n"

# A result of the demo that passes. SqueezeNet's part is required only where its model is present.
GOOD_DEMO = {
    "device": "sim",
    "digits": {"count": 360, "accuracy": 0.995, "agree": 360, "right": {"sim": 358, "cpu": 358}},
    "nodes": {"npu": 9, "cpu": 0, "folded": 2},
    "cycles": 1000,
    "share_of_peak": 0.25,
}


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_script(self, script, *args, where=os.path.join(TOP, "scripts")):
        """Returns (exit status, output)."""
        done = subprocess.run([sys.executable, os.path.join(where, script), *args], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout


class Includes(ScriptTest):
    def check(self, name, include):
        for header in ("util/error.h", "ir/ir.h", "plan/report.h", "run/run.h", "winsys/winsys.h"):
            self.write("userspace/src/" + header, SPDX)
        for header in ("onpu_sim.h", "onpu_device.h", "math/kernels.h", "machine/sim.h", "device/device.h",
                       "vfu/server.h"):
            self.write("emulator/" + header, SPDX)
        self.write(name, f'{SPDX}#include {include}\n')
        return self.run_script("check-includes.py", self.folder)

    def assert_passes(self, name, include):
        self.assertEqual(self.check(name, include), (0, ""))

    def assert_fails(self, name, include, message):
        status, out = self.check(name, include)
        self.assertEqual(status, 1)
        self.assertIn(f"{name}:2: ", out)
        self.assertIn(message, out)

    def test_downwards(self):
        self.assert_passes("userspace/src/plan/tile.c", '"ir/ir.h"')
        self.assert_passes("userspace/src/api/context.c", '"../run/run.h"')
        self.assert_passes("userspace/src/plan/tile.c", '"report.h"')

    def test_upwards(self):
        self.assert_fails("userspace/src/ir/print.c", '"plan/report.h"', "ir must not include plan")

    def test_upwards_by_relative_path(self):
        self.assert_fails("userspace/src/util/log.c", '"../ir/ir.h"', "util must not include ir")

    def test_cpu_knows_no_npu(self):
        self.assert_fails("userspace/src/cpu/ref.c", '"winsys/winsys.h"', "cpu must not include")

    def test_folders_of_the_planner(self):
        for folder in ("list", "place", "kernel", "lower"):
            self.write(f"userspace/src/plan/{folder}/{folder}.h", SPDX)
        self.write("userspace/src/plan/lower/range.h", SPDX)
        self.assert_passes("userspace/src/plan/kernel/rows.c", '"plan/list/list.h"')
        self.assert_passes("userspace/src/codegen/compile.c", '"plan/lower/range.h"')
        self.setUp()
        self.write("userspace/src/plan/place/place.h", SPDX)
        self.write("userspace/src/plan/lower/lower.h", SPDX)
        self.assert_fails("userspace/src/plan/list/set.c", '"plan/place/place.h"', "list < place < kernel < lower")
        self.assert_fails("userspace/src/codegen/compile.c", '"plan/lower/lower.h"', "inside of the planner")
        self.assert_fails("userspace/src/run/run.c", '"plan/place/place.h"', "inside of the planner")

    def test_model_only_in_sim(self):
        self.assert_passes("userspace/src/winsys/sim.c", '"onpu_sim.h"')
        self.assert_fails("userspace/src/run/run.c", '"onpu_sim.h"', "only winsys/sim")

    def test_kernel_only_in_drm(self):
        self.assert_passes("userspace/src/winsys/drm.c", "<xf86drm.h>")
        self.assert_fails("userspace/src/winsys/null.c", "<drm/onpu_accel.h>", "only winsys/drm")
        self.setUp()
        self.assert_passes("userspace/src/util/dmabuf.c", "<sys/ioctl.h>")
        self.assert_fails("userspace/src/util/dmabuf.c", "<xf86drm.h>", "only winsys/drm")

    def test_model_knows_no_library(self):
        self.assert_fails("emulator/device/cp.c", '"../../userspace/src/ir/ir.h"', "device model")

    def test_model_downwards(self):
        self.assert_passes("emulator/machine/vector.c", '"math/kernels.h"')
        self.assert_passes("emulator/machine/dma.c", '"sim.h"')
        self.assert_passes("emulator/device/cp.c", '"onpu_sim.h"')
        self.assert_passes("emulator/device/cp.c", '"math/kernels.h"')
        self.assert_passes("emulator/vfu/irq.c", '"onpu_device.h"')
        self.assert_passes("emulator/onpu_emu.c", '"vfu/server.h"')
        self.assert_passes("emulator/math/kernels.c", '"onpu/slots.h"')

    def test_model_upwards(self):
        for include, other in (('"machine/sim.h"', "machine"), ('"onpu_sim.h"', "onpu_sim.h")):
            self.assert_fails("emulator/math/kernels.c", include, f"math must not include {other}")
        for include, other in (('"../device/device.h"', "device"), ('"onpu_device.h"', "onpu_device.h")):
            self.assert_fails("emulator/machine/dma.c", include, f"machine must not include {other}")

    def test_model_from_device_to_vfu(self):
        self.assert_fails("emulator/device/cp.c", '"vfu/server.h"', "device must not include vfu")

    def test_model_public_header(self):
        self.assert_fails("emulator/onpu_sim.h", '"machine/sim.h"', "onpu_sim.h must not include machine")

    def test_model_past_public_headers(self):
        for name, include in (("device/cp.c", "machine/sim.h"), ("vfu/irq.c", "device/device.h"),
                              ("onpu_emu.c", "device/device.h")):
            with self.subTest(name):
                self.setUp()
                self.assert_fails("emulator/" + name, f'"{include}"', "must not include")

    def test_unknown_part_of_model(self):
        self.assert_fails("emulator/misc/a.c", "<stdio.h>", "'misc' is no part of emulator")

    def test_unknown_layer(self):
        self.assert_fails("userspace/src/misc/a.c", "<stdio.h>", "no layer")


class Numbers(ScriptTest):
    """Tests check-numbers.py. The real files of uapi/onpu define the numbers. The script must find
    copies of numbers that sources once had.
    """

    def setUp(self):
        super().setUp()
        for name in ("isa.xml", "machines.xml", "registers.xml"):
            with open(os.path.join(TOP, "uapi/onpu", name), encoding="utf-8") as file:
                self.write("uapi/onpu/" + name, file.read())

    def check(self, text, name="emulator/machine/cost.c"):
        path = self.write(name, SPDX + text)
        status, out = self.run_script("check-numbers.py", self.folder)
        os.remove(path)
        return status, out

    def assert_passes(self, *lines, **where):
        for line in lines:
            with self.subTest(line):
                self.assertEqual(self.check(line + "\n", **where), (0, ""))

    def assert_fails(self, line, constant, name="emulator/machine/cost.c", number=2):
        with self.subTest(line):
            status, out = self.check(line + "\n", name)
            self.assertEqual(status, 1)
            self.assertIn(f"{name}:{number}: ", out)
            self.assertIn(f" {constant}:", out)
            self.assertEqual(out.count("\n"), 1)

    def test_definitions(self):
        for line, constant in (
                ("#define VECTOR_SETUP 8", "ONPU_CYCLES_VECTOR"),
                ("#define MMA_SETUP    16", "ONPU_CYCLES_MMA"),
                ("#define DMA_SETUP 64", "ONPU_CYCLES_DMA"),
                ("#define SIM_MAX_COST (1u << 20)", "ONPU_MAX_COST"),
                ("#define PLAN_MAX_COST \\\n\t(1u << 20)", "ONPU_MAX_COST"),
                ("#define SIM_SLOT_CACHE 64", "ONPU_CACHED_SLOTS"),
                ("#define PLAN_MAX_SLOTS 65536u /* of a job */", "ONPU_MAX_SLOTS"),
                ("#define PLAN_ENGINES 5", "ONPU_ENG_COUNT"),
                ("#define RESAMPLE_MAX ((int64_t)1 << 30)", "ONPU_MAX_RESAMPLE_SIZE"),
                ("#define REDUCE_LANES 16", "ONPU_REDUCE_LANES"),
                ("#define PAGE 4096u", "ONPU_PAGE_SIZE"),
                ("#define HW_NO_QUEUE 0xffu", "ONPU_NO_QUEUE"),
                ("#define DEVICE_TCM_BYTES 0x40000u", "ONPU_CAP_TCM_BYTES__RESET"),
                ("#define PROFILE_RECORD_SIZE UINT64_C(32)", "sizeof(struct onpu_profile_record)"),
                ("enum { NUM_ENGINES = 5 };", "ONPU_ENG_COUNT"),
                ("static const uint32_t pageSize = 4096;", "ONPU_PAGE_SIZE"),
                ("\treturn (struct config){ .lanes = 256, .threads = 1 };", "ONPU_CAP_LANES__RESET"),
                ("\tconst unsigned int slot_bytes = 128;", "ONPU_SLOT_SIZE")):
            self.assert_fails(line, constant)

    def test_members_of_enumerations(self):
        self.assert_fails("enum limits {\n\tMAX_QUEUES = 64,\n};", "ONPU_MAX_QUEUES", number=3)

    def test_sizes(self):
        for line, constant in (
                ("c->bytes = align(c->bytes + (uint64_t)program->num_slots * 128);", "ONPU_SLOT_SIZE"),
                ("if (job->slots_va % 128)", "ONPU_SLOT_SIZE"),
                ("n = size_of(slots) / 4 + 128 * (uint64_t)0 + 128 * job->slot_count;", "ONPU_SLOT_SIZE"),
                ("bytes = program->num_insns * 16u;", "ONPU_INSN_BYTES"),
                ("end = start + pages * 4096;", "ONPU_PAGE_SIZE")):
            self.assert_fails(line, constant)

    def test_costs(self):
        self.assert_fails("\ttl->issue += 8;", "ONPU_CYCLES_VECTOR")
        function = "static unsigned int %s(int miss)\n{\n\treturn %s;\n}"
        for name, value, constant in (("slot_cycles", "miss ? 4 : 0", "ONPU_CYCLES_SLOT"),
                                      ("plan_cost_mma", "16 + rows + cols", "ONPU_CYCLES_MMA"),
                                      ("plan_cost_insn", "8 + out * factor", "ONPU_CYCLES_VECTOR")):
            self.assert_fails(function % (name, value), constant, number=4)
            self.assert_passes(function % ("other", value))

    def test_magic(self):
        self.assert_fails("if (h->magic != 0x57464e4f)", "ONPU_FW_MAGIC")

    def test_every_layer_that_knows_the_machine(self):
        for name in ("firmware/context.c", "driver/onpu_mmu.c", "userspace/src/plan/list/plan.h",
                     "userspace/src/winsys/sim.c", "userspace/src/run/compile.c"):
            self.assert_fails("#define PAGE 4096", "ONPU_PAGE_SIZE", name=name)
        self.assert_passes("#define PAGE 4096", name="userspace/src/cpu/fast.c")

    def test_what_is_no_copy(self):
        self.assert_passes(
            "#define VECTOR 8", "#define VECTORS 3", "#define BUFFER 65536", "#define LOOK_EVERY 64",
            "#define SLICE (UINT64_C(1) << 20)", "#define ONPU_MBOX_SLOTS 64", "#define ENTRIES 512",
            "/* slots are num_slots * 128 bytes */", 'die("slots * 128, cost += 8");', "// pages * 4096",
            "#define PAGES(n) ((n) * ONPU_PAGE_SIZE)", "limit = rows * 128;", "cost += 8 * words;",
            "cycles += 3;", "if (cost > 64)", "uint32_t page = 4096 * slots;", "x = y == 0x57464e4e;")


class Tree(ScriptTest):
    def check(self, name, text):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        self.write(name, text)
        return self.run_script("check-tree.py", self.folder)

    def test_good(self):
        self.assertEqual(self.check("a.c", SPDX + "int a;\n"), (0, ""))

    def test_data_needs_no_licence_line(self):
        self.assertEqual(self.check("a.json", "{}\n"), (0, ""))

    def test_no_licence_line(self):
        self.assertEqual(self.check("a.c", "int a;\n")[0], 1)

    def test_other_licence(self):
        self.assertEqual(self.check("a.c", "// SPDX-License-Identifier: BSD-3-Clause\n")[0], 1)

    def test_form_of_the_licence_line(self):
        lines = {"//": "// {}\n", "/*": "/* {} */\n", "#": "# {}\n", "..": ".. {}\n", "<!--": "<!-- {} -->\n",
                 "#!": "#!/bin/sh\n# {}\n", "<?": "<?xml version='1.0'?>\n<!-- {} -->\n"}
        right = {"//": ["a.c", "a.cc"], "/*": ["a.h", "a.hpp", "a.inc", "a.def", "a.S", "a.ld", "a.css"],
                 "#": ["a.py", "meson.build", "Kbuild", "npu"], "..": ["a.rst", "Documentation/ABI/testing/a"],
                 "<!--": ["a.xml"], "#!": ["a.sh", "b.py"], "<?": ["b.xml"]}
        for form, names in right.items():
            for name in names:
                self.write(name, lines[form].format("SPDX-License-Identifier: MIT"))
        self.assertEqual(self.check("b.c", SPDX), (0, ""))
        for form, names in right.items():
            for name in names:
                other = "// {}\n" if form != "//" else "/* {} */\n"
                self.write(name, other.format("SPDX-License-Identifier: MIT"))
        status, out = self.check("b.c", SPDX)
        self.assertEqual(status, 1)
        for name in sum(right.values(), []):
            self.assertIn(f"\n{name}:", "\n" + out)

    def test_too_long(self):
        for name in ("a.c", "a.cc", "a.js"):
            with self.subTest(name):
                self.setUp()
                self.assertEqual(self.check(name, SPDX + "\n" * 799)[0], 0)
                self.assertEqual(self.check(name, SPDX + "\n" * 800)[0], 1)

    def test_registry(self):
        self.assertIn("registry", self.check("a.c", SPDX + "// http://deb." + "debian.org/x\n")[1])

    def test_machine_path(self):
        self.assertIn("machine", self.check("a.c", SPDX + '#include "/ho' + 'me/me/a.h"\n')[1])


class Functions(ScriptTest):
    def check(self, lines, head="static int f(int a)"):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        self.write("a.c", f"{SPDX}{head}\n{{\n" + "\ta++;\n" * lines + "}\n")
        return self.run_script("check-functions.py", self.folder)

    def test_80_lines(self):
        self.assertEqual(self.check(80), (0, ""))

    def test_81_lines(self):
        self.assertEqual(self.check(81), (1, "a.c:2: f() has 81 lines, more than 80\n"))

    def test_head_of_several_lines(self):
        self.assertEqual(self.check(81, "int g(int a,\n      int b)"),
                         (1, "a.c:2: g() has 81 lines, more than 80\n"))

    def test_python(self):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        for lines, expected in ((80, (0, "")), (81, (1, "a.py:3: f() has 81 lines, more than 80\n"))):
            self.write("a.py", "# A line.\n\ndef f(a,\n      b):\n" + "    a += 1\n" * lines)
            self.assertEqual(self.run_script("check-functions.py", self.folder), expected)

    def test_table_is_no_function(self):
        self.assertEqual(self.check(81, "int table[] ="), (0, ""))


class Words(ScriptTest):
    def check(self, name, text):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        self.write(name, text)
        return self.run_script("check-words.py", self.folder)

    def assert_finds(self, name, text, line, word):
        status, out = self.check(name, text)
        self.assertEqual(status, 1)
        self.assertIn(f"{name}:{line}: a sentence begins with \"{word}\"", out)

    def test_where_sentences_begin(self):
        self.assert_finds("a.c", SPDX + "/* Of a row. */\n", 2, "Of")
        self.assert_finds("a.c", SPDX + "/*\n * The size.\n * The same of a row.\n */\n", 4, "The same")
        self.assert_finds("a.c", SPDX + "/* The size. Whose row it is. */\n", 2, "Whose")
        self.assert_finds("a.c", SPDX + 'char *a = "Of a row";\n', 2, "Of")
        self.write("a.c", SPDX)
        self.assert_finds("a.py", '"""Of a row."""\n', 1, "Of")
        self.write("a.py", "")
        self.assert_finds("a.sh", "# Of a row.\n", 1, "Of")
        self.write("a.sh", "")
        self.assert_finds("npu", "# Of a row.\n", 1, "Of")
        self.write("npu", "")
        self.assert_finds("a.xml", "<doc>a row. Of a row</doc>\n", 1, "Of")
        self.assert_finds("a.xml", "<doc>Of a row</doc>\n", 1, "Of")

    def test_inside_of_a_sentence(self):
        self.assertEqual(self.check("a.c", SPDX + "/* The size of a row, the same as before, whose it is. */\n"),
                         (0, ""))

    def test_quoted(self):
        self.assertEqual(self.check("a.md", "No sentence begins with\n\"Of\", `Whose` or \"The same\".\n"), (0, ""))

    def test_title(self):
        self.assertEqual(self.check("a.rst", "The same in C\n=============\n"), (0, ""))


class SameCode(ScriptTest):
    """Tests same-code.py: each case changes words or code of a file, and checks whether the script
    reports other code.
    """

    C = SPDX + ("/*\n * The size.\n */\n#define SUM(a, b) /* both */ \\\n\t((a) + (b)) // sum\n"
                "#if 0\nint dead = 1;\n#endif\nchar *s = \"a  /* b */\"; /* text */\n")
    PYTHON = '"""Words."""\n\n\ndef f():\n    """Words of f."""\n    return "a"  # why\n'
    SHELL = "#!/bin/bash\n# Words.\nf()\n{\n\techo \"# a\" $(ls) # why\n\tcat <<END\n# b\nEND\n}\n"

    def git(self, *args):
        subprocess.run(["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b", *args], check=True,
                       stdout=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        for name, text in (("a.c", self.C), ("a.py", self.PYTHON), ("a.sh", self.SHELL), ("a.rst", "Words.\n")):
            self.write(name, text)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a")

    def compare(self, *commits):
        done = subprocess.run([sys.executable, os.path.join(TOP, "scripts", "same-code.py"), *commits], text=True,
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def assert_words(self, name, text, old, new):
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))
        self.assertEqual(self.compare("HEAD"), (0, "1 files differ in words only, 0 in code, 0 were not compared\n"))
        self.write(name, text)

    def assert_code(self, name, text, old, new):
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))
        status, out = self.compare("HEAD")
        self.assertEqual(status, 1, out)
        self.assertTrue(out.startswith(f"{name}: "), out)
        self.assertIn("0 files differ in words only, 1 in code, 0 were not compared", out)
        self.write(name, text)

    def test_words_of_c(self):
        self.assert_words("a.c", self.C, " * The size.", " * The length\n * of a row, which isn't 0.")
        self.assert_words("a.c", self.C, "/* both */", "")
        self.assert_words("a.c", self.C, " // sum", "")
        self.assert_words("a.c", self.C, "/* text */", "// text")

    def test_code_of_c(self):
        self.assert_code("a.c", self.C, "((a) + (b))", "((a) - (b))")
        self.assert_code("a.c", self.C, "dead = 1", "dead = 2")
        self.assert_code("a.c", self.C, "#if 0", "#if 1")
        self.assert_code("a.c", self.C, "a  /* b */", "a /* b */")
        self.assert_code("a.c", self.C, "a  /* b */", "a  /* c */")
        # The comment continues in the next line and swallows it.
        self.assert_code("a.c", self.C, "#if 0\n", "#if 0 // why \\\n")

    def test_words_of_python(self):
        self.assert_words("a.py", self.PYTHON, '"""Words."""', '"""Other\n\nwords."""')
        self.assert_words("a.py", self.PYTHON, "Words of f", "It returns a letter")
        self.assert_words("a.py", self.PYTHON, "# why", "# why not")

    def test_code_of_python(self):
        self.assert_code("a.py", self.PYTHON, 'return "a"', 'return "b"')
        self.assert_code("a.py", self.PYTHON, 'return "a"', 'return("a",)')
        self.assert_code("a.py", self.PYTHON, 'return "a"', 'return (')

    def test_words_of_shell(self):
        self.assert_words("a.sh", self.SHELL, "# Words.", "# Other\n# words.")
        self.assert_words("a.sh", self.SHELL, " # why", "")

    def test_code_of_shell(self):
        self.assert_code("a.sh", self.SHELL, "# a", "# c")
        self.assert_code("a.sh", self.SHELL, "# b", "# c")
        self.assert_code("a.sh", self.SHELL, "$(ls)", "$(ls -l)")
        self.assert_code("a.sh", self.SHELL, "$(ls) # why", "# $(ls) why")

    def test_not_compared(self):
        self.write("a.rst", "Other words.\n")
        self.assertEqual(self.compare("HEAD"), (0, "a.rst: not compared\n0 files differ in words only, 0 in code, "
                                                   "1 were not compared\n"))

    def test_files_that_come_and_go(self):
        os.chmod(os.path.join(self.folder, "a.sh"), 0o755)
        os.remove(os.path.join(self.folder, "a.c"))
        self.write("b.py", self.PYTHON)
        self.git("add", "-A")
        self.assertEqual(self.compare("HEAD"), (1, "a.c: is gone\na.sh: its mode 100644 became 100755\n"
                                                   "b.py: is new\n0 files differ in words only, 3 in code, "
                                                   "0 were not compared\n"))

    def test_two_commits(self):
        self.write("a.c", self.C.replace("dead = 1", "dead = 2"))
        self.git("commit", "-qam", "b")
        self.write("a.c", self.C)
        self.assertEqual(self.compare("HEAD^", "HEAD")[0], 1)
        self.assertEqual(self.compare("HEAD^")[0], 0)


class Demo(ScriptTest):
    def check(self, change=None, value=None):
        data = copy.deepcopy(GOOD_DEMO)
        if change:
            *parents, last = change.split(".")
            place = data
            for name in parents:
                place = place[name]
            if value is None:
                del place[last]
            else:
                place[last] = value
        # Run a copy of the script, beside which there are no models.
        with open(os.path.join(TOP, "scripts/check-demo.py"), encoding="utf-8") as file:
            self.write("checkout/scripts/check-demo.py", file.read())
        return self.run_script("check-demo.py", self.write("demo.json", json.dumps(data)),
                               where=os.path.join(self.folder, "checkout/scripts"))

    def test_good(self):
        self.assertEqual(self.check(), (0, ""))

    def test_each_threshold(self):
        for change, value in (("digits.accuracy", 0.993), ("digits.right.sim", 357),
                              ("digits.right.cpu", 357), ("digits.agree", 359), ("nodes.cpu", 1),
                              ("digits.count", 0), ("nodes.npu", 0), ("cycles", 0),
                              ("share_of_peak", 1.5), ("device", "cpu")):
            self.assertEqual(self.check(change, value)[0], 1, (change, value))

    def test_each_member(self):
        for change in ("device", "digits", "digits.accuracy", "digits.right.cpu", "nodes.folded", "cycles",
                       "share_of_peak"):
            status, out = self.check(change)
            self.assertEqual(status, 1)
            self.assertIn("is missing", out)


class Shares(ScriptTest):
    """Tests the paths to the guest's shared folders, in a system with two closed homes."""

    def setUp(self):
        super().setUp()
        for name in ("mine", "homes/one", "homes/two/inner", "srv"):
            os.makedirs(os.path.join(self.folder, name))
        for name in ("mine", "homes/one", "homes/two/inner"):
            os.chmod(os.path.join(self.folder, name), 0o750)

    def places(self, *folders):
        closed = shares.closed(folders, self.folder)
        return closed, [shares.place(path, closed) for path in folders]

    def test_open(self):
        self.assertEqual(self.places("/srv/main", "/opt/main"), ([], ["/srv/main", "/opt/main"]))

    def test_closed(self):
        self.assertEqual(self.places("/mine/a b/main", "/srv/main"), (["/mine"], [f"{shares.STAGE}0/a b/main", "/srv/main"]))

    def test_below_two(self):
        self.assertEqual(self.places("/homes/one/main", "/homes/two/inner/main", "/mine/main"),
                         (["/homes/one", "/homes/two/inner", "/mine"],
                          [f"{shares.STAGE}{number}/main" for number in range(3)]))

    def test_two_below_one(self):
        self.assertEqual(self.places("/mine/main", "/mine/main-2"),
                         (["/mine"], [f"{shares.STAGE}0/main", f"{shares.STAGE}0/main-2"]))

    def test_within_another_share(self):
        self.assertEqual(self.places("/mine", "/mine/main"), ([], ["/mine", "/mine/main"]))
        self.assertEqual(self.places("/homes", "/homes/one/main"), ([], ["/homes", "/homes/one/main"]))
        self.assertEqual(self.places("/mine/a", "/mine/a/main"),
                         (["/mine"], [f"{shares.STAGE}0/a", f"{shares.STAGE}0/a/main"]))

    def test_in_memory(self):
        path = os.path.join(self.folder, "homes/two/inner/main")
        ways = shares.closed_ways(path, os.path.join(self.folder, "srv"))
        self.assertIn(os.path.dirname(path), ways)
        self.assertNotIn(os.path.join(self.folder, "srv"), ways)


class Count(ScriptTest):
    def check(self, stages, tap="", cases="", programs=()):
        logs = os.path.join(self.folder, "gcc/meson-logs")
        self.write("gcc/meson-logs/testlog.junit.xml", f"<testsuites>{cases}</testsuites>")
        self.write("gcc/meson-logs/testlog.json", "".join(
            json.dumps({"name": name, "result": result}) + "\n" for name, result in programs))
        status, out = self.run_script("count-tests.py", self.write("stages", stages),
                                      self.write("front.tap", tap), logs)
        return status, out.splitlines()[-1]

    def test_sum(self):
        self.assertEqual(
            self.check("passed a\nskipped b\n", "ok 1 - x\nok 2 # SKIP why\n1..2\n",
                       '<testcase name="onpu / t" classname="onpu"/>', [("onpu / t", "OK")]),
            (0, "3 passed, 0 failed, 2 skipped"))

    def test_failed_stage(self):
        self.assertEqual(self.check("failed a\n", "ok 1 - x\n1..1\n"),
                         (1, "1 passed, 1 failed, 0 skipped"))

    def test_failed_case(self):
        self.assertEqual(
            self.check("passed a\n", cases='<testcase name="onpu / t" classname="onpu"><failure/></testcase>'
                       '<testcase name="onpu / u" classname="onpu"/>',
                       programs=[("onpu / t", "FAIL"), ("onpu / u", "OK")]),
            (1, "2 passed, 1 failed, 0 skipped"))

    def test_crash_after_the_last_case(self):
        self.assertEqual(
            self.check("passed a\n", cases='<testcase name="c" classname="onpu.onpu / t"/>',
                       programs=[("onpu / t", "FAIL")]),
            (1, "2 passed, 1 failed, 0 skipped"))

    def test_tap_cut_short(self):
        self.assertEqual(self.check("passed a\n", "ok 1 - x\n")[0], 1)

    def test_nothing_ran(self):
        self.assertEqual(self.check("passed lint\npassed test\n")[0], 1)

    def test_no_stage_of_cases(self):
        self.assertEqual(self.check("passed lint\n"), (0, "1 passed, 0 failed, 0 skipped"))

    def test_what_failed_says_why(self):
        """Tests that the output has the lines before the case that failed, or the last lines of a
        program without cases.
        """
        logs = os.path.join(self.folder, "gcc/meson-logs")
        self.write("gcc/meson-logs/testlog.junit.xml", """<testsuites>
            <testcase name="b" classname="onpu.onpu / t"><failure/></testcase>
            <testcase name="onpu / u" classname="onpu"><failure/></testcase></testsuites>""")
        self.write("gcc/meson-logs/testlog.json", "".join(json.dumps(row) + "\n" for row in (
            {"name": "onpu / t", "result": "FAIL", "stdout": "ok 1 - a\n# is 3, not 4\nnot ok 2 - b\nok 3 - c\n"},
            {"name": "onpu / u", "result": "FAIL", "stdout": "x\n", "stderr": "why\n" * 30})))
        _, out = self.run_script("count-tests.py", self.write("stages", "failed test\n"),
                                 self.write("front.tap", "# who\nnot ok 1 - x\n1..1\n"), logs)
        self.assertEqual(out.splitlines(), [
            "failed: stage test", "failed: front: x", "  | # who",
            "failed: gcc: onpu.onpu / t b", "  | ok 1 - a", "  | # is 3, not 4", "  | not ok 2 - b",
            "failed: gcc: onpu onpu / u", *["  | why"] * 20, "0 passed, 4 failed, 0 skipped"])

    def test_two_runs_of_a_build(self):
        self.write("gcc/meson-logs/testlog-more.junit.xml",
                   '<testsuites><testcase name="onpu / v" classname="onpu"/></testsuites>')
        self.write("gcc/meson-logs/testlog-more.json", json.dumps({"name": "onpu / v", "result": "FAIL"}) + "\n")
        self.assertEqual(self.check("passed test\n", cases='<testcase name="onpu / t" classname="onpu"/>',
                                    programs=[("onpu / t", "OK")]),
                         (1, "3 passed, 1 failed, 0 skipped"))


class Budgets(ScriptTest):
    ROWS = {"environment": "stage environment check 100 104", "lint": "stage lint check 200 -",
            "guest": "stage guest check 30 20", "guest-more": "stage guest-more more 60 5",
            "runner": "guest guest-runner more 50 1", "a": "guest guest_a quick 20 1",
            "b": "guest guest_b check 40 1"}

    def check(self, **changes):
        rows = self.ROWS | {name.replace("_", "-"): row for name, row in changes.items()}
        self.write("scripts/budgets.txt", "# A comment.\n\n" + "\n".join(rows.values()))
        for name in ("guest_a.sh", "guest_b.py", "debug.sh"):
            os.chmod(self.write("tests/driver/" + name, ""), 0o755)
        # The file is not executable, so it is no test.
        self.write("tests/driver/guest_data.py", "")
        status, out = self.run_script("check-budgets.py", self.folder, "lint guest", "guest-more")
        self.assertEqual(status, 1 if out else 0)
        return out

    def assert_fails(self, message, **changes):
        self.assertEqual(self.check(**changes), f"scripts/budgets.txt: {message}\n")

    def test_good(self):
        self.assertEqual(self.check(), "")

    def test_rows(self):
        self.assert_fails("stage lint has no row", lint="")
        self.assert_fails("guest guest_b has no row", b="")
        self.assert_fails("there is no stage rest", rest="stage rest more 1 1")
        self.assert_fails("there is no guest guest_data", rest="guest guest_data more 1 1")
        self.assert_fails("stage lint runs in check, not in more", lint="stage lint more 200 -")
        self.assert_fails("line 10: stage lint has a row already", rest="stage lint check 1 1")
        for row in ("stage lint check 0 1", "stage lint quick 1 1", "stage lint check 1", "step lint check 1 1"):
            self.assertIn("is no row KIND NAME WHERE SECONDS BEFORE", self.check(lint=row))

    def test_sums(self):
        self.assertEqual(self.check(lint="stage lint check 770 -"), "")
        self.assert_fails("the stages of check have 901 s, more than 900", lint="stage lint check 771 -")
        self.assertEqual(self.check(guest_more="stage guest-more more 1350 -"), "")
        self.assert_fails("the stages of check and --more have 1681 s, more than 1680",
                          guest_more="stage guest-more more 1351 -")
        self.assert_fails("the tests of guest have 61 s: two at a time take more than the 30 s of the stage",
                          b="guest guest_b check 41 1")
        self.assert_fails("the tests of guest-more have 121 s: two at a time take more than the 60 s of the stage",
                          runner="guest guest-runner more 121 1")


class Times(ScriptTest):
    def test_over(self):
        times = self.write("times", "stage lint 5 9 -\nstep guest_a-6.12.1 8 7 1.5\nstage test 10 10 -\n"
                           "step b 99 - 0.1\n")
        self.write("gcc/meson-logs/testlog-gcc-test.json", json.dumps({"name": "onpu:library / t", "duration": 1.25}))
        status, out = self.run_script("show-times.py", times, os.path.join(self.folder, "gcc/meson-logs"))
        self.assertEqual(status, 0)
        self.assertIn("  lint                 5 of    9\n", out)
        self.assertEqual([line for line in out.splitlines() if "warning" in line],
                         ["warning: step guest_a-6.12.1 took 8 s, its budget is 7 s"])
        with open(times, encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines()[-1], "test gcc:t 1.2 - -")


if __name__ == "__main__":
    unittest.main()
