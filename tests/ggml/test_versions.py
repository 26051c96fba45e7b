#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests which versions of ggml the back end takes: test_versions.py LIBRARY FAKE FAKE_WITHOUT FAKE_SECOND

FAKE is a program with a ggml of any version, FAKE_WITHOUT the same without one of the functions, FAKE_SECOND is FAKE
as a library.
"""
import os
import subprocess
import sys

LIBRARY, FAKE, WITHOUT, SECOND = sys.argv[1:]
TAKEN = "score 1\nONPU, interface 2, 1 device\n"
REFUSED = "score 0\nrefused\n"


def run(program, version, device, *second):
    environment = {**os.environ, "FAKE_VERSION": version, "WEBNN_DEVICE": device}
    done = subprocess.run([program, LIBRARY, *second], env=environment, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def check(what, got, output, words=None):
    if got[0] != output or (words and words not in got[1]):
        sys.exit(f"{what}: {got}")


def main():
    for version in "0.10.0", "0.15.3", "0.21.0", "0.25.1", "0.21.0-dirty":
        check(version, run(FAKE, version, "cpu"), TAKEN)
    for version in "0.9.11", "0.21.1", "0.25.0", "0.26.0", "1.10.0", "", "master":
        check(version, run(FAKE, version, "cpu"), REFUSED, f"onpu: ggml {version} is not used, as it may have other structures")
    check("the list of versions", run(FAKE, "master", "cpu"), REFUSED, "known versions: 0.10.0 to 0.21.0; 0.25.1\n")
    check("a function that is missing", run(WITHOUT, "0.25.1", "cpu"), REFUSED,
          "onpu: ggml has no function ggml_backend_buft_is_host")
    check("a device that does not open", run(FAKE, "0.25.1", "npu:63"), REFUSED, "onpu: the device does not open")
    check("a second ggml", run(FAKE, "0.25.1", "cpu", SECOND), TAKEN + REFUSED,
          "onpu: the process has loaded a second ggml: use it in another process")
    if not os.path.exists("/dev/accel"):
        check("no device", run(FAKE, "0.25.1", ""), REFUSED, "onpu: no NPU opens: ")
    print("ok: versions and devices are taken and refused as they should be")


if __name__ == "__main__":
    main()
