"""Comparisons, and choosing by their result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.declare import comparison
from hostacl.ops.dims import Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast, equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]

comparison("Equal", np.equal)
comparison("NotEqual", np.not_equal, dtypes=dict.fromkeys(("x1", "x2"), (dtypes.BOOL,)))  # torch-npu: logical_xor
comparison("Greater", np.greater)
comparison("GreaterEqual", np.greater_equal)
comparison("Less", np.less)
comparison("LessEqual", np.less_equal)


def selected(call: Call) -> Shape:
    """The shape of x1 and x2, one may be a scalar; the condition broadcasts to it, or is a vector along dim 0."""
    one, other, condition = call.shape("x1"), call.shape("x2"), call.shape("condition")
    one, other = one or other, other or one  # torch-npu sends numbers as scalars
    if len(one) != len(other):
        raise call.refuse("HA504", f"x1 = {dims.text(one)}, x2 = {dims.text(other)} must have one shape. SelectV2 broadcasts.")
    told = f"x1 = {dims.text(one)}, x2 = {dims.text(other)} must have one shape. SelectV2 broadcasts."
    shape = tuple(equal_dims(call, a, b, told) for a, b in zip(one, other, strict=True))
    told = (
        f"condition = {dims.text(condition)} for x1 = {dims.text(one)}; "
        f"allowed: that shape, with 1 for any dim, a vector as long as dim 0, or one element."
    )
    if len(condition) == len(shape) and len(shape) != 1:
        return tuple(a if b == 1 else equal_dims(call, a, b, told) for a, b in zip(shape, condition, strict=True))
    if len(condition) > 1:
        raise call.refuse("HA504", told)
    if condition and condition[0] != 1:
        equal_dims(call, condition[0], shape[0] if shape else 1, told)
    return shape


def direct_select(call: Call) -> Any:
    """The native loop, unless the condition is a vector along dim 0 of more dims."""
    condition, rank = call.shape("condition"), max(call.rank("x1"), call.rank("x2"))
    return None if len(condition) == 1 and rank > 1 else _kernels.select


@kernel("Select", shape=selected, bits=True, direct=direct_select, reads={"x1": Reads.PARTS, "x2": Reads.PARTS})
def select(condition: Array, x1: Array, x2: Array) -> Array:
    """x1 where the condition holds, else x2."""
    rank = max(x1.ndim, x2.ndim)
    if condition.ndim == 1 and rank > 1:
        condition = condition.reshape(-1, *(1,) * (rank - 1))
    return np.where(condition, x1, x2)


@kernel("SelectV2", shape=broadcast("condition", "then", "else"), bits=True, direct=lambda call: _kernels.select,
        reads={"then": Reads.PARTS, "else": Reads.PARTS})  # fmt: skip
def select_v2(condition: Array, then: Array, else_: Array) -> Array:
    """``then`` where the condition holds, else ``else``; all three broadcast."""
    return np.where(condition, then, else_)
