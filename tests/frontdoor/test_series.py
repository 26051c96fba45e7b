#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests scripts/make-series.py: its patches apply to a kernel's tree, without the code that only a
module outside of that tree needs.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TOP / "scripts/make-series.py"

CORE_PATCH = next((TOP / "Documentation/upstream/series").glob("*.patch"))
# The lines of the core that its patch is about, as they are before it.
HUNKS = CORE_PATCH.read_text(encoding="utf-8").split("\n-- \n", 1)[0].split("\n@@", 1)[1]
CORE = "".join(line[1:] + "\n" for line in HUNKS.splitlines()[1:] if line[0] in " -")
KERNEL = {
    "MAINTAINERS": "List of maintainers\n===================\n\nAARDVARK\nS:\tOrphan\nF:\ta/\n\n"
                   "iSCSI\nS:\tMaintained\nF:\ti/\n\nZOO\nS:\tMaintained\nF:\tz/\n\nTHE REST\nM:\tAll of us\nF:\t*\n",
    "drivers/accel/Kconfig": 'if DRM\nsource "drivers/accel/ivpu/Kconfig"\nsource "drivers/accel/qaic/Kconfig"\nendif\n',
    "drivers/accel/Makefile": "obj-$(CONFIG_DRM_ACCEL_IVPU)\t\t+= ivpu/\nobj-$(CONFIG_DRM_ACCEL_QAIC)\t\t+= qaic/\n",
    "drivers/gpu/drm/drm_drv.c": CORE,
    "include/drm/drm_device.h": "struct drm_wedge_task_info;\n",
    "include/drm/drm_drv.h": "struct drm_driver;\n",
    "include/drm/drm_gem.h": "int drm_gem_is_imported(void);\n",
}


class SeriesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kernel = pathlib.Path(folder.name) / "kernel"
        self.out = pathlib.Path(folder.name) / "out"
        for name, text in KERNEL.items():
            path = self.kernel / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def make(self):
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))}
        return subprocess.run([sys.executable, SCRIPT, self.kernel, self.out], text=True, check=False,
                              stderr=subprocess.PIPE, env={**os.environ, **who})

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", self.kernel,
                        *arguments], check=True, stdout=subprocess.DEVNULL)

    def applied(self):
        """Returns the kernel with the patches applied."""
        self.assertEqual(self.make().stderr, "")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "base")
        self.git("am", "-q", *sorted(self.out.glob("000[1-9]-*.patch")))
        return self.kernel

    def test_what_it_adds(self):
        tree = self.applied()
        driver = tree / "drivers/accel/onpu"
        for path in (TOP / "driver").glob("onpu_*.[ch]"):
            self.assertTrue((driver / path.name).exists(), path.name)
        for path in (driver / "Kconfig", driver / "onpu/registers.h", tree / "include/uapi/drm/onpu_accel.h"):
            self.assertTrue(path.exists(), path)
        objects = re.findall(r"(onpu_\w+)\.o", (driver / "Makefile").read_text(encoding="utf-8"))
        self.assertEqual(sorted(objects), sorted(path.stem for path in (TOP / "driver").glob("onpu_*.c")))
        for path in driver.glob("*"):
            if path.is_file():
                self.assertNotRegex(path.read_text(encoding="utf-8"), r"# *ifn?def ONPU_HAVE|onpu-has", path.name)

    def test_generated_headers_are_as_the_kernel_writes(self):
        text = (self.applied() / "drivers/accel/onpu/onpu/registers.h").read_text(encoding="utf-8")
        self.assertNotRegex(text, r"\bu?int\d+_t\b|__KERNEL__|__cplusplus|_Static_assert|ONPU_STATIC_ASSERT|stdint")
        self.assertRegex(text, r"\n\tu16 abi_minor;")
        self.assertRegex(text, r"};\n\nstatic_assert\(sizeof\(struct onpu_fw_header\) == 64\);\n")

    def test_what_the_kernel_has_is_not_made_again(self):
        compat = (self.applied() / "drivers/accel/onpu/onpu_compat.h").read_text(encoding="utf-8")
        self.assertNotIn("drm_gem_is_imported", compat)
        self.assertIn("drm_gem_get_huge_mnt", compat)

    def test_places_in_lists(self):
        tree = self.applied()
        titles = re.findall(r"\n\n(\S.*)\n[A-Z]:\t", (tree / "MAINTAINERS").read_text(encoding="utf-8"))
        self.assertEqual(titles, ["AARDVARK", "iSCSI", "OPEN NPU DRIVER", "ZOO", "THE REST"])
        for name in ("Kconfig", "Makefile"):
            text = (tree / "drivers/accel" / name).read_text(encoding="utf-8")
            self.assertEqual(re.findall("ivpu|onpu|qaic", text), ["ivpu", "onpu", "qaic"])

    def test_letter(self):
        self.assertEqual(self.make().stderr, "")
        text = (self.out / "0000-cover-letter.patch").read_text(encoding="utf-8")
        self.assertIn("Subject: [PATCH drm-misc-next 0/4] accel/onpu: A driver for the Open NPU\n", text)
        self.assertNotIn("***", text)
        self.assertIn("  MAINTAINERS: Add the Open NPU driver\n", text)

    def test_core(self):
        """Tests that the series corrects the core, but not a core that is corrected."""
        core = self.applied() / "drivers/gpu/drm/drm_drv.c"
        self.assertIn("dev->primary ?: dev->accel", core.read_text(encoding="utf-8"))
        shutil.rmtree(self.out)
        self.assertEqual(self.make().stderr, "")
        self.assertEqual(len(list(self.out.glob("000[1-9]-*.patch"))), 3)

    def test_refused(self):
        self.out.mkdir()
        self.assertIn("exists", self.make().stderr)
        (self.kernel / "MAINTAINERS").unlink()
        self.assertIn("is no tree of a kernel", self.make().stderr)


if __name__ == "__main__":
    unittest.main()
