# SPDX-License-Identifier: MIT
"""Data types, and conversions of arrays to the bytes that the library takes.

WebNN has no bfloat16: such arrays become float32, which holds each of their values. Two elements of
int4 and uint4 share a byte, the first in its low bits.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import MLTypeError
from ._operators import ENUMS

TYPES = ENUMS["OperandDataType"]
NAMES = {number: name for name, number in TYPES.items()}
PACKED = ("int4", "uint4")


def type_number(name: Any, what: str = "data_type") -> int:
    """Returns the library's number of a data type, which may also be given as a NumPy dtype."""
    text = name if isinstance(name, str) else getattr(name, "name", None)
    if text is None and isinstance(name, type):
        text = np.dtype(name).name
    if text not in TYPES:
        raise MLTypeError(f"Unsupported data type: {what} is {name!r}, and may be one of {', '.join(TYPES)}")
    return TYPES[text]


def storage(name: str) -> np.dtype[Any]:
    """Returns the NumPy dtype that holds elements of a WebNN type."""
    return np.dtype("uint8" if name in PACKED else name)


def shape_tuple(shape: Any, what: str = "shape") -> tuple[int, ...]:
    """Returns sizes of dimensions as a tuple of int, each within 32 bits."""
    try:
        sizes = tuple(size.__index__() for size in shape)
    except (TypeError, AttributeError):
        raise MLTypeError(f"{what} is {shape!r}, and must be a list of int") from None
    for size in sizes:
        if not 0 <= size < 2 ** 32:
            raise MLTypeError(f"{what} is {list(sizes)}: {size} is not from 0 to {2 ** 32 - 1}")
    return sizes


def count(shape: Iterable[int]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result


def stored_shape(name: str, shape: Iterable[int]) -> tuple[int, ...]:
    """Returns the shape of the array that holds a tensor: for 4-bit types an array of bytes, with two elements each."""
    return ((count(shape) + 1) // 2,) if name in PACKED else tuple(shape)


def pack(values: npt.ArrayLike, data_type: str = "int4") -> npt.NDArray[np.uint8]:
    """Packs elements of int4 or uint4 into bytes, two in each."""
    least, greatest = (-8, 7) if data_type == "int4" else (0, 15)
    flat: npt.NDArray[Any] = np.asarray(values).ravel()
    if flat.size and (flat.min() < least or flat.max() > greatest):
        raise MLTypeError(f"{data_type} holds numbers from {least} to {greatest}, "
                          f"and the data has {flat.min()} to {flat.max()}")
    flat = np.append(flat.astype(np.int16), np.zeros(flat.size % 2, np.int16)) & 15
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8)


def unpack(data: npt.ArrayLike, shape: Iterable[int], data_type: str = "int4") -> npt.NDArray[Any]:
    """Unpacks elements of int4 or uint4 to an array of int8 or uint8."""
    sizes = tuple(shape)
    packed = np.frombuffer(np.ascontiguousarray(data), np.uint8)
    values = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count(sizes)]
    if data_type == "int4":
        return ((values ^ 8).astype(np.int8) - np.int8(8)).reshape(sizes)
    return values.reshape(sizes)


def as_array(value: Any) -> Any:
    """Returns a NumPy array over the memory of any kind of array; bfloat16 becomes float32."""
    if not isinstance(value, np.ndarray):
        # DLPack tells the device of an array; sparse and lazy arrays have NumPy's protocol.
        if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
            foreign = _native.Foreign(dlpack_capsule(value))
            value = np.asarray(memoryview(foreign))
            if foreign.bfloat16:
                return (value.astype(np.uint32) << 16).view(np.float32)
        else:
            value = np.asarray(value)
    if value.dtype.name == "bfloat16":
        return value.astype(np.float32)
    if value.dtype.name in PACKED:
        return value.astype(np.int8 if value.dtype.name == "int4" else np.uint8)
    return value


def as_memory(value: Any, name: str | None, shape: Iterable[int] | None) -> tuple[Any, str, tuple[int, ...]]:
    """Returns an array over memory for a tensor, with the tensor's type and shape, without a copy."""
    array = value
    if not isinstance(value, np.ndarray):
        if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
            value = _native.Foreign(dlpack_capsule(value))
            if value.bfloat16:
                raise MLTypeError("memory has elements of bfloat16, which no tensor can have without a copy")
        try:
            array = np.asarray(memoryview(value))
        except TypeError:
            raise MLTypeError(f"memory is {type(value).__name__}, and must be a buffer or an array") from None
    name = array.dtype.name if name is None else NAMES[type_number(name)]
    sizes = None if shape is None else shape_tuple(shape)
    if sizes is not None and array.dtype == np.uint8 and array.ndim == 1 and array.flags.c_contiguous:
        if name in TYPES and array.nbytes == count(stored_shape(name, sizes)) * storage(name).itemsize:
            # Bytes may hold elements of any type.
            array = array.view(storage(name)).reshape(stored_shape(name, sizes))
    if name not in TYPES or array.dtype != storage(name):
        raise MLTypeError(f"memory has elements of {array.dtype}, which a tensor of {name} cannot have without a copy")
    if sizes is None:
        sizes = array.shape
    if array.shape != stored_shape(name, sizes):
        raise MLTypeError(f"Shape mismatch: the tensor takes an array of shape {list(stored_shape(name, sizes))}, "
                          f"and memory has {list(array.shape)}")
    if not array.flags.c_contiguous:
        raise MLTypeError("memory has gaps or another order of elements: a tensor needs them in row-major order")
    return array, name, sizes


def dlpack_capsule(value: Any) -> Any:
    detach = getattr(value, "detach", None)
    if detach is not None:
        value = detach()
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return value.__dlpack__()


def convert(array: npt.NDArray[Any], name: str, what: str) -> npt.NDArray[Any]:
    """Returns the array converted to a type; refuses conversions that change a value by more than rounding."""
    wanted = np.dtype("int8" if name == "int4" else "uint8" if name == "uint4" else name)
    if array.dtype == wanted or array.dtype.kind == "b":
        return array.astype(wanted, copy=False)
    if array.dtype.kind not in "iuf":
        raise MLTypeError(f"{what} has elements of {array.dtype}, which are no numbers")
    if wanted.kind == "f":
        return array.astype(wanted)
    with np.errstate(invalid="ignore"):
        result = array.astype(wanted)
        same = result.astype(array.dtype) == array
    if not np.all(same & ((result < 0) == (array < 0))):
        raise MLTypeError(f"{what} has elements of {array.dtype} that {name} cannot hold")
    return result


def as_data(value: Any, name: str, shape: tuple[int, ...], what: str) -> npt.NDArray[Any]:
    """Returns the bytes of a tensor of this type and shape in row-major order, copied only if necessary."""
    array = as_array(value)
    if name in PACKED and array.shape != shape:
        if array.dtype == np.uint8 and array.shape == stored_shape(name, shape):
            return np.ascontiguousarray(array)
    if array.shape != shape:
        raise MLTypeError(f"Shape mismatch: {what} has shape {list(shape)}, and the data {list(array.shape)}")
    array = convert(array, name, what)
    if name in PACKED:
        return pack(array, name)
    return np.asarray(array, order="C")
