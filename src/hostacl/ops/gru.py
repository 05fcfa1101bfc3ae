"""One layer of GRU cells over all steps, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.recurrent import (
    Sizes,
    arriving,
    check_arriving,
    check_attributes,
    check_elements,
    check_lengths,
    check_matrix,
    counting,
    each_step,
    gate_width,
    held,
    in_time,
    order_of,
    sigmoid,
    sizes_of,
    start,
    state_dtype,
    trimmed,
)
from hostacl.ops.registry import kernel
from hostacl.tensors import dtypes

Array = NDArray[Any]

ORDERS = ("zrh", "rzh")
STATES = ("y", "output_h", "update", "reset", "new", "hidden_new")
MIXED = ("x", "weight_input", "weight_hidden", "bias_input", "bias_hidden", "init_h", "seq_length", "y", "h", "dy", "dh",
         "update", "reset", "new", "hidden_new")  # fmt: skip


def gru_sizes(call: Call) -> Sizes:
    """The sizes of a call; refuses weights, biases and states that do not fit."""
    check_attributes(call, ORDERS)
    sizes = sizes_of(call, gate_width(call, "weight_hidden", 3))
    columns = sizes.hidden * 3
    check_matrix(call, "weight_hidden", sizes.hidden, columns)
    check_matrix(call, "weight_input", sizes.features, columns)
    for name in ("bias_input", "bias_hidden"):
        check_elements(call, name, (columns,))
    check_elements(call, "init_h", (sizes.batch, sizes.hidden))
    check_lengths(call, sizes)
    if call.attr("cell_clip") > 0:
        raise call.refuse("HA508", f"cell_clip = {call.attr('cell_clip'):g}; allowed: 0 or less, a GRU has no cell to clip.")
    return sizes


def gru_shape(call: Call) -> list[Shape]:
    """Six times (steps, batch, hidden)."""
    return [each_step(call, gru_sizes(call))] * 6


def gate_columns(order: str, hidden: int) -> tuple[slice, slice, slice]:
    """The columns of update, reset and new."""
    update, reset, new = (slice(place * hidden, (place + 1) * hidden) for place in map(order.index, "zrh"))
    return update, reset, new


FLOATS = dict.fromkeys(("x", "weight_input", "weight_hidden"), (dtypes.FLOAT,))
"""What torch-npu sends beyond float16."""


@kernel("DynamicGRUV2", shape=gru_shape, mixed=MIXED[:7], dtype=dict.fromkeys(STATES, state_dtype), dtypes=FLOATS)
def dynamic_gru_v2(
    x: Array, weight_input: Array, weight_hidden: Array, bias_input: Array | None, bias_hidden: Array | None,
    seq_length: Array | None, init_h: Array | None, call: Call,
) -> tuple[Array, ...]:  # fmt: skip
    """A GRU over all steps: a = x·weight_input + bias_input and b = h·weight_hidden + bias_hidden, cut as gate_order says.

    update z = sigmoid(a + b), reset r = sigmoid(a + b), hidden_new = b, new = tanh(a + r·b); h = (1 - z)·new + z·h. With
    reset_after false hidden_new is (r·h)·weight_hidden + bias_hidden, and new = tanh(a + hidden_new). All six outputs hold
    every step. seq_length gives the length of each sequence (or a mask, not 0 where a step counts): beyond it h stays as it was
    and y is 0. REDIRECTIONAL begins with the last step.
    """
    attrs, x = call.attrs, in_time(x, call.attr("time_major"))
    steps, batch, features = x.shape
    hidden = weight_hidden.shape[0]
    given = (x.reshape(steps * batch, features) @ weight_input).reshape(steps, batch, 3 * hidden)
    given, bias = given if bias_input is None else given + bias_input, 0 if bias_hidden is None else trimmed(bias_hidden, 1)
    columns, count = gate_columns(attrs["gate_order"], hidden), counting(seq_length, steps, call)
    h = start(init_h, batch, hidden)
    results = np.empty((len(STATES), steps, batch, hidden), np.float32)
    for step in order_of(steps, attrs["direction"]):
        inner = h @ weight_hidden + bias
        z, r = (sigmoid(given[step][:, part] + inner[:, part]) for part in columns[:2])
        part = columns[2]
        if attrs["reset_after"]:
            inner, scale = inner[:, part], r
        else:
            inner, scale = (r * h) @ weight_hidden[:, part] + (bias if isinstance(bias, int) else bias[part]), np.float32(1)
        new = np.tanh(given[step][:, part] + scale * inner)
        state = (1 - z) * new + z * h
        y, h = held(count, step, state, 0.0), held(count, step, state, h)
        results[:, step] = (y, h, z, r, new, inner)
    return tuple(in_time(one, attrs["time_major"]) for one in results)


def gradient_shape(call: Call) -> list[Shape]:
    """The gradients of weights, biases, x and the first state."""
    sizes = gru_sizes(call)
    for name in ("y", "h", "dy", "update", "reset", "new", "hidden_new"):
        check_elements(call, name, each_step(call, sizes))
    check_arriving(call, "dh", sizes)
    biases = (sizes.hidden * 3,)
    return [call.shape("weight_input"), call.shape("weight_hidden"), biases, biases, call.shape("x"), call.shape("init_h")]


RESULTS = ("dw_input", "dw_hidden", "db_input", "db_hidden", "dx", "dh_prev")


@kernel("DynamicGRUV2Grad", shape=gradient_shape, mixed=MIXED, dtype=dict.fromkeys(RESULTS, state_dtype),
        dtypes={"seq_length": (dtypes.FLOAT, dtypes.FLOAT16)})  # fmt: skip
def dynamic_gru_v2_grad(
    x: Array, weight_input: Array, weight_hidden: Array, init_h: Array, h: Array, dy: Array, dh: Array, update: Array,
    reset: Array, new: Array, hidden_new: Array, seq_length: Array | None, call: Call,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of DynamicGRUV2 by weights, biases, x and the first state, from the gates that it kept.

    dy is the gradient of y at every step, dh that of the state: at every step, or (batch, hidden) of the step done last.
    """
    attrs, major = call.attrs, call.attr("time_major")
    x, h, dy, update, reset, new, hidden_new = (
        in_time(trimmed(one, 3), major) for one in (x, h, dy, update, reset, new, hidden_new)
    )
    steps, batch, hidden = h.shape
    order, first, count = order_of(steps, attrs["direction"]), start(init_h, batch, hidden), counting(seq_length, steps, call)
    whole = dh.ndim == 3 and dh.size == h.size
    dh = arriving(in_time(dh, major) if whole else dh, h.shape, order[-1] if steps else 0)
    columns = gate_columns(attrs["gate_order"], hidden)
    outer, inner = np.zeros((2, steps, batch, 3 * hidden), np.float32)
    carried, dw_hidden = np.zeros((batch, hidden), np.float32), np.zeros(weight_hidden.shape, np.float32)
    for place in range(steps - 1, -1, -1):
        at = order[place]
        before = h[order[place - 1]] if place else first
        carried = carried + dh[at]
        state = held(count, at, carried + dy[at], 0.0)
        z, r, n = update[at], reset[at], new[at]
        to_new = state * (1 - z) * (1 - n * n)
        outer[at][:, columns[0]] = state * (before - n) * z * (1 - z)
        outer[at][:, columns[2]] = to_new
        if attrs["reset_after"]:
            by_reset, to_inner, met = to_new * hidden_new[at], to_new * r, before
        else:
            reached = to_new @ weight_hidden[:, columns[2]].T
            by_reset, to_inner, met = reached * before, to_new, r * before
        outer[at][:, columns[1]] = by_reset * r * (1 - r)
        inner[at], inner[at][:, columns[2]] = outer[at], to_inner
        gates = slice(0, 2 * hidden)  # update and reset come before new
        through = state * z + inner[at][:, gates] @ weight_hidden[:, gates].T
        through += to_inner @ weight_hidden[:, columns[2]].T if attrs["reset_after"] else reached * r
        carried = held(count, at, through, carried)
        dw_hidden[:, gates] += before.T @ inner[at][:, gates]
        dw_hidden[:, columns[2]] += met.T @ to_inner
    rows, inside = outer.reshape(steps * batch, 3 * hidden), inner.reshape(steps * batch, 3 * hidden)
    dx = (rows @ weight_input.T).reshape(x.shape)
    sums = (np.sum(one, axis=0, dtype=np.float64) for one in (rows, inside))
    dw_input = x.reshape(steps * batch, x.shape[2]).T @ rows
    return (dw_input, dw_hidden, *sums, in_time(dx, major), carried.reshape(init_h.shape))
