#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the version of all that is released, MAJOR.MINOR.PATCH: it stands in userspace/webnn.json alone."""
import json
import pathlib

API = pathlib.Path(__file__).resolve().parents[1] / "userspace/webnn.json"

print(".".join(map(str, json.loads(API.read_text(encoding="utf-8"))["version"])))
