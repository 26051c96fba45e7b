# SPDX-License-Identifier: MIT
"""Tensors: memory of a context for inputs and outputs of graphs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._errors import MLInvalidStateError, MLTypeError
from ._types import as_data, as_memory, count, shape_tuple, storage, stored_shape, type_number

if TYPE_CHECKING:
    from ._context import MLContext


class _Tensor(_native.Tensor):
    """The members that host and device tensors share.

    A tensor is a buffer: np.asarray(tensor), memoryview(tensor) and DLPack show its own memory, and
    as long as they live it can be neither dispatched nor read nor written by other means.
    """

    __slots__ = ("_context", "_data_type", "_shape", "_flags", "_destroyed", "_lent", "__weakref__")
    _context: MLContext
    _data_type: str
    _shape: tuple[int, ...]
    _flags: tuple[bool, bool, bool]
    _destroyed: bool
    _lent: bool

    def __new__(cls, context: MLContext, data_type: str, shape: Any, flags: tuple[bool, bool, bool],
                *unused: Any, memory: Any = None) -> Any:
        sizes = shape_tuple(shape)
        self = super().__new__(cls, context._native, type_number(data_type), sizes, flags[0], flags[1], memory)
        self._lent = memory is not None
        self._context = context
        self._data_type = str(getattr(data_type, "name", data_type))
        self._shape = sizes
        self._flags = (bool(flags[0]), bool(flags[1]), bool(flags[2]))
        self._destroyed = False
        return self

    @property
    def data_type(self) -> str:
        """Name of the element type."""
        return self._data_type

    @property
    def shape(self) -> list[int]:
        """Sizes of the dimensions."""
        return list(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return count(self._shape)

    @property
    def readable(self) -> bool:
        """Whether read_tensor() and buffers may read the tensor."""
        return self._flags[0]

    @property
    def writable(self) -> bool:
        """Whether write_tensor() and buffers may write the tensor."""
        return self._flags[1]

    def destroy(self) -> None:
        """Frees the memory, after the work that was enqueued before."""
        if self._destroyed:
            raise MLInvalidStateError(f"{self._what} already destroyed")
        super().destroy()
        self._destroyed = True

    _what = "Tensor"

    def _usable(self) -> None:
        if self._destroyed:
            raise MLInvalidStateError(f"{self._what} has been destroyed")
        if self.mapped:
            raise MLInvalidStateError(f"{self._what} has its memory shown by a buffer or an array: "
                                      "it can be used again when that is gone")

    def _may_be_output(self) -> None:
        if self._lent and not self._flags[1]:
            raise MLTypeError(f"{self._what} lies in memory that may only be read: it can be no output")

    def _check(self, flag: int, needed: str) -> None:
        self._usable()
        if not self._flags[flag]:
            raise MLInvalidStateError(f"{self._what} is not {needed}: make it with {needed}=True")

    def _read(self, out: Any = None) -> Any:
        self._check(0, "readable")
        if out is None:
            out = np.empty(stored_shape(self._data_type, self._shape), storage(self._data_type))
        super().read_into(out)
        return out

    def _write(self, data: Any) -> None:
        self._check(1, "writable")
        super().write(as_data(data, self._data_type, self._shape, "tensor"))

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        if self._destroyed:
            raise MLInvalidStateError(f"{self._what} has been destroyed")
        if dl_device not in (None, (1, 0)) or copy:
            raise BufferError("a tensor is shared without a copy, in memory of the CPU: dl_device must be None or (1, 0), "
                              "and copy None or False")
        versioned = max_version is not None and max_version[0] >= 1
        if not versioned and not self._flags[1]:
            raise BufferError("the tensor is not writable, which only DLPack 1.0 can say: "
                              "the program asks for an older version")
        return super().dlpack(versioned)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class MLTensor(_Tensor):
    """A tensor that MLContext.create_tensor() makes."""

    __slots__ = ()

    @property
    def exportable_to_gpu(self) -> bool:
        """Whether the program requested it. It has no effect, because there is no GPU."""
        return self._flags[2]

    def lend(self, memory: Any) -> None:
        """Moves a tensor of MLContext.lend_tensor() to other memory of its type and shape.

        Work that was enqueued before uses the memory that the tensor had; lend() waits for it.
        """
        self._usable()
        if not self._lent:
            raise MLTypeError("the tensor has memory of its own: only tensors of MLContext.lend_tensor() can be moved")
        array, _, _ = as_memory(memory, self._data_type, self._shape)
        if self._flags[1] and not array.flags.writeable:
            raise MLTypeError("memory is read-only, but the tensor is writable: give memory that can be written")
        super().lend(array)

    def __repr__(self) -> str:
        return (f"MLTensor(shape={self.shape}, dtype={self.data_type}, readable={self.readable}, "
                f"writable={self.writable}, exportable_to_gpu={self.exportable_to_gpu})")


class MLDeviceTensor(_Tensor):
    """A tensor that MLContext.create_device_tensor() makes: it reads and writes itself."""

    __slots__ = ("_device",)
    _device: str
    _what = "Device tensor"

    def __new__(cls, context: MLContext, data_type: str, shape: Any, flags: tuple[bool, bool, bool],
                device: str) -> Any:
        self = super().__new__(cls, context, data_type, shape, flags)
        self._device = device
        return self

    @property
    def device(self) -> str:
        """The device type that was requested."""
        return self._device

    @property
    def backend(self) -> str:
        """Where the memory really is: "webnn-npu:" and the device of the context."""
        return f"webnn-npu:{self._context.device}"

    def read(self) -> Any:
        """Returns the elements as a NumPy array."""
        return self._read()

    def write(self, data: Any) -> None:
        """Writes the elements of an array or list to the tensor."""
        self._write(data)

    def __repr__(self) -> str:
        return (f"MLDeviceTensor(shape={self.shape}, dtype={self.data_type}, device={self.device}, "
                f"backend={self.backend})")
