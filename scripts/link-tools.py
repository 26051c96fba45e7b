#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Links the programs of a meson build into one folder: link-tools.py BUILD FOLDER.

Programs of tests/ are left out. Links whose program is gone are removed.
"""

import json
import os
import subprocess
import sys


def programs(build, source):
    out = subprocess.run(["meson", "introspect", "--targets", build],
                         check=True, stdout=subprocess.PIPE).stdout
    for target in json.loads(out):
        folder = os.path.relpath(os.path.dirname(target["defined_in"]), source)
        if target["type"] == "executable" and folder.split(os.sep)[0] != "tests":
            yield target["filename"][0]


def main():
    build, folder = (os.path.abspath(arg) for arg in sys.argv[1:3])
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.makedirs(folder, exist_ok=True)
    wanted = {os.path.basename(path): path for path in programs(build, source)}
    for name in os.listdir(folder):
        link = os.path.join(folder, name)
        if os.path.islink(link) and wanted.get(name) != os.readlink(link):
            os.unlink(link)
    for name, path in wanted.items():
        link = os.path.join(folder, name)
        if not os.path.lexists(link):
            os.symlink(path, link)


if __name__ == "__main__":
    main()
