"""Gradients of convolutions: one product for each place of the filter, in float64 or exact integers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed
from random_calls.oracles.conv import LETTERS, ordered

GRADIENTS = [f"Conv{n}DBackprop{side}{form}" for n in (2, 3) for side in ("Filter", "Input") for form in ("", "D")]


def places(d: Any, rank: int) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each filter element with the slices of the padded input that it meets."""
    out = [d.values["out"][i] for i in range(rank)]
    for tap in itertools.product(*(range(size) for size in d.values["kernel"])):
        yield tap, tuple(
            slice(at * g, at * g + (n - 1) * s + 1, s)
            for at, g, n, s in zip(tap, d.values["dilations"], out, d.values["strides"], strict=True)
        )


def grouped(array: Any, groups: int, axis: int) -> Any:
    """The channel axis split into (groups, each)."""
    return array.reshape(*array.shape[:axis], groups, array.shape[axis] // groups, *array.shape[axis + 1 :])


def filter_gradient(x: Any, dy: Any, d: Any) -> Any:
    rank, groups, pads = x.ndim - 2, d.values["groups"], d.values["pads"]
    wide = np.pad(x, [(0, 0), (0, 0), *((pads[2 * i], pads[2 * i + 1]) for i in range(rank))])
    source, grads = grouped(wide, groups, 1), grouped(dy, groups, 1)
    total = np.zeros((groups, grads.shape[2], source.shape[2], *d.values["kernel"]), x.dtype)
    for tap, window in places(d, rank):
        part = source[(slice(None), slice(None), slice(None), *window)]
        total[(..., *tap)] = (grads[:, :, :, None] * part[:, :, None]).sum(axis=(0, *range(4, 4 + rank)))
    return total.reshape(-1, *total.shape[2:])


def input_gradient(weight: Any, dy: Any, d: Any) -> Any:
    rank, groups, pads, size = dy.ndim - 2, d.values["groups"], d.values["pads"], d.values["size"]
    taps, grads = grouped(weight, groups, 0), grouped(dy, groups, 1)
    wide = np.zeros(
        (dy.shape[0], groups, weight.shape[1], *(size[i] + pads[2 * i] + pads[2 * i + 1] for i in range(rank))), dy.dtype
    )
    for tap, window in places(d, rank):
        each = taps[(..., *tap)][None, :, :, :].reshape(1, groups, -1, weight.shape[1], *(1,) * rank)
        wide[(slice(None), slice(None), slice(None), *window)] += (each * grads[:, :, :, None]).sum(axis=2)
    inner = (slice(pads[2 * i], pads[2 * i] + size[i]) for i in range(rank))
    return wide.reshape(dy.shape[0], groups * weight.shape[1], *wide.shape[3:])[(slice(None), slice(None), *inner)]


@shapes(*GRADIENTS)
def convolution_gradient(d: Dice) -> None:
    """x or filter, and out_backprop, in drawn formats, with strides, dilations, pads and groups that fit."""
    name = d.prototype.op_type
    order = "NCHW" if "2D" in name else "NCDHW"
    rank, one = len(order) - 2, d.wants("one element")
    groups = 1 if one else d.choose(1, 1, 2, 3)
    each_in, each_out, batch = (1, 1, 1) if one else (d.int(1, 3), d.int(1, 3), d.int(1, 2))
    batch = 0 if d.wants("empty") else batch
    kernel = [1 if one else d.int(1, 3) for _ in range(rank)]
    dilation, stride = ([1 if one else d.int(1, most) for _ in range(rank)] for most in (2, 3))
    pads = [0 if one else d.int(0, 2) for _ in range(2 * rank)]
    reach = [(k - 1) * g + 1 for k, g in zip(kernel, dilation, strict=True)]
    sizes = [
        max(r - sum(pads[2 * i : 2 * i + 2]), 1) + (0 if one else d.int(0, 3)) for i, r in enumerate(reach)
    ]
    if d.wants("long"):
        sizes[-1] = d.int(30, 60)
    out = [(sizes[i] + sum(pads[2 * i : 2 * i + 2]) - reach[i]) // stride[i] + 1 for i in range(rank)]
    first, last, filters = ("NCHW", "NHWC", "HWCN") if rank == 2 else ("NCDHW", "NDHWC", "DHWCN")
    data, weights = formats.CODES[d.choose(first, last)], formats.CODES[d.choose(first, last, filters)]
    x = dict(zip(order, (batch, each_in * groups, *sizes), strict=True))
    w = dict(zip(order, (each_out * groups, each_in, *kernel), strict=True))
    dy = tuple(dict(zip(order, (batch, each_out * groups, *out), strict=True))[letter] for letter in LETTERS[data])
    d.values.update(
        kernel=kernel, out=out, size=sizes, strides=stride, dilations=dilation, pads=pads, groups=groups, data=LETTERS[data],
        weights=LETTERS[weights], order=order,
    )  # fmt: skip
    x_shape, w_shape = tuple(x[one] for one in LETTERS[data]), tuple(w[one] for one in LETTERS[weights])
    if "Filter" in name:
        d.tensor("x", x_shape, format=data)
        sized(d, "filter_size", w_shape)
    else:
        sized(d, "input_size", x_shape)
        d.tensor("filter", w_shape, format=weights)
    d.tensor("out_backprop", dy, format=data)
    attributes(d, LETTERS[data])
    wide = name.endswith("FilterD") or (d.dtype in dtypes.HALVES and d.chance(0.3))
    code = dtypes.INT32 if values.is_int(d.dtype) else dtypes.FLOAT if wide else d.dtype
    d.output("y", code, format=weights if "Filter" in name else data)


def sized(d: Dice, name: str, shape: Sequence[int]) -> None:
    """The size of the gradient, as an attribute or a value input."""
    if name in d.generation.attrs:
        d.attrs[name] = ("list_int", list(shape))
    else:
        d.value(name, np.array(shape, np.int64))


def attributes(d: Dice, data: str) -> None:
    """The attributes of the window, in the order of the data."""
    spatial = "HW" if len(data) == 4 else "DHW"
    for name in ("strides", "dilations"):
        letters = {"N": 1, "C": 1, **dict(zip(spatial, d.values[name], strict=True))}
        if name == "strides" or max(d.values[name]) > 1 or d.chance():
            d.attrs[name] = ("list_int", [letters[letter] for letter in data])
    d.attrs["pads"] = ("list_int", d.values["pads"])
    if not d.wants("attributes absent") and (d.wants("attributes default") or d.wants("attributes varied") or d.chance()):
        d.attrs["groups"] = ("int", d.values["groups"])
    if d.chance() or data in ("NCHW", "NCDHW"):
        d.attrs["data_format"] = ("string", data)


@oracle(*[name for name in GRADIENTS if "Filter" in name], family="conv")
def of_filter(x: Any, out_backprop: Any, dice: Any) -> Any:
    data, weights, order = (dice.values[name] for name in ("data", "weights", "order"))
    source, grads = ordered(x, data, order), ordered(out_backprop, data, order)
    terms = int(np.prod([grads.shape[0], *grads.shape[2:]]))
    total, size = filter_gradient(source, grads, dice), filter_gradient(finite(source), finite(grads), dice)
    return summed(ordered(total, order, weights), ordered(size, order, weights), 2 * terms + 4)


@oracle(*[name for name in GRADIENTS if "Input" in name], family="conv")
def of_input(filter: Any, out_backprop: Any, dice: Any) -> Any:
    data, weights, order = (dice.values[name] for name in ("data", "weights", "order"))
    taps, grads = ordered(filter, weights, order), ordered(out_backprop, data, order)
    total = input_gradient(taps, grads, dice)
    if filter.dtype == object:
        return ordered(total, order, data)
    terms = int(np.prod([taps.shape[0], *taps.shape[2:]]))
    size = input_gradient(finite(taps), finite(grads), dice)
    return summed(ordered(total, order, data), ordered(size, order, data), 2 * terms + 4)


# --- depthwise: a convolution with one group for each channel ---

DEPTHWISE = [f"DepthwiseConv2DBackprop{side}{form}" for side in ("Filter", "Input") for form in ("", "D")]


@shapes(*DEPTHWISE)
def depthwise_gradient(d: Dice) -> None:
    one = d.wants("one element")
    channels, multiplier, batch = (1, 1, 1) if one else (d.int(1, 3), d.int(1, 3), d.int(1, 2))
    batch = 0 if d.wants("empty") else batch
    kernel, stride = ([1 if one else d.int(1, most) for _ in range(2)] for most in (3, 3))
    dilation, pads = [1 if one else d.int(1, 2) for _ in range(2)], [0 if one else d.int(0, 2) for _ in range(4)]
    reach = [(k - 1) * g + 1 for k, g in zip(kernel, dilation, strict=True)]
    sizes = [max(r - sum(pads[2 * i : 2 * i + 2]), 1) + (0 if one else d.int(0, 3)) for i, r in enumerate(reach)]
    if d.wants("long"):
        sizes[-1] = d.int(30, 60)
    out = [(sizes[i] + sum(pads[2 * i : 2 * i + 2]) - reach[i]) // stride[i] + 1 for i in range(2)]
    data = formats.CODES[d.choose("NCHW", "NHWC")]
    weights = formats.CODES[d.choose("NCHW", "HWCN")]
    dims_of = {
        "x": dict(zip("NCHW", (batch, channels, *sizes), strict=True)),
        "w": dict(zip("NCHW", (multiplier, channels, *kernel), strict=True)),
        "dy": dict(zip("NCHW", (batch, channels * multiplier, *out), strict=True)),
    }
    x, w, dy = (tuple(dims_of[name][one] for one in LETTERS[layout]) for name, layout in
                (("x", data), ("w", weights), ("dy", data)))  # fmt: skip
    d.values.update(
        kernel=kernel, out=out, size=sizes, strides=stride, dilations=dilation, pads=pads, groups=channels,
        data=LETTERS[data], weights=LETTERS[weights], order="NCHW", multiplier=multiplier,
    )  # fmt: skip
    if "Filter" in d.prototype.op_type:
        d.tensor("input", x, format=data)
        sized(d, "filter_size", w)
    else:
        sized(d, "input_size", x)
        d.tensor("filter", w, format=weights)
    d.tensor("out_backprop", dy, format=data)
    for name in ("strides", "dilations"):
        letters = {"N": 1, "C": 1, **dict(zip("HW", d.values[name], strict=True))}
        if name == "strides" or max(d.values[name]) > 1:
            d.attrs[name] = ("list_int", [letters[letter] for letter in LETTERS[data]])
    d.attrs["pads"] = ("list_int", pads)
    d.attrs["data_format"] = ("string", LETTERS[data])
    if "Filter" in d.prototype.op_type:
        d.output("filter_grad", dtypes.FLOAT, format=weights)
    else:
        d.output("input_grad", d.choose(dtypes.FLOAT16, dtypes.FLOAT), format=data)


@oracle(*DEPTHWISE[:2], family="conv")
def of_depthwise_filter(input: Any, out_backprop: Any, dice: Any) -> Any:
    source, grads = (ordered(one, dice.values["data"], "NCHW") for one in (input, out_backprop))

    def plain(found: Any) -> Any:
        shape = (dice.values["groups"], dice.values["multiplier"], *dice.values["kernel"])
        return ordered(found.reshape(shape).swapaxes(0, 1), "NCHW", dice.values["weights"])

    terms = int(np.prod([grads.shape[0], *grads.shape[2:]]))
    total, size = filter_gradient(source, grads, dice), filter_gradient(finite(source), finite(grads), dice)
    return summed(plain(total), plain(size), 2 * terms + 4)


@oracle(*DEPTHWISE[2:], family="conv")
def of_depthwise_input(filter: Any, out_backprop: Any, dice: Any) -> Any:
    taps = ordered(filter, dice.values["weights"], "NCHW").swapaxes(0, 1)
    taps = taps.reshape(taps.shape[0] * taps.shape[1], 1, *taps.shape[2:])
    grads = ordered(out_backprop, dice.values["data"], "NCHW")
    total, size = input_gradient(taps, grads, dice), input_gradient(finite(taps), finite(grads), dice)
    terms = int(np.prod([dice.values["multiplier"], *dice.values["kernel"]]))
    return summed(ordered(total, "NCHW", dice.values["data"]), ordered(size, "NCHW", dice.values["data"]), 2 * terms + 4)
