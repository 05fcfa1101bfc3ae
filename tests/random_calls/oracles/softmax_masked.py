"""Logarithm of softmax, masked softmax: exp of logarithms in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

FAMILY = "softmax"


def logs(x: Any, axes: tuple[int, ...]) -> Any:
    """Below the largest, added up two by two, so that what is little beside e^0 counts."""
    below = x - np.max(x, axis=axes, keepdims=True)
    total = below
    for axis in axes:
        total = np.logaddexp.reduce(total, axis=axis, keepdims=True)
    return below - total


@shapes("LogSoftmaxV2")
def log_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("logits", shape, *d.choose((), (-60, 60)))
    d.attr("axes", [d.axis(len(shape))], d.axes(len(shape), 1))


@oracle("LogSoftmaxV2", family=FAMILY)
def log_softmax(logits: Any, axes: list[int], dice: Dice) -> Any:
    if logits.size == 0:
        return logits
    along = tuple(axis % logits.ndim for axis in axes)
    top = np.max(logits, axis=along, keepdims=True)
    bits = 53 if dice.dtype == dtypes.DOUBLE else 24
    terms = logits.size
    return Within(logs(logits, along), (finite(logits - top) + 2 + np.log(terms)) * 4 * 2.0**-bits)


def soft(scores: Any, sizes: Any) -> Within:
    if scores.size == 0:
        return Within(scores, 0.0)
    result = np.exp(logs(scores, (scores.ndim - 1,)))
    top = finite(sizes).max(axis=-1, keepdims=True)
    slack = finite(result) * (16 + 4 * top) * 2.0**-24
    return Within(result, np.where(top > 3e38, np.inf, slack))


@shapes("ScaledMaskedSoftmax")
def masked_call(d: Dice) -> None:
    shape = d.shape(2)
    d.tensor("x", shape, -5, 5)
    triangle = True
    if d.kind == "optional absent":
        d.attrs["fixed_triu_mask"], d.values["fixed_triu_mask"] = ("bool", True), True
    else:
        triangle = d.attr("fixed_triu_mask", True)
    if d.optional("mask") or not triangle:
        d.inputs.pop("mask", None)
        thin = tuple(1 if d.wants("broadcast") or d.chance(0.2) else size for size in shape)
        d.tensor("mask", d.rng.random(thin) < 0.3, dtype=dtypes.BOOL)
    d.attr("scale", 0.5)
    d.output("y", d.choose(dtypes.FLOAT16, dtypes.BF16) if d.dtype == dtypes.FLOAT else d.dtype)


@oracle("ScaledMaskedSoftmax", family=FAMILY)
def masked(x: Any, mask: Any, scale: float, fixed_triu_mask: bool) -> Any:
    rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
    hidden = columns > rows if fixed_triu_mask else mask.astype(bool)
    scores = np.where(np.broadcast_to(hidden, x.shape), -10000.0, x * scale)
    return soft(scores, scores)


@shapes("MaskedSoftmaxWithRelPosBias")
def biased_call(d: Dice) -> None:
    one = d.wants("one element")
    b, w, n, s = (1,) * 4 if one else (d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 4))
    b = 0 if d.wants("empty") else b
    last = d.int(60, 90) if d.wants("long") else s
    d.tensor("x", (b, w, n, s, last), -5, 5)
    if d.optional("atten_mask"):
        d.tensor("atten_mask", d.choose((w, s, last), (1, w, 1, s, last)), -5, 5)
    d.tensor("relative_pos_bias", d.choose((n, s, last), (1, 1, n, s, last)), -5, 5)
    d.attr("scale_value", 0.5)


@oracle("MaskedSoftmaxWithRelPosBias", family=FAMILY)
def biased(x: Any, atten_mask: Any, relative_pos_bias: Any, scale_value: float) -> Any:
    scores, sizes = x * scale_value, finite(x * scale_value)
    if atten_mask is not None:
        mask = atten_mask.reshape(atten_mask.shape[-3] if atten_mask.ndim == 3 else atten_mask.shape[1], 1, *x.shape[-2:])
        scores, sizes = scores + mask, sizes + finite(mask)
    bias = relative_pos_bias.reshape(-1, *x.shape[-2:]) if x.size else relative_pos_bias.reshape(x.shape[2:])
    return soft(scores + bias, sizes + finite(bias))


@shapes("AxpyWithSoftmaxAndDropOutDoMask")
def axpy_call(d: Dice) -> None:
    shape = d.shape(1)
    for name in ("x1", "x2"):
        d.tensor(name, shape, -3, 3)
    d.tensor("mask", d.rng.integers(0, 256, -(-int(np.prod(shape)) // 128) * 16), dtype=dtypes.UINT8)
    for name, value in (("alpha", d.choose(0.5, -1.0)), ("input_keep_prob", d.choose(0.5, 0.75))):
        d.attrs[name], d.values[name] = ("float", value), value
    d.attr("axis", [d.axis(len(shape))])


@oracle("AxpyWithSoftmaxAndDropOutDoMask", family=FAMILY)
def axpy_softmax(x1: Any, x2: Any, mask: Any, alpha: float, input_keep_prob: float, axis: list[int]) -> Any:
    place = axis[0] % x1.ndim
    total, size = np.moveaxis(x1 + alpha * x2, place, -1), np.moveaxis(finite(x1) + finite(x2), place, -1)
    y, slack = (np.moveaxis(np.broadcast_to(one, total.shape), -1, place) for one in soft(total, size))
    bits = [int(mask.ravel()[at // 8]) >> at % 8 & 1 for at in range(x1.size)]
    kept = np.array(bits, bool).reshape(x1.shape)
    return Within(y, slack), Within(np.where(kept, y / input_keep_prob, 0.0), slack / input_keep_prob)
