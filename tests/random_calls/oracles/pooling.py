"""Pooling by a loop over windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

LETTERS = {formats.NCHW: "NCHW", formats.NHWC: "NHWC", formats.NCDHW: "NCDHW", formats.NDHWC: "NDHWC"}


def along(size: int, k: int, s: int, d: int, pads: tuple[int, int], mode: str, ceil: bool) -> list[list[int]]:
    """The places (some in the padding) that each window along one axis meets."""
    reach = (k - 1) * d + 1
    if mode == "SAME":
        count = (size + s - 1) // s
        total = max((count - 1) * s + reach - size, 0)
        pads = (total // 2, total - total // 2)
    elif mode == "VALID":
        pads = (0, 0)
    found = []
    start = -pads[0]
    while (mode == "SAME" and len(found) < -(-size // s)) or (mode != "SAME" and start + reach <= size + pads[1]):
        found.append([start + tap * d for tap in range(k)])
        start += s
    if mode != "SAME" and ceil and found and found[-1][-1] < size + pads[1] - 1 and start < size:
        found.append([start + tap * d for tap in range(k)])
    return [[at for at in one if at < size + pads[1]] for one in found]


def windows(d: Dice, sizes: Sequence[int]) -> list[list[list[int]]]:
    keys = ("k", "s", "d", "pads")
    mode, ceil = d.values["mode"], d.values["ceil"]
    return [along(size, *(d.values[key][i] for key in keys), mode, ceil) for i, size in enumerate(sizes)]


def each_window(x: Any, dice: Dice) -> Any:
    """(output index, elements, flat places, number of elements with padding) for each window of x as (N, C, spatial)."""
    spatial = x.shape[2:]
    along_axes = dice.values.get("windows") or windows(dice, spatial)
    shape = (*x.shape[:2], *(len(one) for one in along_axes))
    for index in itertools.product(*map(range, shape)):
        lists = [one[at] for one, at in zip(along_axes, index[2:], strict=True)]
        members = list(itertools.product(*lists))
        real = [one for one in members if all(0 <= at < size for at, size in zip(one, spatial, strict=True))]
        places = [int(np.ravel_multi_index(one, spatial)) for one in real]
        yield index, [x[(*index[:2], *one)] for one in real], places, len(members)


def result_shape(x: Any, dice: Dice) -> tuple[int, ...]:
    return (*x.shape[:2], *(len(one) for one in dice.values.get("windows") or windows(dice, x.shape[2:])))


def draw(d: Dice, rank: int, layouts: tuple[int, ...], lists: Sequence[str] = ("ksize", "strides")) -> None:
    """x in a drawn format, and k, s, d, pads for each spatial axis."""
    one = d.wants("one element")
    layout = d.choose(*layouts)
    order = LETTERS[layout]
    dilated = "dilation" in lists
    k = [1 if one else d.int(1, 3) for _ in range(rank)]
    s = [1 if one else d.int(1, 3) for _ in range(rank)]
    g = [d.int(1, 2) if dilated and not one else 1 for _ in range(rank)]
    padded = not one and any(name in d.generation.attrs for name in ("pads",))
    reach = [(size - 1) * gap + 1 for size, gap in zip(k, g, strict=True)]
    pads = [(d.int(0, size // 2), d.int(0, size // 2)) if padded else (0, 0) for size in k]
    d.values.update(k=k, s=s, d=g, pads=pads, mode="CALCULATED", ceil=False, order=order)
    sizes = [1 if one else size + d.int(0, 3) for size in reach]
    if d.wants("long"):
        sizes[-1] = d.int(30, 60)
    batch = 0 if d.wants("empty") else 1 if one else d.int(1, 2)
    by_letter = {"N": batch, "C": 1 if one else d.int(1, 3), **dict(zip("DHW"[-rank:], sizes, strict=True))}
    d.tensor("x", tuple(by_letter[letter] for letter in order), format=layout)
    d.output("y", format=layout)


def listed(d: Dice, numbers: Sequence[int], order: str) -> list[int]:
    rank = len(order) - 2
    by_letter = {"N": 1, "C": 1, **dict(zip("DHW"[-rank:], numbers, strict=True))}
    return [by_letter[letter] for letter in order]


def named_format(d: Dice) -> None:
    """data_format as the format of x says; left out only where the default says the same or the format decides."""
    if not d.wants("attributes absent"):
        d.attrs["data_format"] = ("string", d.values["order"])
        d.wants("attributes default", d.values["order"] == d.prototype.attrs["data_format"].default)


@shapes("MaxPoolV3", "AvgPoolV2")
def calculated(d: Dice) -> None:
    draw(d, 2, (formats.NCHW, formats.NHWC))
    order = d.values["order"]
    d.attrs["ksize"] = ("list_int", listed(d, d.values["k"], order))
    d.attrs["strides"] = ("list_int", listed(d, d.values["s"], order))
    d.values["mode"] = d.attr("padding_mode", "SAME", "VALID")
    if d.values["mode"] == "CALCULATED" and not d.kind.startswith("attributes") and d.kind != "empty":
        d.attrs["pads"] = ("list_int", [one for pair in d.values["pads"] for one in pair])
    else:
        d.values["pads"] = [(0, 0), (0, 0)]
    named_format(d)
    d.values["ceil"] = d.attr("ceil_mode", True)
    if d.attr("global_pooling", d.chance(0.2)):
        x = d.inputs["x"][0].data
        sizes = [x.shape[order.index(letter)] for letter in "HW"]
        d.values["windows"] = [[list(range(size))] for size in sizes]
    if "exclusive" in d.generation.attrs:
        d.attr("exclusive", False)
    if "divisor_override" in d.generation.attrs:
        d.attr("divisor_override", 3)


@shapes("MaxPool", "AvgPool", "MaxPoolV2")
def same_or_valid(d: Dice) -> None:
    draw(d, 2, (formats.NCHW, formats.NHWC))
    order = d.values["order"]
    for name, key in (("ksize", "k"), ("strides", "s")):
        numbers = listed(d, d.values[key], order)
        if d.prototype.op_type == "MaxPoolV2":
            d.value(name, np.array(numbers))
        else:
            d.attrs[name] = ("list_int", numbers)
    d.values["mode"] = d.attr("padding", "SAME", "VALID")
    named_format(d)


@shapes("MaxPool3D", "AvgPool3D", "AvgPool3DD", "MaxPool3DWithArgmaxV2")
def three_dims(d: Dice) -> None:
    dilated = ("ksize", "strides", "dilation") if "dilation" in d.generation.attrs else ("ksize", "strides")
    draw(d, 3, (formats.NCDHW, formats.NDHWC), dilated)
    order = d.values["order"]
    if d.kind.startswith("attributes"):
        d.values["d"] = [1, 1, 1]
    for name, key in zip(dilated, ("k", "s", "d"), strict=False):
        if key != "d" or max(d.values["d"]) > 1:
            d.attrs[name] = ("list_int", listed(d, d.values[key], order))
    d.attrs["pads"] = ("list_int", [one for pair in d.values["pads"] for one in pair])
    if d.prototype.op_type == "MaxPool3D":
        d.values["mode"] = d.attr("padding", "SAME", "VALID", "CALCULATED")
        d.values["ceil"] = d.attr("ceil_mode", 1)
    else:
        d.values["ceil"] = d.attr("ceil_mode", True)
    for name in ("filter", "multiplier"):
        if d.decl(name) is not None and d.optional(name):
            d.tensor(name, (1,))
    for name, choice in (("count_include_pad", False), ("divisor_override", 3)):
        if name in d.generation.attrs:
            d.attr(name, choice)
    named_format(d)
    if d.prototype.op_type == "MaxPool3DWithArgmaxV2":
        d.output("argmax", d.choose(dtypes.INT32, dtypes.INT64), format=d.outputs["y"][2])
        code = d.outputs["argmax"][0]
        if code == dtypes.INT64 or d.wants("attributes default") or d.wants("attributes varied"):
            d.attrs["dtype"] = ("int", code)


@shapes("MaxPoolWithArgmaxV1")
def one_h_w_one(d: Dice) -> None:
    draw(d, 2, (formats.NCHW,), ("ksize", "strides", "dilation"))
    pads = [(0, 0) if d.wants("attributes absent") else (one[0], one[0]) for one in d.values["pads"]]
    if d.kind.startswith("attributes"):
        d.values["d"] = [1, 1]
    d.values["pads"] = pads
    for name, key in (("ksize", "k"), ("strides", "s"), ("dilation", "d")):
        if key != "d" or max(d.values["d"]) > 1:
            d.attrs[name] = ("list_int", [1, *d.values[key], 1])
    d.attrs["pads"] = ("list_int", [1, pads[0][0], pads[1][0], 1])
    d.values["ceil"] = d.attr("ceil_mode", True)
    d.output("argmax", d.choose(dtypes.INT32, dtypes.UINT16), format=formats.NCHW)


def moved(x: Any, dice: Dice) -> tuple[Any, Any]:
    """x as (N, C, spatial), and what brings a result back."""
    order = dice.values["order"]
    target = "NC" + "DHW"[-(len(order) - 2) :]
    return x.transpose([order.index(letter) for letter in target]), lambda y: y.transpose([target.index(one) for one in order])


def largest(x: Any, dice: Dice) -> tuple[Any, Any]:
    y, places = np.empty(result_shape(x, dice), x.dtype), np.empty(result_shape(x, dice), np.int64)
    for index, elements, where, _ in each_window(x, dice):
        best = next((at for at, one in enumerate(elements) if np.isnan(float(one))), None)
        best = max(range(len(elements)), key=lambda at: (elements[at], -at)) if best is None else best
        y[index], places[index] = elements[best], where[best]
    return y, places


@oracle("MaxPoolV3", "MaxPool", "MaxPool3D", "MaxPoolV2")
def max_pool(x: Any, dice: Dice) -> Any:
    planes, back = moved(x, dice)
    return back(largest(planes, dice)[0])


@oracle("MaxPool3DWithArgmaxV2")
def max_pool_argmax(x: Any, dice: Dice) -> Any:
    planes, back = moved(x, dice)
    y, places = largest(planes, dice)
    return back(y), back(places).astype(object)


@oracle("MaxPoolWithArgmaxV1")
def max_pool_masks(x: Any, dice: Dice) -> Any:
    y, places = largest(x, dice)
    if dice.outputs["argmax"][0] == dtypes.INT32:
        return y, places.astype(object)
    rows, columns = windows(dice, x.shape[2:])
    k = dice.values["k"]
    words = -(-len(rows) * len(columns) // 16) + 1
    masks = np.zeros((*x.shape[:2], k[0] * k[1], words), object)
    for n, c, i, j in itertools.product(*map(range, y.shape)):
        row, column = divmod(int(places[n, c, i, j]), x.shape[3])
        tap = rows[i].index(row) * k[1] + columns[j].index(column)
        at = i * len(columns) + j
        masks[n, c, tap, at // 16] += 1 << (at % 16)
    return y, masks


def means(x: Any, dice: Dice, padding: bool, divisor: int) -> Any:
    planes, back = moved(x, dice)
    y, slack = np.empty(result_shape(planes, dice)), np.empty(result_shape(planes, dice))
    for index, elements, _, count in each_window(planes, dice):
        by = divisor or (count if padding else len(elements))
        y[index] = sum(elements) / by if by else np.nan
        slack[index] = sum(map(float, finite(np.array(elements, np.float64)))) / max(by, 1)
    bits = 53 if dice.dtype == dtypes.DOUBLE else 24
    return Within(back(y), back(slack) * 8 * 2.0**-bits)


@oracle("AvgPoolV2")
def avg_pool_v2(x: Any, exclusive: bool, divisor_override: int | None, dice: Dice) -> Any:
    return means(x, dice, not exclusive, divisor_override or 0)


@oracle("AvgPool")
def avg_pool(x: Any, dice: Dice) -> Any:
    return means(x, dice, False, 0)


@oracle("AvgPool3D", "AvgPool3DD")
def avg_pool_3d(x: Any, count_include_pad: bool, divisor_override: int, dice: Dice) -> Any:
    return means(x, dice, count_include_pad, divisor_override)


@shapes("AdaptiveAvgPool2d", "AdaptiveMaxPool2d")
def adaptive(d: Dice) -> None:
    one = d.wants("one element")
    sizes = [1 if one else d.int(1, 7) for _ in range(2)]
    if d.wants("long"):
        sizes[1] = d.int(30, 60)
    lead = (0, 2) if d.wants("empty") else (1, 1) if one else d.choose((d.int(1, 3),), (d.int(1, 2), d.int(1, 3)))
    wanted = [1 if one else d.int(1, 4) for _ in range(2)]
    d.tensor("x", (*lead, *sizes))
    d.attrs["output_size"] = ("list_int", wanted)
    if d.prototype.op_type == "AdaptiveMaxPool2d":
        d.output("argmax", d.choose(dtypes.INT32, dtypes.INT64))
    d.values["windows"] = [
        [list(range(i * size // count, -(-(i + 1) * size // count))) for i in range(count)]
        for size, count in zip(sizes, wanted, strict=True)
    ]


def as_planes(x: Any) -> Any:
    return x if x.ndim == 4 else x[None]


@oracle("AdaptiveAvgPool2d")
def adaptive_avg(x: Any, dice: Dice) -> Any:
    dice.values["order"] = "NCHW"
    result = means(as_planes(x), dice, False, 0)
    shape = (*x.shape[:-2], *result.value.shape[-2:])
    return Within(result.value.reshape(shape), result.slack.reshape(shape))


@oracle("AdaptiveMaxPool2d")
def adaptive_max(x: Any, dice: Dice) -> Any:
    y, places = largest(as_planes(x), dice)
    shape = (*x.shape[:-2], *y.shape[-2:])
    return y.reshape(shape), places.reshape(shape).astype(object)


