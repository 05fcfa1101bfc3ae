"""Depthwise and transposed convolutions: one product for each place of the filter, in float64 or exact integers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed
from random_calls.oracles.conv import LETTERS, correlate, ordered
from random_calls.oracles.matmul import without

TRANSPOSED = ("Conv2DTranspose", "Conv2DTransposeD", "Conv3DTranspose", "Conv3DTransposeD")


def geometry(d: Dice, rank: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Filter size, dilations, strides and pads."""
    one = d.wants("one element")
    kernel = [1 if one else d.int(1, 3) for _ in range(rank)]
    dilation = [1 if one else d.int(1, 2) for _ in range(rank)]
    stride = [1 if one else d.int(1, 3) for _ in range(rank)]
    pads = [0 if one else d.int(0, (k - 1) * g) for k, g in zip(kernel, dilation, strict=True) for _ in range(2)]
    d.values.update(kernel=kernel, dilations=dilation, strides=stride, pads=pads)
    return kernel, dilation, stride, pads


def send(d: Dice, letters: str, order: str) -> None:
    """strides, dilations, pads and data_format as attributes."""
    for name in ("strides", "dilations"):
        numbers = d.values[name]
        by_letter = {"N": 1, "C": 1, **dict(zip(order[2:], numbers, strict=True))}
        if name == "strides" or max(numbers) > 1 or d.chance():
            d.attrs[name] = ("list_int", [by_letter[letter] for letter in letters])
    d.attrs["pads"] = ("list_int", d.values["pads"])
    if letters != d.prototype.attrs["data_format"].default or d.chance():
        d.attrs["data_format"] = ("string", letters)


def bias_and_output(d: Dice, channels: int, layout: int, main: int) -> None:
    code = dtypes.INT32 if values.is_int(main) else main
    if main == dtypes.FLOAT16 and d.chance(0.3):
        code = dtypes.FLOAT
    if d.optional("bias"):
        d.tensor("bias", (channels,), dtype=int(d.choose(code, main)) if main == dtypes.FLOAT16 else code)
    if values.is_int(main):
        d.attr("offset_x", 3, -7)
    d.output("y", code, format=layout)


@shapes("DepthwiseConv2D")
def depthwise(d: Dice) -> None:
    kernel, dilation, _, pads = geometry(d, 2)
    sizes = [(k - 1) * g + 1 + d.int(0, 3) for k, g in zip(kernel, dilation, strict=True)]
    if d.wants("long"):
        sizes[1] = d.int(30, 60)
    one = d.kind == "one element"
    sizes = [1, 1] if one else sizes
    batch, channels, multiplier = (0 if d.wants("empty") else 1 if one else d.int(1, 2)), 1 if one else d.int(1, 3), 1
    multiplier = 1 if one else d.int(1, 3)
    data = d.choose(formats.NCHW, formats.NHWC)
    weights = d.choose(formats.NCHW, formats.HWCN, formats.NHWC)
    x = {"N": batch, "C": channels, "H": sizes[0], "W": sizes[1]}
    w = {"N": multiplier, "C": channels, "H": kernel[0], "W": kernel[1]}
    d.tensor("x", tuple(x[letter] for letter in LETTERS[data]), format=data)
    d.tensor("filter", tuple(w[letter] for letter in LETTERS[weights]), format=weights)
    send(d, LETTERS[data], "NCHW")
    d.values["pads"] = pads
    bias_and_output(d, channels * multiplier, data, d.dtype)


@oracle("DepthwiseConv2D", family="conv")
def depthwise_conv(
    x: Any, filter: Any, bias: Any, strides: Any, dilations: Any, pads: Any, offset_x: int, dice: Dice
) -> Any:  # fmt: skip
    data, weights = (LETTERS[dice.inputs[name][0].spec.format] for name in ("x", "filter"))
    images, taps = without(ordered(x, data, "NCHW"), offset_x), ordered(filter, weights, "CNHW")
    channels = images.shape[1]
    flat = taps.reshape(-1, 1, *taps.shape[2:])
    shape = (-1, 1, 1)
    total = correlate(images, flat, strides, dilations, pads, channels) + (0 if bias is None else bias.reshape(shape))
    if x.dtype == object:
        return ordered(total, "NCHW", data)
    size = correlate(finite(images), finite(flat), strides, dilations, pads, channels)
    size = size + (0 if bias is None else finite(bias).reshape(shape))
    return summed(ordered(total, "NCHW", data), ordered(size, "NCHW", data), 2 * int(np.prod(taps.shape[2:])) + 4)


