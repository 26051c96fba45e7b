#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the version of all that is released, MAJOR.MINOR.PATCH. userspace/webnn.json is the only
file that has it.
"""
import json
import pathlib

API = pathlib.Path(__file__).resolve().parents[1] / "userspace/webnn.json"

print(".".join(map(str, json.loads(API.read_text(encoding="utf-8"))["version"])))
