"""Gradients of pooling by a loop over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.pooling import LETTERS, each_window, largest, listed, moved, named_format, result_shape


def drawn(d: Dice, rank: int, lists: Sequence[str], layouts: tuple[int, ...], order_of_lists: str = "") -> None:
    """Windows, formats and the attributes of the lists; ``d.values["x"]`` is the pooled tensor's shape as (N, C, spatial)."""
    one = d.wants("one element")
    layout = d.choose(*layouts)
    order = LETTERS[layout]
    k, s = ([1 if one else d.int(1, 3) for _ in range(rank)] for _ in range(2))
    pads = [(0, 0) if one else (d.int(0, size // 2), d.int(0, size // 2)) for size in k]
    sizes = [1 if one else size + d.int(0, 3) for size in k]
    if d.wants("long"):
        sizes[-1] = d.int(30, 60)
    d.values.update(k=k, s=s, d=[1] * rank, pads=pads, mode="CALCULATED", ceil=False, order=order, layout=layout)
    batch = 0 if d.wants("empty") else 1 if one else d.int(1, 2)
    d.values["x"] = (batch, 1 if one else d.int(1, 3), *sizes)
    for name, key in zip(lists, ("k", "s"), strict=False):
        d.attrs[name] = ("list_int", listed(d, d.values[key], order_of_lists or order))


def as_order(d: Dice, shape: Sequence[int]) -> tuple[int, ...]:
    order = d.values["order"]
    target = "NC" + "DHW"[-(len(order) - 2) :]
    return tuple(shape[target.index(letter)] for letter in order)


def planes(d: Any) -> Any:
    return np.zeros(d.values["x"])


def pooled(d: Dice) -> tuple[int, ...]:
    return as_order(d, result_shape(planes(d), d))


PLAIN = ("MaxPoolGrad", "MaxPoolGradGrad", "AvgPoolGrad", "AvgPoolGradD")
"""Operators that only have the paddings SAME and VALID."""


def calculated_pads(d: Dice, modes: bool = True) -> None:
    if modes:
        name = "padding_mode" if "padding_mode" in d.generation.attrs else "padding"
        choices = ("SAME", "VALID") if d.prototype.op_type in PLAIN else ("SAME", "VALID", "CALCULATED")
        d.values["mode"] = d.attr(name, *choices)
    if "pads" in d.generation.attrs:
        required = d.generation.attrs["pads"].required
        if required or (d.values["mode"] == "CALCULATED" and not d.kind.startswith("attributes")):
            d.attrs["pads"] = ("list_int", [one for pair in d.values["pads"] for one in pair])
        else:
            d.values["pads"] = [(0, 0)] * len(d.values["pads"])
    if "ceil_mode" in d.generation.attrs:
        d.values["ceil"] = d.attr("ceil_mode", True)
    if "global_pooling" in d.generation.attrs and d.attr("global_pooling", d.chance(0.2)):
        d.values["windows"] = [[list(range(size))] for size in d.values["x"][2:]]


# --- to the largest ---


@shapes("MaxPoolV3Grad", "MaxPoolGrad", "MaxPool3DGrad", "MaxPoolGradGrad", "MaxPool3DGradGrad")
def by_comparison(d: Dice) -> None:
    rank = 3 if "3D" in d.prototype.op_type else 2
    layouts = (formats.NCDHW, formats.NDHWC) if rank == 3 else (formats.NCHW, formats.NHWC)
    drawn(d, rank, ("ksize", "strides"), layouts)
    calculated_pads(d, d.prototype.op_type != "MaxPool3DGradGrad")
    named_format(d)
    source, result, gradient = (decl.name for decl in d.generation.inputs)
    layout = d.values["layout"]
    x = d.tensor(source, as_order(d, d.values["x"]), format=layout)
    d.values["input"] = x
    d.tensor(result, pooled(d), format=layout)
    twice = d.prototype.op_type.endswith("GradGrad")
    d.tensor(gradient, as_order(d, d.values["x"]) if twice else pooled(d), format=layout)
    d.output(d.generation.outputs[0].name, d.dtype, format=layout)


def to_largest(x: Any, grads: Any, dice: Dice) -> Any:
    source, back = moved(x, dice)
    given, _ = moved(grads, dice)
    _, places = largest(source, dice)
    result = np.zeros(source.shape, x.dtype)
    size = np.zeros(source.shape)
    for index in np.ndindex(*given.shape):
        result[index[:2]].flat[places[index]] += given[index]
        size[index[:2]].flat[places[index]] += finite(np.float64(given[index]))
    if values.is_int(dice.dtype):
        return back(result)
    return Within(back(result), back(size) * 1e-13)


@oracle("MaxPoolV3Grad", family="pooling")
def max_v3(orig_input: Any, grad: Any, dice: Dice) -> Any:
    return to_largest(orig_input, grad, dice)


@oracle("MaxPoolGrad", family="pooling")
def max_plain(x1: Any, grad: Any, dice: Dice) -> Any:
    return to_largest(x1, grad, dice)


@oracle("MaxPool3DGrad", family="pooling")
def max_three(orig_x: Any, grads: Any, dice: Dice) -> Any:
    return to_largest(orig_x, grads, dice)


def of_largest(x: Any, grads: Any, dice: Dice) -> Any:
    source, back = moved(x, dice)
    given, _ = moved(grads, dice)
    y, places = largest(source, dice)
    result = np.zeros(y.shape, grads.dtype)
    for index in np.ndindex(*y.shape):
        result[index] = given[index[:2]].flat[places[index]]
    return back(result)


@oracle("MaxPoolGradGrad", family="padding")
def max_twice(x1: Any, grad: Any, dice: Dice) -> Any:
    return of_largest(x1, grad, dice)


@oracle("MaxPool3DGradGrad", family="padding")
def max_three_twice(orig_x: Any, grads: Any, dice: Dice) -> Any:
    return of_largest(orig_x, grads, dice)


@shapes("MaxPoolGradWithArgmaxV1")
def by_argmax(d: Dice) -> None:
    drawn(d, 2, ("ksize", "strides"), (formats.NCHW,), "NHWC")
    pads = [(one[0], one[0]) for one in d.values["pads"]]
    d.values["pads"] = pads
    d.attrs["pads"] = ("list_int", [1, pads[0][0], pads[1][0], 1])
    if d.chance() and not d.wants("attributes absent"):
        d.attr("dilation")
    d.values["ceil"] = d.attr("ceil_mode", True)
    d.tensor("x", d.values["x"], format=formats.NCHW)
    shape = result_shape(planes(d), d)
    d.tensor("grad", shape, format=formats.NCHW)
    chosen = np.zeros(shape, np.int64)
    taps = np.zeros(shape, np.int64)
    for index, _, where, _ in each_window(planes(d), d):
        pick = d.int(0, len(where) - 1)
        chosen[index] = where[pick]
        height, width = divmod(where[pick], d.values["x"][3])
        row = height - (index[2] * d.values["s"][0] - pads[0][0])
        taps[index] = row * d.values["k"][1] + width - (index[3] * d.values["s"][1] - pads[1][0])
    d.values["chosen"] = chosen
    if d.choose(True, False):
        d.tensor("argmax", chosen, dtype=dtypes.INT32, format=formats.NCHW)
    else:
        d.tensor("argmax", as_masks(taps, d.values["k"]), dtype=dtypes.UINT16, format=formats.NCHW)
    d.output("y", d.dtype, format=formats.NCHW)


def as_masks(taps: Any, k: Sequence[int]) -> Any:
    count = int(np.prod(taps.shape[2:]))
    masks = np.zeros((*taps.shape[:2], k[0] * k[1], -(-count // 16) + 1), np.int64)
    for n, c in np.ndindex(*taps.shape[:2]):
        for window, tap in enumerate(taps[n, c].ravel()):
            masks[n, c, tap, window // 16] |= 1 << window % 16
    return masks


@oracle("MaxPoolGradWithArgmaxV1", family="pooling")
def argmax_v1(x: Any, grad: Any, dice: Dice) -> Any:
    result, size = np.zeros(x.shape), np.zeros(x.shape)
    for index in np.ndindex(*grad.shape):
        result[index[:2]].flat[dice.values["chosen"][index]] += grad[index]
        size[index[:2]].flat[dice.values["chosen"][index]] += finite(grad[index])
    return Within(result, size * 1e-13)


# --- shared ---


@shapes("AvgPoolGrad", "AvgPoolGradD", "AvgPoolV2Grad", "AvgPoolV2GradD", "AvgPool3DGrad", "AvgPool3DGradD")
def shared_call(d: Dice) -> None:
    rank = 3 if "3D" in d.prototype.op_type else 2
    layouts = (formats.NCDHW, formats.NDHWC) if rank == 3 else (formats.NCHW, formats.NHWC)
    drawn(d, rank, ("ksize", "strides"), layouts)
    calculated_pads(d, rank == 2)
    named_format(d)
    for name, choice in (("exclusive", False), ("count_include_pad", False), ("divisor_override", 3)):
        if name in d.generation.attrs:
            d.attr(name, choice)
    size, layout = as_order(d, d.values["x"]), d.values["layout"]
    if "orig_input_shape" in d.generation.attrs:
        d.attrs["orig_input_shape"] = ("list_int", list(size))
    else:
        d.value("orig_input_shape", np.array(size))
    gradient = next(decl.name for decl in d.generation.inputs if decl.name in ("grads", "input_grad"))
    d.tensor(gradient, pooled(d), format=layout)
    for name in ("mean_matrix", "kernel_matrix", "filter", "multiplier"):
        decl = d.decl(name)
        if decl is not None and (decl.kind == "required" or d.optional(name)):
            d.tensor(name, (1,))
    d.output(d.generation.outputs[0].name, d.dtype, format=layout)


def shared(grads: Any, padding: bool, divisor: int, dice: Dice) -> Any:
    given, back = moved(grads, dice)
    result, size = np.zeros(dice.values["x"]), np.zeros(dice.values["x"])
    for index, _, where, whole in each_window(planes(dice), dice):
        count = divisor or (whole if padding else len(where))
        for place in where:
            result[index[:2]].flat[place] += given[index] / count
            size[index[:2]].flat[place] += finite(given[index]) / count
    return Within(back(result), back(size) * 1e-13)


@oracle("AvgPoolV2Grad", "AvgPoolV2GradD", family="pooling")
def average(input_grad: Any, exclusive: bool, dice: Dice) -> Any:
    return shared(input_grad, not exclusive, 0, dice)


@oracle("AvgPoolGrad", "AvgPoolGradD", family="pooling")
def average_plain(input_grad: Any, dice: Dice) -> Any:
    return shared(input_grad, False, 0, dice)


@oracle("AvgPool3DGrad", "AvgPool3DGradD", family="pooling")
def average_three(grads: Any, count_include_pad: bool, divisor_override: int, dice: Dice) -> Any:
    return shared(grads, count_include_pad, divisor_override, dice)


@shapes("AdaptiveAvgPool2dGrad")
def adaptive_call(d: Dice) -> None:
    shape = d.shape(3, 4)
    d.tensor("input_grad", shape)
    sizes = (1, 1) if d.wants("one element") else (d.int(1, 7), d.int(1, 7))
    d.attrs["orig_input_shape"] = ("list_int", [*shape[:-2], *sizes])
    d.values["orig_input_shape"] = [*shape[:-2], *sizes]


@oracle("AdaptiveAvgPool2dGrad", family="pooling")
def adaptive(input_grad: Any, orig_input_shape: Any) -> Any:
    result, size = np.zeros(orig_input_shape), np.zeros(orig_input_shape)
    high, wide = orig_input_shape[-2:]
    for i, j in np.ndindex(*input_grad.shape[-2:]):
        rows = range(i * high // input_grad.shape[-2], -(-(i + 1) * high // input_grad.shape[-2]))
        columns = range(j * wide // input_grad.shape[-1], -(-(j + 1) * wide // input_grad.shape[-1]))
        part = input_grad[..., i, j] / (len(rows) * len(columns))
        for y in rows:
            for x in columns:
                result[..., y, x] += part
                size[..., y, x] += finite(part)
    return Within(result, size * 1e-13)