@shapes(*TRANSPOSED)
def transposed(d: Dice) -> None:
    order = "NCDHW" if "3D" in d.prototype.op_type else "NCHW"
    rank = len(order) - 2
    kernel, dilation, stride, pads = geometry(d, rank)
    one = d.kind == "one element"
    groups, batch = 1 if one else d.int(1, 2), 0 if d.wants("empty") else 1 if one else d.int(1, 2)
    each_in, each_out = (1, 1) if one else (d.int(1, 2), d.int(1, 3))
    sizes = [1 if one else d.int(1, 3) for _ in range(rank)]
    if d.wants("long"):
        sizes[-1] = d.int(30, 60)
    if d.kind.startswith("attributes") or "groups" not in d.generation.attrs:
        groups = 1
    layouts = (formats.NCDHW, formats.NDHWC, formats.DHWCN) if rank == 3 else (formats.NCHW, formats.NHWC, formats.HWCN)
    data, weights = d.choose(*layouts[:2]), d.choose(*layouts)
    extra = [d.int(0, s - 1) if s > 1 and d.chance(0.4) else 0 for s in stride]
    least = [(n - 1) * s + (k - 1) * g + 1 - pads[2 * i] - pads[2 * i + 1] for i, (n, s, k, g) in
             enumerate(zip(sizes, stride, kernel, dilation, strict=True))]  # fmt: skip
    small = [max(one, 0) for one in least]
    out = [a + b for a, b in zip(small, extra, strict=True)]
    letters = LETTERS[data]
    y = dict(zip(order, (batch, each_out * groups, *out), strict=True))
    wanted = [y[letter] for letter in letters]
    by_padding = any(extra) and not d.kind.startswith("attributes") and d.chance()
    if by_padding:
        values_of = {"N": 0, "C": 0, **dict(zip(order[2:], extra, strict=True))}
        d.attrs["output_padding"] = ("list_int", [values_of[letter] for letter in letters])
        wanted = [0] * len(wanted) if d.chance() else wanted
    main = d.dtype
    if "input_size" in d.generation.attrs:
        d.attrs["input_size"] = ("list_int", wanted)
    else:  # its list of types is as long as that of x, so that calls are drawn for the types of input_size
        d.value("input_size", np.array(wanted), dtype=d.dtype)
        decl = d.decl("x")
        assert decl is not None
        main = int(d.choose(*decl.dtypes))
    x = dict(zip(order, (batch, each_in * groups, *sizes), strict=True))
    w = dict(zip(order, (each_in * groups, each_out, *kernel), strict=True))
    d.tensor("x", tuple(x[letter] for letter in letters), dtype=main, format=data)
    d.tensor("filter", tuple(w[letter] for letter in LETTERS[weights]), dtype=main, format=weights)
    send(d, letters, order)
    if groups > 1 or d.wants("attributes default"):
        d.attrs["groups"] = ("int", groups)
    d.values.update(groups=groups, out=out)
    bias_and_output(d, each_out * groups, data, main)
    if values.is_int(main) and d.optional("offset_w"):
        d.tensor("offset_w", (d.choose(1, each_out * groups),), -5, 5, dtype=dtypes.INT8)


def spread(x: Any, weight: Any, d: Dice, out: Sequence[int]) -> Any:
    """Each element of x times each filter element, added where it lies; (N, C, …) and (C, O/groups, …)."""
    rank, groups, pads = x.ndim - 2, d.values["groups"], d.values["pads"]
    reach = [(n - 1) * s + (k - 1) * g + 1 for n, s, k, g in
             zip(x.shape[2:], d.values["strides"], d.values["kernel"], d.values["dilations"], strict=True)]  # fmt: skip
    room = [max(a, b + pads[2 * i] + pads[2 * i + 1]) for i, (a, b) in enumerate(zip(reach, out, strict=True))]
    each_in, each_out = x.shape[1] // groups, weight.shape[1]
    wide = np.zeros((x.shape[0], each_out * groups, *room), x.dtype)
    for place in itertools.product(*map(range, x.shape[2:])):
        for tap in itertools.product(*map(range, weight.shape[2:])):
            at = tuple(p * s + t * g for p, s, t, g in
                       zip(place, d.values["strides"], tap, d.values["dilations"], strict=True))  # fmt: skip
            for source, target in itertools.product(range(x.shape[1]), range(each_out)):
                channel = source // each_in * each_out + target
                wide[(slice(None), channel, *at)] += x[(slice(None), source, *place)] * weight[(source, target, *tap)]
    return wide[(slice(None), slice(None), *(slice(pads[2 * i], pads[2 * i] + out[i]) for i in range(rank)))]


@oracle(*TRANSPOSED, family="conv")
def transposed_conv(x: Any, filter: Any, bias: Any, offset_w: Any, offset_x: int, dice: Dice) -> Any:
    data, weights = (LETTERS[dice.inputs[name][0].spec.format] for name in ("x", "filter"))
    order = "NCDHW" if len(data) == 5 else "NCHW"
    images, taps, out = without(ordered(x, data, order), offset_x), ordered(filter, weights, order), dice.values["out"]
    shape = (-1, *(1,) * len(out))
    if offset_w is not None:
        each = np.broadcast_to(offset_w, taps.shape[1] * dice.values["groups"]).reshape(dice.values["groups"], -1)
        taps = without(taps, np.repeat(each, taps.shape[0] // len(each), axis=0).reshape(*taps.shape[:2], *shape[1:]))
    total = spread(images, taps, dice, out) + (0 if bias is None else bias.reshape(shape))
    if x.dtype == object:
        return ordered(total, order, data)
    size = spread(finite(images), finite(taps), dice, out) + (0 if bias is None else finite(bias).reshape(shape))
    terms = images.shape[1] * int(np.prod(taps.shape[2:]))
    return summed(ordered(total, order, data), ordered(size, order, data), 2 * terms + 4)
