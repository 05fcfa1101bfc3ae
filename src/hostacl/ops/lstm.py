"""One layer of LSTM cells over all steps, and its gradients."""

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
from hostacl.ops.schema import with_any_kind
from hostacl.tensors import dtypes

Array = NDArray[Any]

ORDERS = ("ijfo", "ifjo", "icfo", "ifco")
"""Orders of the gates; c is another name of j."""

STATES = ("y", "output_h", "output_c", "i", "j", "f", "o", "tanhc")
MIXED = ("x", "w", "weight_input", "weight_hidden", "w_x", "w_h", "b", "init_h", "init_c", "y", "h", "c", "dy", "dh", "dc",
         "i", "j", "f", "o", "tanhct", "seq_length")  # fmt: skip


def lstm_sizes(call: Call) -> Sizes:
    """The sizes of a call; refuses weights, biases and states that do not fit."""
    check_attributes(call, ORDERS)
    fused = next((name for name in ("w",) if call.has(name)), None)
    inner = fused or ("weight_hidden" if call.has("weight_hidden") else "w_h")
    sizes = sizes_of(call, gate_width(call, inner, 4))
    columns = sizes.hidden * 4
    if fused:
        check_matrix(call, fused, sizes.features + sizes.hidden, columns)
    else:
        check_matrix(call, inner, sizes.hidden, columns)
        check_matrix(call, "weight_input" if call.has("weight_input") else "w_x", sizes.features, columns)
    check_elements(call, "b", (columns,))
    for name in ("init_h", "init_c"):
        check_elements(call, name, (sizes.batch, sizes.hidden))
    check_lengths(call, sizes)
    return sizes


def lstm_shape(call: Call) -> list[Shape]:
    """Eight times (steps, batch, hidden)."""
    return [each_step(call, lstm_sizes(call))] * 8


LSTM: dict[str, Any] = {
    "shape": lstm_shape,
    "mixed": (*MIXED[:8], "seq_length"),
    "dtype": dict.fromkeys(STATES, state_dtype),
}


def gate_columns(order: str, hidden: int) -> dict[str, slice]:
    """The columns of each gate."""
    return {gate: slice(place * hidden, (place + 1) * hidden) for place, gate in enumerate(order.replace("c", "j"))}


def lstm_layer(
    x: Array, weights: tuple[Array, Array], bias: Array | None, states: tuple[Any, Any], call: Call, lengths: Array | None
) -> tuple[Array, ...]:
    """The eight outputs of a layer, x with steps in front."""
    steps, batch, features = x.shape
    hidden, attrs = weights[1].shape[0], call.attrs
    h, c = (start(state, batch, hidden) for state in states)
    given = (x.reshape(steps * batch, features) @ weights[0]).reshape(steps, batch, 4 * hidden)
    given = given if bias is None else given + bias
    columns, count, clip = gate_columns(attrs["gate_order"], hidden), counting(lengths, steps, call), attrs["cell_clip"]
    results = {name: np.empty((steps, batch, hidden), np.float32) for name in STATES}
    for step in order_of(steps, attrs["direction"]):
        gates = given[step] + h @ weights[1]
        i, o = sigmoid(gates[:, columns["i"]]), sigmoid(gates[:, columns["o"]])
        j, f = np.tanh(gates[:, columns["j"]]), sigmoid(gates[:, columns["f"]] + np.float32(attrs["forget_bias"]))
        cell = f * c + i * j
        cell = np.clip(cell, -clip, clip) if clip > 0 else cell
        tanhc = np.tanh(cell)
        y = held(count, step, o * tanhc, 0.0)
        h, c = held(count, step, o * tanhc, h), held(count, step, cell, c)
        for name, value in zip(STATES, (y, h, c, i, j, f, o, tanhc), strict=True):
            results[name][step] = value
    return tuple(in_time(results[name], attrs["time_major"]) for name in STATES)


@kernel("DynamicRNN", **LSTM)
def dynamic_rnn(
    x: Array, w: Array, b: Array, seq_length: Array | None, init_h: Array | None, init_c: Array | None, call: Call
) -> tuple[Array, ...]:
    """An LSTM over all steps: [x, h]·w + b is cut into the gates of gate_order, each as wide as the state.

    i, f and o are sigmoids (of f + forget_bias), j is a tanh; c = f·c + i·j, held within ±cell_clip where that is above 0;
    h = o·tanh(c). All eight outputs hold every step. seq_length gives the length of each sequence (or a mask, not 0 where a
    step counts): beyond it h and c stay as they were and y is 0. REDIRECTIONAL begins with the last step.
    """
    features = x.shape[2]
    return lstm_layer(in_time(x, call.attr("time_major")), (w[:features], w[features:]), b, (init_h, init_c), call, seq_length)


