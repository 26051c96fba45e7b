# SPDX-License-Identifier: MIT
"""Gives arrays of the platform to other libraries by DLPack, such as NumPy and PyTorch.

JAX exports arrays of its own platforms only. Elements of ours are copied to memory of the host, so that those libraries may
write to them.
"""
from __future__ import annotations

from typing import Any

import jax
import numpy

_CPU = 1  # DLPack's number of memory of the host


def register(platform: str) -> None:
    """Has JAX export arrays of the platform."""
    from jax._src import array  # pylint: disable=import-outside-toplevel

    others, device_of_others = array.ArrayImpl.__dlpack__, array.ArrayImpl.__dlpack_device__

    def is_ours(self: Any) -> bool:
        return self.platform() == platform and len(self.sharding.device_set) == 1

    def export(self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        if not is_ours(self):
            return others(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device is not None and tuple(dl_device) != (_CPU, 0):
            raise BufferError(f"an array of {platform} becomes memory of the host, DLPack's device (1, 0), and not of the "
                              f"device {tuple(dl_device)}")
        if copy is False:
            raise BufferError(f"an array of {platform} is copied to memory of the host: give copy=None or copy=True")
        if self.dtype == jax.numpy.bfloat16:
            # NumPy does not export this type. JAX's CPU does, when the program may use it.
            return jax.device_put(self, jax.devices("cpu")[0]).__dlpack__()
        # NumPy before 2.1 does not know the argument.
        return numpy.array(self).__dlpack__(**({} if max_version is None else {"max_version": max_version}))

    def device(self: Any) -> Any:
        return (_CPU, 0) if is_ours(self) else device_of_others(self)

    array.ArrayImpl.__dlpack__, array.ArrayImpl.__dlpack_device__ = export, device
