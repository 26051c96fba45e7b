# SPDX-License-Identifier: MIT
"""Exceptions: one class for each status of the library, all of them MLError."""
from __future__ import annotations

import re


class MLError(Exception):
    """The library refuses a call, or fails.

    operator  name of the operator in WebNN, such as conv2d; "" where none is concerned
    label     label that the program gave the operator; "" without one
    reason    the sentence without both
    status    name of the status in WebNN, such as TypeError
    """

    status = "UnknownError"

    def __init__(self, message: str, operator: str = "", label: str = "") -> None:
        super().__init__(message)
        self.operator = operator
        self.label = label
        self.reason = _reason(message, operator)


class MLTypeError(MLError, ValueError, TypeError):
    """An argument is wrong."""

    status = "TypeError"


class MLInvalidStateError(MLError, RuntimeError):
    """The object's state does not allow the call: it is destroyed, lost or in use."""

    status = "InvalidStateError"


class MLNotSupportedError(MLError, NotImplementedError):
    """The library or the device cannot do this at all."""

    status = "NotSupportedError"


class MLOperationError(MLError, RuntimeError):
    """The device or the compiler failed, or a file is damaged."""

    status = "OperationError"


class MLUnknownError(MLError, RuntimeError):
    """Memory is exhausted, or a tensor has no data."""


class MLFileError(MLError, OSError):
    """A file cannot be read, or is damaged."""

    status = "OperationError"


_CLASSES = (MLUnknownError, MLTypeError, MLInvalidStateError, MLNotSupportedError, MLOperationError,
            MLUnknownError, MLOperationError, MLTypeError, MLInvalidStateError, MLOperationError)

# Matches the start of a message: conv2d "stem": …, or conv2d: …
_HEAD = re.compile(r'^([a-z][A-Za-z0-9]*)(?: "((?:[^"\\]|\\.)*)")?(?:: | )')


def _reason(message: str, operator: str) -> str:
    match = _HEAD.match(message)
    return message[match.end():] if match and match[1] == operator else message


def make(status: int, message: str, operator: str | None = None, label: str | None = None) -> MLError:
    """Returns the exception for a status of the library. Without an operator, the message may name one."""
    from ._operators import INDEX

    match = _HEAD.match(message)
    if match and not operator and match[1] in INDEX:
        operator, label = match[1], match[2] or label
    kind = _CLASSES[status] if 0 <= status < len(_CLASSES) else MLUnknownError
    return kind(message, operator or "", label or "")