@kernel("DynamicRNNV2", **LSTM)
def dynamic_rnn_v2(
    x: Array, weight_input: Array, weight_hidden: Array, b: Array | None, seq_length: Array | None, init_h: Array | None,
    init_c: Array | None, call: Call,
) -> tuple[Array, ...]:  # fmt: skip
    """DynamicRNN with the weight in two parts: x·weight_input + h·weight_hidden + b."""
    weights = (weight_input, weight_hidden)
    return lstm_layer(in_time(x, call.attr("time_major")), weights, b, (init_h, init_c), call, seq_length)


def gradient_sizes(call: Call) -> Sizes:
    """The sizes of a gradient's call; refuses tensors that do not fit."""
    sizes = lstm_sizes(call)
    if call.attr("cell_clip") > 0:
        raise call.refuse("HA508", f"cell_clip = {call.attr('cell_clip'):g}; allowed: 0 or less, which clips nothing.")
    for name in ("y", "h", "c", "dy", "i", "j", "f", "o", "tanhct"):
        check_elements(call, name, each_step(call, sizes))
    for name in ("dh", "dc"):
        check_arriving(call, name, sizes)
    return sizes


def fused_gradient_shape(call: Call) -> list[Any]:
    """The gradients of w, b, x and the first states; none of peepholes."""
    gradient_sizes(call)
    return [*(call.shape(name) for name in ("w", "b", "x", "init_h", "init_c")), [], [], []]


def split_gradient_shape(call: Call) -> list[Any]:
    """The gradients of both weights, the bias, x and the first states; none of peepholes."""
    sizes = gradient_sizes(call)
    return [call.shape("w_x"), call.shape("w_h"), (sizes.hidden * 4,), *map(call.shape, ("x", "init_h", "init_c")), [], [], []]


GRADIENT: dict[str, Any] = {
    "mixed": MIXED,
    "dtype": dict.fromkeys(("dw", "dw_x", "dw_h", "db", "dx", "dh_prev", "dc_prev"), state_dtype),
    "dtypes": {"seq_length": (dtypes.FLOAT, dtypes.FLOAT16)},
}


class Saved:
    """What the forward pass kept of a call, with steps in front."""

    def __init__(self, call: Call, tensors: dict[str, Any]) -> None:
        major = call.attr("time_major")
        self.x, self.h, self.c, self.dy, self.i, self.j, self.f, self.o = (
            in_time(trimmed(tensors[name], 3), major) for name in ("x", "h", "c", "dy", "i", "j", "f", "o")
        )
        steps, batch, hidden = self.h.shape
        self.tanhc = np.tanh(self.c) if tensors["tanhct"] is None else in_time(trimmed(tensors["tanhct"], 3), major)
        self.count = counting(tensors["seq_length"], steps, call)
        self.order = order_of(steps, call.attr("direction"))
        self.first = start(tensors["init_h"], batch, hidden), start(tensors["init_c"], batch, hidden)
        last = self.order[-1] if steps else 0
        self.dh, self.dc = (self.arriving(tensors[name], last, major) for name in ("dh", "dc"))

    def arriving(self, gradient: Array, last: int, major: bool) -> Array:
        """The gradient of a state at every step."""
        whole = gradient.ndim == 3 and gradient.size == self.h.size
        return arriving(in_time(gradient, major) if whole else gradient, self.h.shape, last)


