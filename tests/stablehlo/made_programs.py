# SPDX-License-Identifier: MIT
"""Runs programs that a test has made, for test_integers.py and test_large.py."""
import json
import pathlib
import subprocess
import tempfile


def expect_passed(case, program, device, modules):
    """All pass; on a device none of them has an operator on the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "modules.mlir", pathlib.Path(folder) / "result.json"
        path.write_text("\n// -----\n".join(modules), encoding="utf-8")
        done = subprocess.run([program, "--device", device, "--json", str(out), str(path)], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        result = json.loads(out.read_text(encoding="utf-8"))
    case.assertEqual((result["passed"], result["total"]), (len(modules), len(modules)), done.stdout)
    case.assertEqual(result["no_cpu_operator"], 0 if device == "cpu" else len(modules), done.stdout)
