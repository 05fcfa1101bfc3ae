"""Convolutions: one shifted product for each place of the filter, in float64 or exact integers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed
from random_calls.oracles.matmul import offsets, without


def correlate(x: Any, weight: Any, strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], groups: int) -> Any:
    """Cross-correlation of x (N, C, …) with weight (O, C/groups, …); pads are before and after for each spatial axis."""
    rank = x.ndim - 2
    wide = np.zeros((*x.shape[:2], *(size + pads[2 * i] + pads[2 * i + 1] for i, size in enumerate(x.shape[2:]))), x.dtype)
    wide[(..., *(slice(pads[2 * i], pads[2 * i] + size) for i, size in enumerate(x.shape[2:])))] = x
    sizes = [(wide.shape[2 + i] - (weight.shape[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
    result = np.zeros((x.shape[0], weight.shape[0], *sizes), x.dtype)
    each_in, each_out = weight.shape[1], weight.shape[0] // groups
    for group, place in itertools.product(range(groups), itertools.product(*(range(size) for size in weight.shape[2:]))):
        window = tuple(
            slice(at * d, at * d + (n - 1) * s + 1, s) for at, d, n, s in zip(place, dilations, sizes, strides, strict=True)
        )
        part = wide[(slice(None), slice(group * each_in, (group + 1) * each_in), *window)]
        taps = weight[(slice(group * each_out, (group + 1) * each_out), slice(None), *place)]
        for out, source in itertools.product(range(each_out), range(each_in)):
            result[:, group * each_out + out] += part[:, source] * taps[out, source]
    return result


def ordered(array: Any, source: str, target: str) -> Any:
    """An array whose axes have these letters, in another order of the letters."""
    return np.transpose(array, [source.index(letter) for letter in target])


LETTERS = {
    formats.NCHW: "NCHW",
    formats.NHWC: "NHWC",
    formats.HWCN: "HWCN",
    formats.NCDHW: "NCDHW",
    formats.NDHWC: "NDHWC",
    formats.DHWCN: "DHWCN",
}


@shapes("Conv2D")
def two_dims(d: Dice) -> None:
    convolution(d, "NCHW", (formats.NCHW, formats.NHWC), (formats.NCHW, formats.NHWC, formats.HWCN))


@shapes("Conv3D")
def three_dims(d: Dice) -> None:
    convolution(d, "NCDHW", (formats.NCDHW, formats.NDHWC), (formats.NCDHW, formats.NDHWC, formats.DHWCN))


def convolution(d: Dice, order: str, data_formats: tuple[int, ...], filter_formats: tuple[int, ...]) -> None:
    """x, filter and perhaps a bias in drawn formats, with strides, dilations, pads and groups that fit."""
    rank = len(order) - 2
    one = d.wants("one element")
    groups = 1 if one else d.choose(1, 1, 2, 3)
    each_in, each_out, batch = (1, 1, 1) if one else (d.int(1, 3), d.int(1, 3), d.int(1, 2))
    if d.wants("empty"):
        batch = 0
    kernel = [1 if one else d.int(1, 3) for _ in range(rank)]
    dilation = [1 if one else d.int(1, 2) for _ in range(rank)]
    stride = [1 if one else d.int(1, 3) for _ in range(rank)]
    pads = [0 if one else d.int(0, 2) for _ in range(2 * rank)]
    sizes = [
        max((k - 1) * g + 1 - sum(pads[2 * i : 2 * i + 2]), 1) + (0 if one else d.int(0, 3))
        for i, (k, g) in enumerate(zip(kernel, dilation, strict=True))
    ]
    if d.wants("long"):
        sizes[-1] = d.int(30, 60)
    data, weights = d.choose(*data_formats), d.choose(*filter_formats)
    x = dict(zip(order, (batch, each_in * groups, *sizes), strict=True))
    w = dict(zip(order, (each_out * groups, each_in, *kernel), strict=True))
    code = dtypes.INT32 if values.is_int(d.dtype) else d.dtype
    d.tensor("x", tuple(x[letter] for letter in LETTERS[data]), format=data)
    d.tensor("filter", tuple(w[letter] for letter in LETTERS[weights]), format=weights)
    if d.optional("bias"):
        d.tensor("bias", (w["N"],), dtype=dtypes.FLOAT if d.dtype == dtypes.BF16 else code)
    offsets(d, w["N"])
    spatial = [letter for letter in order if letter not in "NC"]
    for name, numbers in (("strides", stride), ("dilations", dilation)):
        by_letter = {"N": 1, "C": 1, **dict(zip(spatial, numbers, strict=True))}
        d.values[name] = numbers
        if name == "strides" or max(numbers) > 1 or d.chance():
            d.attrs[name] = ("list_int", [by_letter[letter] for letter in LETTERS[data]])
    d.attrs["pads"] = ("list_int", pads)
    d.values.update(pads=pads, groups=groups)
    if not d.wants("attributes absent") and (d.wants("attributes default") or d.wants("attributes varied") or d.chance()):
        d.attrs["groups"] = ("int", groups)
    if data == formats.CODES[d.prototype.attrs["data_format"].default]:
        d.attr("data_format")
    else:
        d.attrs["data_format"] = ("string", LETTERS[data])
    if d.dtype == dtypes.FLOAT16 and d.chance(0.3):
        code = dtypes.FLOAT
    d.output("y", code, format=data)


@oracle("Conv2D", "Conv3D")
def convolve(
    x: Any, filter: Any, bias: Any, offset_w: Any, strides: Any, dilations: Any, pads: Any, groups: int, offset_x: Any,
    dice: Dice,
) -> Any:  # fmt: skip
    data, weights = (LETTERS[dice.inputs[name][0].spec.format] for name in ("x", "filter"))
    order = "NCHW" if len(data) == 4 else "NCDHW"
    first, second = without(ordered(x, data, order), offset_x), ordered(filter, weights, order)
    shape = (-1, *(1,) * len(strides))
    second = second if offset_w is None else without(second, offset_w.reshape(-1, 1, *shape[1:]))
    total = correlate(first, second, strides, dilations, pads, groups)
    total = total if bias is None else total + bias.reshape(shape)
    if x.dtype == object:
        return ordered(total, order, data)
    size = correlate(finite(first), finite(second), strides, dilations, pads, groups) + (
        0 if bias is None else finite(bias).reshape(shape)
    )
    return summed(ordered(total, order, data), ordered(size, order, data), 2 * int(np.prod(second.shape[1:])) + 4)
