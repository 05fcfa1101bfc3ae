"""Bits of Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


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


@shapes("LeftShift", "RightShift")
def shifting(d: Dice) -> None:
    """Integers and how far they go, at times too far."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("x", first)
    d.tensor("y", second, 0, 9)


def _far(x: Any, y: Any) -> bool:
    return bool(y < 0 or y > 64)


@oracle("LeftShift")
def left_shift(x: Any, y: Any) -> Any:
    return np.frompyfunc(lambda a, b: 0 if _far(a, b) else a << b, 2, 1)(x, y)


@oracle("RightShift")
def right_shift(x: Any, y: Any) -> Any:
    return np.frompyfunc(lambda a, b: -int(a < 0) if _far(a, b) else a >> b, 2, 1)(x, y)


@shapes("SignBitsPack")
def packing(d: Dice) -> None:
    """A row of numbers whose bytes the rows can share."""
    size = 1 if d.kind == "one element" else d.int(1, 3)
    count = d.shape(1, 1)[0]
    filled = -(-count // 8) % size
    d.tensor("x", (count + (size - filled) % size * 8,) if filled else (count,))
    d.attr("size", size)
    d.output("y", dtypes.UINT8)


@oracle("SignBitsPack")
def sign_bits_pack(x: Any, size: int) -> Any:
    signs = [1 if one >= 0 else 0 for one in x.tolist()]
    octets = [sum(bit << place for place, bit in enumerate(signs[start : start + 8])) for start in range(0, len(signs), 8)]
    return np.array(octets, object).reshape(size, -1)


@shapes("SignBitsUnpack")
def unpacking(d: Dice) -> None:
    """Bytes whose bits the rows can share."""
    d.tensor("x", d.shape(1, 1), 0, 255)
    d.attr("size", d.choose(1, 2, 4))
    d.output("y", int(d.attr("dtype", dtypes.FLOAT, dtypes.FLOAT16)))


@oracle("SignBitsUnpack")
def sign_bits_unpack(x: Any, size: int) -> Any:
    signs = [1.0 if one >> place & 1 else -1.0 for one in x.tolist() for place in range(8)]
    return np.array(signs).reshape(size, -1)
