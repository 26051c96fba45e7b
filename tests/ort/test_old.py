#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that ONNX Runtime 1.22, whose registration passes other arguments, refuses the provider with a
message: test_old.py PROVIDER SAMPLES

The Python module of ONNX Runtime 1.22 has no call that registers a provider, so the test calls the C
interface.
"""
import ctypes
import os
import pathlib
import sys

CREATE_ENV, GET_ERROR_MESSAGE, REGISTER = 3, 2, 301  # places in the C interface's table
VERSION = 22
POINTER = ctypes.c_void_p


def main():
    provider, samples = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    libraries = list(samples.glob(f"python/onnxruntime-1.{VERSION}.*/onnxruntime/capi/libonnxruntime.so.*"))
    if not libraries:
        print(f"skipped: there is no ONNX Runtime 1.{VERSION} in {samples}; ./npu check fetches it where PyPI is reached")
        return 77
    library = ctypes.CDLL(str(libraries[0]))
    library.OrtGetApiBase.restype = ctypes.POINTER(POINTER)
    table = ctypes.CFUNCTYPE(POINTER, ctypes.c_uint32)(library.OrtGetApiBase()[0])(VERSION)
    table = ctypes.cast(table, ctypes.POINTER(POINTER))
    env = POINTER()
    create = ctypes.CFUNCTYPE(POINTER, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(POINTER))(table[CREATE_ENV])
    assert not create(3, b"test", ctypes.byref(env))
    register = ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.c_char_p, ctypes.c_char_p)(table[REGISTER])
    status = register(env, b"onpu", provider.encode())
    assert status, "the provider is registered"
    message = ctypes.CFUNCTYPE(ctypes.c_char_p, POINTER)(table[GET_ERROR_MESSAGE])(status).decode()
    print(message)
    assert "1.23 is the oldest that works" in message
    return 0


if __name__ == "__main__":
    sys.exit(main())
