"""The check of a gradient's norm that is to find devices which compute wrongly without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import HOST_FAILURE
from hostacl.ops.shapes import one_element

Array = NDArray[Any]

UPDATED = ("pre_val", "min_val", "max_val")


def checked_shapes(call: Call) -> list[Shape]:
    """Those of what is updated, and val_counter's for the result."""
    one_element(call, "val", *UPDATED, "val_counter")
    return [call.shape(name) for name in ("input_grad", *UPDATED, "val_counter")]


def own_dtype(call: Call) -> int:
    """That of the gradient, which its norm may be wider than."""
    return call.dtype("input_grad")


def excess(value: float, before: float, spread: float, thresh: float, coeff: float, level: str) -> str | None:
    """What is wrong with a norm by one pair of limits, in words; None if nothing is."""
    if not np.isfinite(value):
        return f"val = {value:g} is not finite"
    if abs(value) > thresh:
        return f"val = {value:g} is beyond c_thresh_{level} = {thresh:g}"
    if abs(value - before) > coeff * spread:
        told = f"c_coeff_{level} = {coeff:g} times {spread:g}, max_val - min_val"
        return f"val = {value:g} after {before:g} is a jump of more than {told}"
    return None


@kernel("SilentCheck", shape=checked_shapes, mixed=("val",), dtype={"input_grad": own_dtype})
def silent_check(
    val: Array,
    input_grad: Array,
    pre_val: Array,
    min_val: Array,
    max_val: Array,
    val_counter: Array,
    c_min_steps: int,
    c_thresh_l1: float,
    c_coeff_l1: float,
    c_thresh_l2: float,
    c_coeff_l2: float,
) -> tuple[Array, ...]:
    """Whether val, the norm of input_grad, is far from those before: result is 0, or 2 for an alarm; a fault fails the call.

    A fault (level 1): val is NaN or infinite, or |val| > c_thresh_l1, or it jumped: |val - pre_val| > c_coeff_l1·(max_val -
    min_val). It ends a training, so the call fails with 507018 (HA519 says what was too large) and writes nothing. An alarm
    (level 2): the same with c_thresh_l2 and c_coeff_l2. Otherwise, and after an alarm, pre_val becomes val, and min_val and
    max_val the smallest and largest val so far. While val_counter < c_min_steps nothing is judged: norms are only gathered,
    those that are not finite left out. input_grad stays as it is.

    The limits, the jump's measure and that a fault ends the training are as published for NPU_ASD_UPPER_THRESH and
    NPU_ASD_SIGMA_THRESH. Not published, and our reading: that a fall counts as a jump, too, the result's numbers (the level),
    and what happens to norms that are not finite while they are gathered.
    """
    value, before, low, high = (float(one.item()) for one in (val, pre_val, min_val, max_val))
    result = np.zeros(val_counter.shape, np.int32)
    if val_counter.item() >= c_min_steps:
        if fault := excess(value, before, high - low, c_thresh_l1, c_coeff_l1, "l1"):
            told = f"SilentCheck: {fault}. The gradient is broken, or the limits are too low for it."
            raise Failed("HA519", told, HOST_FAILURE)
        result[...] = 2 if excess(value, before, high - low, c_thresh_l2, c_coeff_l2, "l2") else 0
    if not np.isfinite(value):
        return input_grad, pre_val, min_val, max_val, result
    held = val.astype(np.float32)
    return input_grad, held.reshape(pre_val.shape), np.minimum(min_val, held.item()), np.maximum(max_val, held.item()), result
