#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# guest: --memory=3072
"""Runs wnn-conformance on the NPU, through the driver, as TAP.

The tests run the cases of this project, and every fourth case of each shared file: these are at
least 500 cases, with each operator among them.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
OWN = TOP / 'tests/library/conformance/data/passing'
SHARED = TOP.parent / 'shared/conformance'
EVERY, ENOUGH = 4, 500


def run(*arguments):
    """Returns the exit status of wnn-conformance and its report."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'report.json'
        command = [TOP / 'build/bin/wnn-conformance', '--device', 'npu', '--json', path, *arguments]
        # Standard output is for TAP, so the program's output goes to standard error.
        status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        return status, json.loads(path.read_text(encoding='utf-8'))


def own_cases():
    status, _ = run(OWN)
    return status == 0, ''


def shared_cases():
    if not SHARED.exists():
        return True, f' # SKIP there is no {SHARED.relative_to(TOP.parent)} beside the checkout'
    values = [SHARED / name for name in ('baseline', 'handwritten', 'wpt')]
    status, report = run('--every', str(EVERY), *values)
    api = json.loads((TOP / 'userspace/webnn.json').read_text(encoding='utf-8'))
    wanted = {method['name'] for item in api['operators'] for method in item['methods']}
    ran = {file.get('operator') for file in report['files'] if file['passed']}
    print(f'# {report["passed"]} passed, {report["failed"]} failed, {report["skipped"]} skipped')
    if not wanted <= ran:
        print('# no case of', ', '.join(sorted(wanted - ran)))
    return (status == 0 and not report['skipped'] and report['passed'] >= ENOUGH
            and wanted <= ran), ''


def main():
    tests = {'cases of our own': own_cases, 'the shared cases': shared_cases}
    good = True
    print(f'1..{len(tests)}')
    for number, (name, test) in enumerate(tests.items(), 1):
        passed, directive = test()
        good = good and passed
        print(f'{"ok" if passed else "not ok"} {number} - {name}{directive}', flush=True)
    return 0 if good else 1


if __name__ == '__main__':
    raise SystemExit(main())
