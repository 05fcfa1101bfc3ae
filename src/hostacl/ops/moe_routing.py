"""Rows sorted by expert, in the form that takes a range of experts and counts their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

CUMULATIVE, COUNTS, PAIRS = range(3)
"""What expert_tokens_count_or_cumsum holds."""


def range_of(call: Call) -> tuple[int, int]:
    """The experts whose rows are kept: active_expert_range, or all."""
    count, given = call.attr("expert_num"), list(call.attr("active_expert_range"))
    if count < 1:
        raise call.refuse("HA508", f"expert_num = {count}; allowed: 1 or more.")
    if not given:
        return 0, count
    if len(given) != 2 or not 0 <= given[0] < given[1] <= count:
        raise call.refuse("HA508", f"active_expert_range = {given}; allowed: first and end, from 0 to expert_num = {count}.")
    return given[0], given[1]


def check_modes(call: Call) -> None:
    """Refuses what is not done."""
    for name, allowed in (("drop_pad_mode", (0,)), ("quant_mode", (-1,)), ("row_idx_type", (0, 1)),
                          ("expert_tokens_num_type", (CUMULATIVE, COUNTS, PAIRS))):  # fmt: skip
        if call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: {', '.join(map(str, allowed))}.")
    if call.has("offset"):
        raise call.refuse("HA513", "offset is given; rows are not quantised here: leave it out.")


def routed_shape(call: Call) -> list[Shape]:
    """Expanded rows, a place for each pair of row and expert, numbers of the experts, and scales."""
    check_modes(call)
    first, end = range_of(call)
    rows, width = rank_is(call, "x", 2)
    pairs = rank_is(call, "expert_idx", 2)
    told = f"x = {dims.text(call.shape('x'))}, expert_idx = {dims.text(pairs)}: the first dims must be equal."
    equal_dims(call, pairs[0], rows, told)
    if call.has("scale"):
        scale = rank_is(call, "scale", 1)
        equal_dims(call, scale[0], rows, f"scale = {dims.text(scale)}; allowed: {dims.text((rows,))}, one for each row.")
    count, active = dims.count(pairs), call.attr("active_num")
    kept: Dim = count
    if active > 0:
        kept = min(count, active) if isinstance(count, int) else Between(0, active)
    told_tokens = call.attr("expert_tokens_num_type") == PAIRS
    tokens: Shape = (call.attr("expert_num"), 2) if told_tokens else (end - first,)
    return [(kept, width), (count,), tokens, (kept,)]


def scale_dtype(call: Call) -> tuple[int, ...]:
    """That of scale, float32 without one."""
    return (call.dtype("scale") if call.has("scale") else dtypes.FLOAT,)


@kernel("MoeInitRoutingV3", shape=routed_shape, bits=True, mixed=("scale",), dtype={"expanded_scale": scale_dtype})
def moe_init_routing_v3(
    x: Array, expert_idx: Array, scale: Array | None, active_num: int, expert_num: int, expert_tokens_num_type: int,
    expert_tokens_num_flag: bool, row_idx_type: int, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """x sorted by expert: its rows, each as often as it has experts in active_expert_range, stably; active_num at most.

    Rows of expanded_x beyond them are 0. expanded_row_idx says for each pair (row·k + j) where it went (row_idx_type 0), or
    for each place which pair it holds (1); -1 where there is none. With expert_tokens_num_flag the rows of each expert are
    told: where they end (type 0), how many there are (1), or pairs of expert and number, those with rows first (2).
    expanded_scale holds the scale of each row; without a scale it is left as it is.
    """
    first, end = range_of(call)
    flat, each = expert_idx.ravel(), max(expert_idx.shape[1], 1)
    inside = np.flatnonzero((flat >= first) & (flat < end))
    order = inside[np.argsort(flat[inside], kind="stable")]
    kept = order[:active_num] if active_num > 0 else order
    places = np.full(flat.size, -1, np.int64)
    if row_idx_type:
        places[: kept.size] = kept
    else:
        places[kept] = np.arange(kept.size)
    size = min(flat.size, active_num) if active_num > 0 else flat.size
    rows = np.zeros((size, x.shape[1]), x.dtype)
    rows[: kept.size] = x[kept // each]
    scales = None
    if scale is not None:
        scales = np.zeros(size, scale.dtype)
        scales[: kept.size] = scale[kept // each]
    counts = np.bincount(flat[inside] - first, minlength=end - first)
    told = numbers(counts, first, expert_num, expert_tokens_num_type) if expert_tokens_num_flag else None
    return rows, places, told, scales


def numbers(counts: Array, first: int, experts: int, kind: int) -> Array:
    """The rows of each expert, as asked for."""
    if kind == CUMULATIVE:
        return np.cumsum(counts)
    if kind == COUNTS:
        return counts
    result = np.zeros((experts, 2), np.int64)
    used = np.flatnonzero(counts)
    result[: used.size, 0], result[: used.size, 1] = used + first, counts[used]
    return result
