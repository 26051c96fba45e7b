#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the file that npm installs of the package's folder: pack.py --strip STRIP FOLDER FILE.tgz

It has the files that package.json names, as npm pack does; the addon has no debugging information.
"""
import argparse
import io
import json
import pathlib
import shutil
import subprocess
import tarfile
import tempfile


def contents(folder):
    """Returns the files of the package."""
    names = json.loads((folder / "package.json").read_text(encoding="utf-8"))["files"]
    found = [folder / "package.json"]
    for name in names:
        found += sorted(folder.glob(name))
    return found


def stripped(path, strip):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / path.name
        shutil.copy(path, copy)
        subprocess.run([strip, "--strip-unneeded", copy], check=True)
        return copy.read_bytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strip", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    with tarfile.open(options.file, "w:gz") as archive:
        for path in contents(options.folder):
            data = stripped(path, options.strip) if path.suffix == ".node" else path.read_bytes()
            info = tarfile.TarInfo(f"package/{path.relative_to(options.folder)}")
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main()
