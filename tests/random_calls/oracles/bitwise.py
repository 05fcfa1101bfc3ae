"""Bits of Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.oracle import oracle


@oracle("BitwiseAnd")
def bitwise_and(x1: Any, x2: Any) -> Any:
    return np.frompyfunc(lambda a, b: a & b, 2, 1)(x1, x2)


@oracle("BitwiseOr")
def bitwise_or(x1: Any, x2: Any) -> Any:
    return np.frompyfunc(lambda a, b: a | b, 2, 1)(x1, x2)


@oracle("BitwiseXor")
def bitwise_xor(x1: Any, x2: Any) -> Any:
    return np.frompyfunc(lambda a, b: a ^ b, 2, 1)(x1, x2)


@oracle("Invert")
def invert(x: Any) -> Any:
    return -1 - x
