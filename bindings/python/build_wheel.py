# SPDX-License-Identifier: MIT
"""Makes a wheel of this folder: the build back end that pyproject.toml names, by PEP 517.

It compiles the module with the C compiler of the system, against the libwebnn-npu that pkg-config
finds. The module has the stable ABI: the wheel serves CPython 3.11 and newer.
"""
import base64
import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
LIMITED = "0x030b0000"


def run(command):
    print(" ".join(map(str, command)))
    subprocess.run(command, check=True)


def package_config(*arguments):
    tool = os.environ.get("PKG_CONFIG", "pkg-config")
    try:
        result = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(f"webnn-npu: {tool} is not installed: it tells where libwebnn-npu is")
    return result.stdout.strip() if result.returncode == 0 else None


def project_version():
    """Returns the version of the library, which is that of the package."""
    text = (TREE / "userspace/webnn.json").read_text(encoding="utf-8")
    return ".".join(re.search(r'"version": \[\s*(\d+),\s*(\d+),\s*(\d+)\s*\]', text).groups())


def metadata():
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    return (f"Metadata-Version: 2.1\nName: webnn-npu\nVersion: {project_version()}\n"
            "Summary: The Web Neural Network API on the Open NPU and on the CPU\nLicense: MIT\n"
            "Requires-Python: >=3.11\nRequires-Dist: numpy\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def tag():
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"cp311-abi3-{platform}"


def wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: webnn-npu\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def compile_module(folder):
    """Makes the generated files and the module in the folder."""
    if not (TREE / "userspace/webnn.json").exists():
        sys.exit("webnn-npu: the package is built in its checkout, which has userspace/webnn.json")
    libraries = ["webnn-npu"] + (["webnn-onnx"] if package_config("--exists", "webnn-onnx") is not None else [])
    flags = package_config("--cflags", "--libs", *libraries)
    if flags is None:
        sys.exit("webnn-npu: pkg-config does not find webnn-npu: install libwebnn-npu-dev, "
                 "or name its folder in PKG_CONFIG_PATH")
    run([sys.executable, "-B", HERE / "generate.py", TREE / "userspace/webnn.json", folder])
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").exists():
        sys.exit(f"webnn-npu: {include} has no Python.h: install libpython3-dev")
    onnx = ["-DWITH_ONNX"] if "webnn-onnx" in libraries else []
    flags = shlex.split(flags)
    # The module finds a library outside of the system's folders by its run path.
    flags += [f"-Wl,-rpath,{flag[2:]}" for flag in flags if flag.startswith("-L")]
    run([*compiler, "-shared", "-fPIC", "-O2", "-g0", "-std=gnu11", "-fvisibility=hidden", "-D_GNU_SOURCE",
         f"-DPy_LIMITED_API={LIMITED}", *onnx, *shlex.split(os.environ.get("CFLAGS", "")), f"-I{folder}",
         f"-I{include}", *sorted(map(str, (HERE / "src").glob("*.c"))), "-o", folder / "_native.abi3.so",
         "-Wl,-z,nodelete", *shlex.split(os.environ.get("LDFLAGS", "")), *flags])


def files(folder):
    """Yields the name in the wheel and the bytes of each file."""
    for path in sorted((HERE / "webnn_npu").rglob("*")):
        if path.suffix in (".py", ".pyi", ".typed") and "__pycache__" not in path.parts:
            yield str(path.relative_to(HERE)), path.read_bytes()
    for name in ("_operators.py", "_operators.pyi", "_native.abi3.so"):
        yield f"webnn_npu/{name}", (folder / name).read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    information = f"webnn_npu-{project_version()}.dist-info"
    name = f"webnn_npu-{project_version()}-{tag()}.whl"
    with tempfile.TemporaryDirectory() as temporary, \
            zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        folder = Path(temporary)
        compile_module(folder)
        entries = dict(files(folder))
        entries[f"{information}/METADATA"] = metadata().encode()
        entries[f"{information}/WHEEL"] = wheel_text().encode()
        record = ""
        for path, data in entries.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            # ZipInfo has a fixed date, so that equal sources make equal bytes.
            wheel.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
        wheel.writestr(zipfile.ZipInfo(f"{information}/RECORD"), record + f"{information}/RECORD,,\n")
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory) / f"webnn_npu-{project_version()}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(metadata(), encoding="utf-8")
    (folder / "WHEEL").write_text(wheel_text(), encoding="utf-8")
    return folder.name


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("webnn-npu: there is no source archive: pip install ./bindings/python, in a checkout, makes a wheel")