def lstm_gradients(saved: Saved, weights: tuple[Array, Array], order: str) -> tuple[Array, ...]:
    """The gradients of both weights, the bias, x (steps in front) and the first states."""
    steps, batch, hidden = saved.h.shape
    columns, gates = gate_columns(order, hidden), np.zeros((steps, batch, 4 * hidden), np.float32)
    dh, dc = np.zeros((2, batch, hidden), np.float32)
    dw_h = np.zeros((hidden, 4 * hidden), np.float32)
    for place in range(steps - 1, -1, -1):
        at, before = saved.order[place], saved.order[place - 1]
        h, c = (saved.h[before], saved.c[before]) if place else saved.first
        dh, dc = dh + saved.dh[at], dc + saved.dc[at]
        new = held(saved.count, at, dh + saved.dy[at], 0.0)
        cell = held(saved.count, at, dc, 0.0) + new * saved.o[at] * (1 - saved.tanhc[at] ** 2)
        gates[at][:, columns["o"]] = new * saved.tanhc[at] * saved.o[at] * (1 - saved.o[at])
        gates[at][:, columns["i"]] = cell * saved.j[at] * saved.i[at] * (1 - saved.i[at])
        gates[at][:, columns["j"]] = cell * saved.i[at] * (1 - saved.j[at] ** 2)
        gates[at][:, columns["f"]] = cell * c * saved.f[at] * (1 - saved.f[at])
        through = gates[at] @ weights[1].T
        dh = through if saved.count is None else np.where(saved.count[at], through, dh)
        dc = held(saved.count, at, cell * saved.f[at], dc)
        dw_h += h.T @ gates[at]
    rows = gates.reshape(steps * batch, 4 * hidden)
    dw_x = saved.x.reshape(steps * batch, saved.x.shape[2]).T @ rows
    dx = (rows @ weights[0].T).reshape(saved.x.shape)
    return dw_x, dw_h, np.asarray(np.sum(rows, axis=0, dtype=np.float64)), dx, dh, dc


@kernel("DynamicRNNGrad", shape=fused_gradient_shape, attrs={"gate_order": "ijfo"}, **GRADIENT,
        forms=(with_any_kind("DynamicRNNGrad", "cell_type"),))  # fmt: skip
def dynamic_rnn_grad(
    x: Array, w: Array, init_h: Array, init_c: Array, h: Array, c: Array, dy: Array, dh: Array, dc: Array, i: Array, j: Array,
    f: Array, o: Array, tanhct: Array | None, seq_length: Array | None, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of DynamicRNN by w, b, x and the first states, from the gates that it kept.

    dy is the gradient of y at every step, dh and dc those of the states: at every step, or (batch, hidden) of the last one.
    tanhct left out is worked out from c. There are no gradients of peepholes: dwci, dwcf and dwco have no tensors.
    """
    saved = Saved(call, {"x": x, "init_h": init_h, "init_c": init_c, "h": h, "c": c, "dy": dy, "dh": dh, "dc": dc, "i": i,
                         "j": j, "f": f, "o": o, "tanhct": tanhct, "seq_length": seq_length})  # fmt: skip
    features = x.shape[2]
    parts = lstm_gradients(saved, (w[:features], w[features:]), call.attr("gate_order"))
    dw_x, dw_h, db, dx, dh_prev, dc_prev = parts
    turned = in_time(dx, call.attr("time_major"))
    return np.concatenate([dw_x, dw_h]), db, turned, dh_prev.reshape(init_h.shape), dc_prev.reshape(init_c.shape), [], [], []


@kernel("DynamicRNNV2Grad", shape=split_gradient_shape, **GRADIENT, forms=(with_any_kind("DynamicRNNV2Grad", "cell_type"),))
def dynamic_rnn_v2_grad(
    x: Array, w_x: Array, w_h: Array, init_h: Array, init_c: Array, h: Array, c: Array, dy: Array, dh: Array, dc: Array,
    i: Array, j: Array, f: Array, o: Array, tanhct: Array, seq_length: Array | None, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of DynamicRNNV2 by both weights, the bias, x and the first states, from the gates that it kept.

    dy is the gradient of y at every step, dh and dc those of the states: at every step, or (batch, hidden) of the last one.
    There are no gradients of peepholes: dwci, dwcf and dwco have no tensors.
    """
    saved = Saved(call, {"x": x, "init_h": init_h, "init_c": init_c, "h": h, "c": c, "dy": dy, "dh": dh, "dc": dc, "i": i,
                         "j": j, "f": f, "o": o, "tanhct": tanhct, "seq_length": seq_length})  # fmt: skip
    dw_x, dw_h, db, dx, dh_prev, dc_prev = lstm_gradients(saved, (w_x, w_h), call.attr("gate_order"))
    turned = in_time(dx, call.attr("time_major"))
    return dw_x, dw_h, db, turned, dh_prev.reshape(init_h.shape), dc_prev.reshape(init_c.shape), [], [], []
