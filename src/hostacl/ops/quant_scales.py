"""The scales of quantised products: what their encodings hold, which shapes they may have, how they lie over a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.pooling import tiles
from hostacl.ops.quant import held
from hostacl.tensors import dtypes

Array = NDArray[Any]

OFFSET_SHIFT, OFFSET_BITS = 37, 9
"""Where a 64-bit scale holds its offset."""

MX_GROUP = 32
"""How many elements share a scale of type float8_e8m0."""


def factors(scale: Array) -> Array:
    """Scales in float64; a 64-bit integer holds a float32 in its lower half."""
    if scale.dtype.kind in "iu" and scale.dtype.itemsize == 8:
        return (scale.view(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32).astype(np.float64)
    return scale.astype(np.float64)


def encoded_offsets(scale: Array) -> Array:
    """The offsets that 64-bit scales hold, 9 bits with a sign from bit 37 on; 0 for other scales."""
    if scale.dtype.kind not in "iu":
        return np.zeros(scale.shape)
    field = (scale.view(np.uint64) >> np.uint64(OFFSET_SHIFT)).astype(np.int64) & ((1 << OFFSET_BITS) - 1)
    return np.where(field >> (OFFSET_BITS - 1), field - (1 << OFFSET_BITS), field).astype(np.float64)


def check_counts(call: Call, size: Dim, what: str, *names: str) -> None:
    """Refuses inputs that have neither one element nor one for each row or column."""
    for name in names:
        count = dims.count(call.shape(name)) if call.has(name) else 1
        if dims.known(count, size) and count not in (1, size):
            told = f"{name} = {dims.text(call.shape(name))}; allowed: one element, or {size}, one for each {what}."
            raise call.refuse("HA504", told)


def refuse_given(call: Call, why: str, *names: str) -> None:
    """Refuses optional inputs whose part is not known."""
    for name in names:
        if call.has(name):
            raise call.refuse("HA513", f"{name} was given; {why}. Leave it out.")


def columns(parameter: Array | None) -> Array | None:
    """A parameter of one element or of one for each column, in a shape that broadcasts over rows."""
    return None if parameter is None else parameter.reshape(-1 if parameter.size != 1 else ())


def finished(total: Array, step: Callable[[Array, slice], Array], code: int) -> Array:
    """What ``step`` makes of rows of products, worked on in pieces: as floats, or rounded and held within an integer type."""
    rows = total.reshape(-1, total.shape[-1]) if total.size else total.reshape(int(np.prod(total.shape[:-1])), total.shape[-1])
    result = np.empty(rows.shape, np.float32 if code not in (dtypes.INT8, dtypes.INT4) else np.int8)
    for part in tiles(rows):
        wide = step(rows[part].astype(np.float64), part)
        result[part] = wide if result.dtype != np.int8 else held(np.rint(wide), code)
    return result.reshape(total.shape)


def group_sizes(call: Call) -> tuple[int, int, int]:
    """The groups along m, n and k that group_size holds, 16 bits each, m in the highest; 0: as the shapes say."""
    value = max(int(call.attrs.get("group_size") or 0), 0)
    return value >> 32 & 0xFFFF, value >> 16 & 0xFFFF, value & 0xFFFF


def refuse_groups(call: Call) -> None:
    """Refuses a group_size where scales are for whole rows and columns."""
    if any(group_sizes(call)):
        told = f"group_size = {call.attr('group_size')}; allowed: 0 or less: scales are for whole rows and columns."
        raise call.refuse("HA508", told)


def scale_grid(call: Call, name: str, matrix: Shape, groups: tuple[int, int], inner: int) -> tuple[int, int] | None:
    """How many rows and columns of a matrix share a scale; None for one scale in all, or where a dim is not known."""
    shape = paired(call.shape(name), inner)
    if not dims.known(*shape, *matrix) or dims.count(shape) == 1:
        return None
    if len(shape) != len(matrix):
        raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))} has not the dims of {dims.text(matrix)}.")
    found = [
        shared(call, name, one, size, group) for one, size, group in zip(shape, matrix, groups, strict=True)
    ]
    return found[0], found[1]


def paired(shape: Shape, inner: int) -> Shape:
    """The dims of scales that come in pairs, (…, 2), as those of a matrix; the pairs lie along the axis ``inner``."""
    if len(shape) != 3 or shape[2] != 2:
        return shape
    return (shape[0] * 2, shape[1]) if inner == 0 else (shape[0], shape[1] * 2)


def shared(call: Call, name: str, scales: Any, size: Any, group: int) -> int:
    """How many elements along an axis share a scale; refuses scales that do not cover it."""
    if scales == 1:
        return max(size, 1)
    mx = call.dtype(name) == dtypes.FLOAT8_E8M0 and scales < size
    each: int = group or (MX_GROUP if mx else -(-size // max(scales, 1)))
    covered = -(-size // max(each, 1))
    if scales not in (covered, covered + covered % 2):
        told = f"{name} = {dims.text(call.shape(name))}: {scales} scales along an axis of {size} in groups of {each}"
        raise call.refuse("HA504", f"{told}; allowed: {covered}.")
    return each


def spread(scale: Array, size: tuple[int, int], each: tuple[int, int] | None, inner: int) -> Array:
    """Scales over a matrix: one element, or an array that broadcasts to its size."""
    wide = factors(scale)
    if each is None:
        return wide.reshape(1, 1)
    table = wide if wide.ndim == 2 else np.moveaxis(wide, 2, inner + 1).reshape(paired(wide.shape, inner))
    for axis in range(2):
        if table.shape[axis] > 1:
            table = np.repeat(table, each[axis], axis=axis).take(range(size[axis]), axis=axis)
    return table
