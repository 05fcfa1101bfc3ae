"""What recurrent operators share: their shapes and attributes, the order of the steps, and which of them count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

DIRECTIONS = {"UNIDIRECTIONAL": False, "REDIRECTIONAL": True}
"""From the first step to the last, or back."""

ONLY: dict[str, tuple[Any, ...]] = {
    "direction": tuple(DIRECTIONS), "cell_type": ("LSTM", True), "activation": ("tanh",), "recurrent_activation": ("sigmoid",),
    "use_peephole": (False,), "stateful": (False,), "cell_depth": (0, 1), "num_proj": (0,), "keep_prob": (1.0, -1.0),
    "merge_mode": ("concat",),
}  # fmt: skip
"""Values of attributes that say what is done here; torch-npu sets cell_type as a bool."""

UNUSED = ("wci", "wcf", "wco", "mask")
"""Inputs for peepholes and dropout inside of the cell."""


class Sizes(NamedTuple):
    """Steps, batch, features of the input, features of the state."""

    steps: Dim
    batch: Dim
    features: Dim
    hidden: Dim


def check_attributes(call: Call, orders: Sequence[str]) -> None:
    """Refuses attributes that ask for more than one plain layer."""
    for name, allowed in {**ONLY, "gate_order": tuple(orders)}.items():
        if name in call.attrs and call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: {', '.join(map(repr, allowed))}.")
    for name in UNUSED:
        if is_there(call, name):
            raise call.refuse("HA513", f"{name} is given; peepholes and dropout inside of the cell are not done: leave it out.")


def is_there(call: Call, name: str) -> bool:
    """Whether an optional input holds something: torch-npu sends scalars in place of those that it leaves out."""
    return call.has(name) and len(call.shape(name)) > 0


def sizes_of(call: Call, hidden: Dim) -> Sizes:
    """The sizes that x says, by time_major (steps, batch, features) or (batch, steps, features)."""
    first, second, features = rank_is(call, "x", 3)
    steps, batch = (first, second) if call.attr("time_major") else (second, first)
    return Sizes(steps, batch, features, hidden)


def gate_width(call: Call, name: str, gates: int) -> Dim:
    """Features of the state: the columns of a weight over its number of gates."""
    columns = rank_is(call, name, 2)[1]
    if isinstance(columns, int) and columns % gates:
        raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: a multiple of {gates} columns.")
    return columns // gates


def check_matrix(call: Call, name: str, rows: Dim, columns: Dim) -> None:
    """Refuses a weight of another shape."""
    given = rank_is(call, name, 2)
    for one, other in zip(given, (rows, columns), strict=True):
        equal_dims(call, one, other, f"{name} = {dims.text(given)}; allowed: {dims.text((rows, columns))}.")


def check_elements(call: Call, name: str, want: Shape) -> None:
    """Refuses an optional input that has not these dims, ones in front of them aside."""
    if not call.has(name):
        return
    given = call.shape(name)
    lead, rest = given[: max(len(given) - len(want), 0)], given[max(len(given) - len(want), 0) :]
    text = f"{name} = {dims.text(given)}; allowed: {dims.text(want)}."
    if len(rest) != len(want) or any(isinstance(dim, int) and dim != 1 for dim in lead):
        raise call.refuse("HA504", text)
    for one, other in zip(rest, want, strict=True):
        equal_dims(call, one, other, text)


def trimmed(array: Array, rank: int) -> Array:
    """An input without the ones in front that it may have."""
    return array.reshape(array.shape[array.ndim - rank :])


def check_lengths(call: Call, sizes: Sizes) -> None:
    """seq_length: a number for each sequence, or a mask (steps, batch, hidden) of a float type."""
    if is_there(call, "seq_length"):
        whole = call.dtype("seq_length") == dtypes.INT32
        check_elements(call, "seq_length", (sizes.batch,) if whole else (sizes.steps, sizes.batch, sizes.hidden))


def each_step(call: Call, sizes: Sizes) -> Shape:
    """The shape of a state at every step."""
    lead = (sizes.steps, sizes.batch) if call.attr("time_major") else (sizes.batch, sizes.steps)
    return (*lead, sizes.hidden)


def state_dtype(call: Call) -> tuple[int, ...]:
    """float16 or float32: that of the bias, else of x, unless another one is described."""
    first = call.dtype(next(name for name in ("b", "bias_input", "init_h", "x") if call.has(name)))
    return first, dtypes.FLOAT if first == dtypes.FLOAT16 else dtypes.FLOAT16


def in_time(x: Array, time_major: bool) -> Array:
    """The tensor with steps in front; the same turns a result back."""
    return x if time_major else np.swapaxes(x, 0, 1)


def order_of(steps: int, direction: str) -> list[int]:
    """The steps in the order in which they are done."""
    order = list(range(steps))
    return order[::-1] if DIRECTIONS[direction] else order


def counting(seq_length: Array | None, steps: int, call: Call) -> Array | None:
    """Which steps of each sequence count: (steps, batch, 1 or hidden) of bool; None: all."""
    if seq_length is None or not seq_length.ndim:
        return None
    if seq_length.dtype.kind == "f":
        return np.asarray(seq_length != 0)
    lengths = seq_length.ravel()
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= steps:
        told = f"seq_length holds {lengths.min()} to {lengths.max()}; allowed: 0 to {steps}, the number of steps."
        raise Failed("HA510", f"{call.op_type}: {told}")
    return np.asarray(np.arange(steps)[:, None, None] < lengths[None, :, None])


def held(count: Array | None, step: int, new: Array, old: Array | float) -> Array:
    """The new values where the step counts, else the old ones."""
    return new if count is None else np.where(count[step], new, old)


def start(state: Array | None, batch: int, hidden: int) -> Array:
    """The first state as (batch, hidden): zeros when none is given."""
    return np.zeros((batch, hidden), np.float32) if state is None else state.reshape(batch, hidden).astype(np.float32)


def arriving(gradient: Array, shape: tuple[int, ...], last: int) -> Array:
    """The gradient of a state at every step; one of the last state only is that of the step done last."""
    if gradient.size == np.prod(shape):
        return gradient.reshape(shape)
    result = np.zeros(shape, np.float32)
    result[last] = gradient.reshape(shape[1:])
    return result


def check_arriving(call: Call, name: str, sizes: Sizes) -> None:
    """A gradient of a state: of every step, or of the last one."""
    given = call.shape(name)
    want = each_step(call, sizes)
    if len(given) == 3 and (given[0] != 1 or want[0] == 1):
        check_elements(call, name, want)
    else:
        check_elements(call, name, (sizes.batch, sizes.hidden))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))
