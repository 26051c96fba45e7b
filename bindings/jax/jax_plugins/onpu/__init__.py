# SPDX-License-Identifier: MIT
"""Makes an installed JAX use the NPU: JAX finds this module in the package jax_plugins, and calls
initialize().

    JAX_PLATFORMS=onpu python3 program.py

The environment variable WEBNN_DEVICE names the device: npu, npu:1 (one of several), sim or cpu.
ONPU_PJRT_COUNT says how many devices JAX has, 1 to 8. ONPU_PJRT_CACHE_DIR names a folder in which compiled programs stay
for later processes.
"""
from __future__ import annotations

import logging
import os
import sysconfig
from pathlib import Path

LIBRARY = "libpjrt_onpu.so"
PLATFORM = "onpu"
# JAX takes the platform with the highest number: its own CPU has 0, plugins have 400.
PREFERRED, ON_DEMAND = 400, -100


def find_library() -> str:
    """Returns the path of the plugin: ONPU_PJRT_PLUGIN, or that in the folder of installed libraries."""
    given = os.environ.get("ONPU_PJRT_PLUGIN")
    if given:
        if not Path(given).exists():
            raise FileNotFoundError(f"there is no plugin {given}, which ONPU_PJRT_PLUGIN names")
        return str(Path(given).resolve())
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in ("/usr/local/lib/" + multiarch, "/usr/local/lib", "/usr/lib/" + multiarch, "/usr/lib64", "/usr/lib"):
        path = Path(folder) / "webnn-npu" / LIBRARY
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"{LIBRARY} is not installed: install it, or name it in ONPU_PJRT_PLUGIN")


def has_npu() -> bool:
    """Returns whether the machine has an NPU with its driver that this process may open."""
    drivers = Path("/sys/class/accel").glob("accel*/device/driver")
    return any(driver.resolve().name == "onpu" and os.access(Path("/dev/accel") / driver.parts[-3], os.R_OK | os.W_OK)
               for driver in drivers)


def initialize() -> None:
    """Registers the platform onpu with JAX.

    Where there is no NPU and WEBNN_DEVICE is not set, programs that do not ask for onpu stay on JAX's own CPU. When the
    library does not load, one line of the log says why, and only programs that ask for onpu fail.
    """
    from jax._src import xla_bridge  # pylint: disable=import-outside-toplevel

    wanted = has_npu() or bool(os.environ.get("WEBNN_DEVICE"))
    try:
        xla_bridge.register_plugin(PLATFORM, priority=PREFERRED if wanted else ON_DEMAND, library_path=find_library())
    except (OSError, RuntimeError) as error:
        reason = str(error)

        def refuse() -> None:
            raise RuntimeError(reason)

        logging.getLogger(__name__).warning("JAX cannot use the platform onpu: %s", reason)
        xla_bridge.register_backend_factory(PLATFORM, refuse, priority=ON_DEMAND, fail_quietly=True)
        return
    # JAX opens each platform, also for programs that do not use it: these go on when onpu cannot be opened.
    # A program that asks for onpu by JAX_PLATFORMS still fails, with the reason.
    registration = getattr(xla_bridge, "_backend_factories", {}).get(PLATFORM)
    if registration is not None:
        registration.fail_quietly = True
        # JAX's warning that a platform is experimental is not for programs that stay on its CPU.
        registration.experimental = wanted
    try:
        from jax._src.interpreters import mlir  # pylint: disable=import-outside-toplevel

        # JAX marks donated arguments for the platforms of this list only.
        if PLATFORM not in mlir._platforms_with_donation:  # pylint: disable=protected-access
            mlir._platforms_with_donation.append(PLATFORM)  # pylint: disable=protected-access
    except (ImportError, AttributeError) as error:
        logging.getLogger(__name__).warning("onpu keeps donated arrays in this release of JAX: %s", error)
    try:
        from . import linalg  # pylint: disable=import-outside-toplevel

        linalg.register(PLATFORM)
    except (ImportError, AttributeError, TypeError, NotImplementedError) as error:
        # The rules use names of JAX that a later release may not have; all else works without them.
        logging.getLogger(__name__).warning("onpu has no rules for QR in this release of JAX: %s", error)
    try:
        from . import callback  # pylint: disable=import-outside-toplevel

        callback.register(PLATFORM, find_library())
    except (ImportError, AttributeError, OSError, TypeError, NotImplementedError) as error:
        logging.getLogger(__name__).warning("onpu cannot call into Python in this release of JAX: %s", error)
    try:
        from . import dlpack  # pylint: disable=import-outside-toplevel

        dlpack.register(PLATFORM)
    except (ImportError, AttributeError, TypeError) as error:
        logging.getLogger(__name__).warning("onpu gives no arrays by DLPack in this release of JAX: %s", error)
