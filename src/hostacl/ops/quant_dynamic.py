"""Quantisation whose scales come from the data, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.pooling import tiles
from hostacl.ops.quant import bounds_of, held
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.tensors import dtypes

Array = NDArray[Any]


def dynamic_shape(call: Call) -> list[Shape]:
    """y as x, and one number a row for the others."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 or more dims, the last one is quantised together.")
    if call.has("smooth_scales"):
        check_smooth(call, x)
    elif call.has("group_index"):
        raise call.refuse("HA513", "group_index was given without smooth_scales; it says which of them a row takes.")
    return [x, *[x[:-1]] * (len(call.outputs) - 1)]


def check_smooth(call: Call, x: Shape) -> None:
    """smooth_scales has the last dim of x, with a row for each group when there are groups."""
    smooth = call.shape("smooth_scales")
    rank = 2 if call.has("group_index") else 1
    if len(smooth) != rank or (dims.known(smooth[-1], x[-1]) and smooth[-1] != x[-1]):
        wanted = f"[{x[-1]}]" if rank == 1 else f"[groups,{x[-1]}]"
        raise call.refuse("HA504", f"smooth_scales = {dims.text(smooth)}; allowed: {wanted}.")
    if rank == 2:
        groups = dims.count(call.shape("group_index"))
        if dims.known(groups, smooth[0]) and groups != smooth[0]:
            raise call.refuse("HA504", f"group_index has {groups} entries, smooth_scales {smooth[0]} rows; they must be equal.")


def dynamic_dtype(call: Call) -> tuple[int, ...]:
    """What dst_type says, else int8, or int4 when it is described so."""
    code = call.attrs.get("dst_type")
    return (int(code),) if code is not None and "dst_type" in call.given else (dtypes.INT8, dtypes.INT4)


def smoothed(x: Array, smooth: Array | None, groups: Array | None, call: Call) -> Array:
    """Rows of x times their smooth scales; group_index holds the row behind each group's last one."""
    rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    if smooth is None:
        return rows
    if groups is None:
        return rows * smooth
    ends = groups.ravel()
    if np.any(np.diff(ends, prepend=0) < 0) or (ends.size and ends[-1] > len(rows)):
        raise call.refuse("HA510", f"group_index = {ends.tolist()}; allowed: rising ends up to the {len(rows)} rows.")
    which = np.searchsorted(ends, np.arange(len(rows)), side="right")
    factors = np.ones((len(ends) + 1, x.shape[-1]), x.dtype)
    factors[:-1] = smooth
    return rows * factors[which]


@kernel("DynamicQuant", shape=dynamic_shape, dtype={"y": dynamic_dtype}, mixed=("smooth_scales",))
def dynamic_quant(
    x: Array, smooth_scales: Array | None, group_index: Array | None, call: Call, out: tuple[Out, ...]
) -> tuple[Array, Array]:
    """round(x·smooth / scale) for each row (last axis) with scale = largest |x·smooth| / 127 (int4: 7), and the scales.

    A row of zeros has scale 0 and gives zeros. With group_index, rows before its first entry take the first row of
    smooth_scales, those before the second the second, and so on; rows behind the last entry take 1.
    """
    rows = smoothed(x, smooth_scales, group_index, call)
    y, scale = np.zeros(rows.shape, np.int8), np.zeros(len(rows))
    code = out[0].code
    for part in tiles(rows):
        wide = rows[part].astype(np.float64)
        scale[part] = np.max(np.abs(wide), axis=1, initial=0) / bounds_of(code)[1]
        y[part] = held(np.rint(wide / scale[part][:, None]), code)
    return y.reshape(x.shape), scale.reshape(x.shape[:-1])


@kernel("DynamicQuantV2", shape=dynamic_shape, dtype={"y": dynamic_dtype}, mixed=("smooth_scales",))
def dynamic_quant_v2(
    x: Array, smooth_scales: Array | None, group_index: Array | None, call: Call, out: tuple[Out, ...]
) -> tuple[Array, Array, Array]:
    """round(x·smooth / scale + offset) for each row (last axis); and its scale and offset.

    scale = (largest - smallest)/255 and offset = 127 - largest/scale; for int4 15 and 7. A row of equal elements has scale 0,
    and what it gives is held within the type.
    """
    rows = smoothed(x, smooth_scales, group_index, call)
    y, scale, offset = np.zeros(rows.shape, np.int8), np.zeros(len(rows)), np.zeros(len(rows))
    low, high = bounds_of(out[0].code)
    for part in tiles(rows):
        wide = rows[part].astype(np.float64)
        top, bottom = np.max(wide, axis=1, initial=-np.inf), np.min(wide, axis=1, initial=np.inf)
        scale[part] = (top - bottom) / (high - low)
        offset[part] = high - top / scale[part]
        y[part] = held(np.rint(wide / scale[part][:, None] + offset[part][:, None]), out[0].code)
    return y.reshape(x.shape), scale.reshape(x.shape[:-1]), offset.reshape(x.shape[:-1])
