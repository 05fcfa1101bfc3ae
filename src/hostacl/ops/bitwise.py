"""Logic and bits: and, or, xor, not, shifts, packed signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.declare import binary, unary
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

REALS = tuple(sorted(dtypes.INTEGERS | dtypes.FLOATS))
NUMBERS_TOO = dict.fromkeys(("x1", "x2", "y"), REALS)
"""Some headers list numbers for LogicalOr; a number counts as true unless it is 0."""


def truth_dtype(call: Call) -> int:
    """bool; of numbers also their own type, where the output is described so (torch-npu casts it afterwards)."""
    given = call.outputs["y"].specs
    return given[0].dtype if given and given[0].dtype == call.dtype("x1") else dtypes.BOOL


binary(
    "LogicalOr", np.logical_or, "Whether one of two is true; a number is unless it is 0.",
    dtypes=NUMBERS_TOO, dtype={"y": truth_dtype},
)  # fmt: skip
binary("LogicalAnd", np.logical_and, "Whether both of two are true.")
unary("LogicalNot", np.logical_not, "True where x is false.")

binary("BitwiseOr", np.bitwise_or, "The bits set in one of two integers.")
binary("BitwiseXor", np.bitwise_xor, "The bits in which two integers differ.")
binary("BitwiseAnd", np.bitwise_and, "The bits set in both of two integers.")
unary("Invert", np.invert, "All bits turned over: -1-x for signed x.")
SHIFT = "A shift by the type's width or more, or by a negative number, moves all bits out"
binary("LeftShift", np.left_shift, f"x with its bits moved up by y. {SHIFT}: 0.")
binary("RightShift", np.right_shift, f"x with its bits moved down by y; the sign is kept. {SHIFT}: 0, or -1 of negative x.")


def rows_of(call: Call) -> int:
    """The attribute ``size``, the number of rows; refuses one below 1."""
    size: int = call.attr("size")
    if size < 1:
        raise call.refuse("HA508", f"size = {size}; allowed: 1 or more.")
    return size


def divided(call: Call, count: Dim, size: int, what: str) -> Dim:
    """Elements of a row; refuses a number that rows cannot share evenly."""
    if isinstance(count, int) and count % size:
        raise call.refuse("HA504", f"{what} = {count} cannot be shared by size = {size} rows; it must be a multiple.")
    return count // size


def packed_shape(call: Call) -> Shape:
    """(size, bytes / size), eight elements a byte."""
    (count,) = rank_is(call, "x", 1)
    size = rows_of(call)
    return size, divided(call, (count + 7) // 8, size, "the number of bytes")


@kernel("SignBitsPack", shape=packed_shape)
def sign_bits_pack(x: Array, size: int) -> Array:
    """A bit for each element, set where x >= 0 (not for NaN), the first in the lowest bit; the last byte is filled with 0."""
    return np.packbits(x >= 0, bitorder="little").reshape(size, -1)


def unpacked_shape(call: Call) -> Shape:
    """(size, 8·bytes / size)."""
    (count,) = rank_is(call, "x", 1)
    size = rows_of(call)
    return size, divided(call, count * 8, size, "the number of bits")


@kernel("SignBitsUnpack", shape=unpacked_shape, dtype_attrs={"y": "dtype"})
def sign_bits_unpack(x: Array, size: int) -> Array:
    """1 for each bit that is set and -1 for each that is not, the lowest bit first, in ``size`` rows."""
    bits = np.unpackbits(x, bitorder="little").astype(np.int8)
    return (bits * 2 - 1).astype(np.float32).reshape(size, -1)

