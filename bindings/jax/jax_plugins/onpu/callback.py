# SPDX-License-Identifier: MIT
"""Calls from programs into Python: pure_callback, io_callback, debug.callback and debug.print.

A program names a function by its number, and the plugin calls one function of this module, which has the table of them.
"""
from __future__ import annotations

import ctypes
import itertools
import secrets
import threading
import weakref
from typing import Any

import jax
import numpy

_CALL = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                         ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p))
# Programs of other processes, which may be serialised and loaded here, have other numbers.
_numbers = itertools.count(secrets.randbits(62))
_functions: weakref.WeakValueDictionary[int, "_Function"] = weakref.WeakValueDictionary()
# The last message of each thread, by its number. The plugin reads the message after the call, when Python has forgotten
# what is local to a thread of the plugin.
_messages: dict[int, Any] = {}


class _Function:
    """A function of Python, with the types of its arguments and results. Programs that call it keep it."""

    def __init__(self, function: Any, ins: Any, outs: Any) -> None:
        self.function, self.ins, self.outs = function, ins, outs

    def call(self, ins: Any, outs: Any) -> None:
        """Calls the function with arrays at addresses, and puts what it returns to others."""
        results = self.function(*(_array(address, kind).copy() for address, kind in zip(ins, self.ins)))
        if len(results) != len(self.outs):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(self.outs)}, "
                               f"Actual: {len(results)}")
        for i, (address, kind, result) in enumerate(zip(outs, self.outs, results)):
            result = numpy.asarray(result)
            if result.shape != kind.shape:
                raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {kind.shape}, "
                                   f"Actual: {result.shape}")
            # Python's own numbers have 64 bits.
            if jax.dtypes.canonicalize_dtype(result.dtype) != kind.dtype:
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {kind.dtype}, "
                                   f"Actual: {result.dtype}")
            _array(address, kind)[...] = result


def _array(address: int | None, kind: Any) -> Any:
    size = numpy.dtype(kind.dtype).itemsize * int(numpy.prod(kind.shape, dtype=numpy.int64))
    if not size:
        return numpy.empty(kind.shape, kind.dtype)
    return numpy.frombuffer((ctypes.c_char * size).from_address(address or 0), kind.dtype).reshape(kind.shape)


@_CALL
def _call(number: int, in_count: int, ins: Any, out_count: int, outs: Any) -> int | None:
    try:
        function = _functions.get(number)
        if function is None:
            raise RuntimeError("the function belongs to another process, or is no longer there; compile the program again")
        function.call(ins[:in_count], outs[:out_count])
        return None
    except BaseException as error:  # pylint: disable=broad-exception-caught
        text = f"{type(error).__name__}: {error}"
        message = _messages[threading.get_ident()] = ctypes.create_string_buffer(text.encode(errors="replace"))
        return ctypes.addressof(message)


def register(platform: str, library: str) -> None:
    """Has JAX call into Python from programs on the platform, whose plugin is the library."""
    # pylint: disable=import-outside-toplevel
    from jax._src import callback, debugging, sharding_impls
    from jax._src.interpreters import mlir

    others = callback.emit_python_callback

    def emit(ctx: Any, function: Any, token: Any, operands: Any, operand_avals: Any, result_avals: Any, *,
             has_side_effect: bool, **options: Any) -> Any:
        if list(ctx.module_context.platforms) != [platform]:
            return others(ctx, function, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                          **options)
        made = _Function(function, list(operand_avals), list(result_avals))
        number = next(_numbers)
        _functions[number] = made
        types = [mlir.ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(numpy.dtype(aval.dtype)))
                 for aval in result_avals]
        # Outside of shard_map, all devices compute with one array. The function is called once for all of them, because
        # a second call may return another array.
        once = isinstance(ctx.module_context.axis_context, sharding_impls.ShardingContext)
        results = mlir.custom_call("onpu.callback", operands=list(operands), has_side_effect=has_side_effect,
                                   result_types=types, backend_config=f"{number} once" if once else str(number)).results
        ctx.module_context.add_keepalive(made)
        # Operations run in their order, as the token demands.
        return list(results), token, made

    plugin = ctypes.CDLL(library)
    plugin.onpu_set_callback.argtypes, plugin.onpu_set_callback.restype = [_CALL], None
    plugin.onpu_set_callback(_call)
    callback.emit_python_callback = emit
    for primitive, rule in ((debugging.debug_callback_p, debugging.debug_callback_lowering),
                            (debugging.debug_print_p, debugging.debug_print_lowering_rule)):
        mlir.register_lowering(primitive, rule, platform=platform, cacheable=False)
