# SPDX-License-Identifier: MIT
"""Makes an installed ONNX Runtime use the NPU, through this project's execution provider.

    import onnxruntime
    import webnn_npu.onnxruntime

    options = onnxruntime.SessionOptions()
    webnn_npu.onnxruntime.add(options, device="sim")
    session = onnxruntime.InferenceSession("model.onnx", options)
"""
from __future__ import annotations

import importlib
import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ._errors import MLNotSupportedError

LIBRARY = "libonnxruntime_providers_onpu.so"
PROVIDER = "OnpuExecutionProvider"
# The first version that loads providers from a library, and the first with virtual devices.
FIRST, VIRTUAL = (1, 23), (1, 24)

_registered: dict[str, str] = {}


def find_library(library: str | os.PathLike[str] | None = None) -> str:
    """Returns the path of the provider: the argument, ONPU_ORT_PROVIDER, or the folder of installed libraries."""
    given = library if library is not None else os.environ.get("ONPU_ORT_PROVIDER")
    if given:
        if not Path(given).exists():
            raise FileNotFoundError(f"there is no provider {os.fspath(given)}")
        return str(Path(given).resolve())
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/usr/local/lib/" + multiarch, "/usr/local/lib",
               "/usr/lib/" + multiarch, "/usr/lib64", "/usr/lib"]
    for folder in filter(None, folders):
        # It is installed in a folder of its own, as programs do not link with it.
        for path in Path(folder, LIBRARY), Path(folder, "webnn-npu", LIBRARY):
            if path.exists():
                return str(path.resolve())
    raise FileNotFoundError(f"{LIBRARY} is not installed: install the package onpu-onnxruntime, or name the file in "
                            "ONPU_ORT_PROVIDER")


def register(onnxruntime: ModuleType | None = None, name: str | None = None,
             library: str | os.PathLike[str] | None = None) -> str:
    """Registers the provider in ONNX Runtime; returns its name. Further calls only return the name.

    A name that ends in .virtual gives the model of the device and the CPU as devices of their own,
    from ONNX Runtime 1.24 on: that is the default there.
    """
    ort = onnxruntime if onnxruntime is not None else _import()
    version = tuple(int(part) for part in ort.__version__.split(".")[:2])
    if version < FIRST or not hasattr(ort, "register_execution_provider_library"):
        raise MLNotSupportedError(f"ONNX Runtime {ort.__version__} takes no providers from libraries: "
                                  f"it needs {FIRST[0]}.{FIRST[1]} or newer")
    if name is None:
        name = f"{PROVIDER}.virtual" if version >= VIRTUAL else PROVIDER
    if name not in _registered:
        path = find_library(library)
        ort.register_execution_provider_library(name, path)
        _registered[name] = path
    return name


def unregister(name: str, onnxruntime: ModuleType | None = None) -> None:
    """Unregisters the provider; no session may use it any more."""
    ort = onnxruntime if onnxruntime is not None else _import()
    if name not in _registered:
        raise ValueError(f"no provider is registered as {name!r}")
    ort.unregister_execution_provider_library(name)
    del _registered[name]


def devices(onnxruntime: ModuleType | None = None) -> list[Any]:
    """Returns the devices of the provider in ONNX Runtime; registers the provider if necessary."""
    ort = onnxruntime if onnxruntime is not None else _import()
    register(ort)
    return [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]


def add(options: Any, device: str = "npu", provider_options: Mapping[str, str] | None = None,
        onnxruntime: ModuleType | None = None) -> Any:
    """Makes sessions with these options use the provider on a device: npu, npu:1, sim or cpu. Returns the options.

    ONNX Runtime does not tell providers intra_op_num_threads. Where it is set before this call, the provider's own
    option threads gets its number.
    """
    ort = onnxruntime if onnxruntime is not None else _import()
    found = devices(ort)
    # The CPU's device has no device name; NPUs and virtual devices have one.
    names = [item.ep_metadata.get("device", "") for item in found]
    # ONNX Runtime calls each NPU npu; the option device tells the provider which one to open.
    kind = device.partition(":")[0]
    named = [item for item, name in zip(found, names) if name == kind] or \
        [item for item, name in zip(found, names) if not name]
    if not named:
        raise MLNotSupportedError(f"ONNX Runtime {ort.__version__} has no device {device!r} of {PROVIDER}; "
                                  f"it has {', '.join(filter(None, names)) or 'none'}")
    settings = {"device": device}
    if options.intra_op_num_threads:
        settings["threads"] = options.intra_op_num_threads
    settings.update(provider_options or {})
    options.add_provider_for_devices(named[:1], {key: str(value) for key, value in settings.items()})
    return options


def _import() -> ModuleType:
    try:
        ort = importlib.import_module("onnxruntime")
    except ImportError as error:
        if getattr(error, "name", None) != "onnxruntime" or not isinstance(error, ModuleNotFoundError):
            raise MLNotSupportedError(f"onnxruntime is installed but does not load: {error}") from error
        raise MLNotSupportedError("onnxruntime is not installed: pip install onnxruntime, in an environment "
                                  "of python3 -m venv") from None
    return ort
