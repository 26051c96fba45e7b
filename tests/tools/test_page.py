#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the page of webnn-run profile in a browser: test_page.py WEBNN_RUN [--keep FOLDER]

Headless Chromium loads the page without a message, reads the figures of the JSON out of it, and
draws it. With --keep, the pictures are copied to FOLDER. Without Chromium the test is skipped.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import test_profile
from common import ToolTest, convolution, main

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
KEEP = pathlib.Path(sys.argv[3]) if sys.argv[2:3] == ["--keep"] else None
DEVICES = os.environ.get("ONPU_PAGE_DEVICES", "cpu sim").split()
test_profile.OPTIONS = []


class Browser(ToolTest):
    def browse(self, page, *options):
        """Returns the page as Chromium prints it, and the messages of its console."""
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               f"--user-data-dir={self.folder / 'browser'}", "--enable-logging=stderr",
                               "--window-size=1300,1800", *options, page.as_uri()],
                              capture_output=True, text=True, timeout=120, check=True,
                              env={**os.environ, "HOME": str(self.folder)})
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def test_console(self):
        """Tests that a message on the console of a page is noticed."""
        page = self.folder / "bad.html"
        page.write_text("<!DOCTYPE html><title>x</title><script>console.error('as planned')</script>")
        _, console = self.browse(page, "--dump-dom")
        self.assertIn("as planned", " ".join(console))

    def test_pages(self):
        for device in DEVICES:
            with self.subTest(device):
                _, result, _, _ = test_profile.profile(self, convolution(self.folder), device)
                text, console = self.browse(self.folder / "p.html", "--dump-dom")
                self.assertEqual(console, [])
                page = test_profile.Page(text)
                test_profile.compare_page(self, page, result)
                drawings = {"host"} | ({"timeline", "memory", "roofline"} if result["cycles"] else set())
                self.assertLessEqual(drawings, set(page.drawings))
                for name in drawings:
                    self.assertTrue(page.drawings[name], name)
                self.draw(device)
                for width in 500, 1300:
                    self.measure(width)

    def measure(self, width):
        """Checks that no element is wider than a narrow window, except those with a scroll bar of
        their own.
        """
        script = "<script>document.title=document.documentElement.scrollWidth+' of '+innerWidth</script></body>"
        (self.folder / "narrow.html").write_text((self.folder / "p.html").read_text().replace("</body>", script))
        text, _ = self.browse(self.folder / "narrow.html", "--dump-dom", f"--window-size={width},900")
        self.assertIn(f"<title>{width} of {width}</title>", text)

    def draw(self, device):
        """Draws the page, and checks that the picture is far larger than one of the page without
        its content.
        """
        sizes = []
        page = (self.folder / "p.html").read_text()
        (self.folder / "empty.html").write_text(page[:page.index("<body>")] + "<body></body></html>")
        for name in ("p", "empty"):
            picture = self.folder / f"{name}.png"
            _, console = self.browse(self.folder / f"{name}.html", f"--screenshot={picture}")
            self.assertEqual(console, [])
            sizes.append(picture.stat().st_size)
        self.assertGreater(sizes[0], 3 * sizes[1])
        if KEEP:
            shutil.copy(self.folder / "p.png", KEEP / f"{device}.png")


if __name__ == "__main__":
    if not BROWSER:
        print("there is no chromium-headless-shell or chromium: the page is not looked at")
        sys.exit(77)
    main()
