"""The axes of convolutions: letters of formats, strides and pads by axis, tensors in one order of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry
from hostacl.tensors import formats

Array = NDArray[Any]

ORDERS = {4: ("NCHW", "NHWC", "HWCN"), 5: ("NCDHW", "NDHWC", "DHWCN")}
"""Axis letters by rank: channels first, channels last, and the filter order that goes with channels last."""


def data_letters(layout: int, data_format: str | None, rank: int) -> str:
    """The axis letters of data: its own format's, else (an ND one) those of data_format, channels last by default.

    ONNX Runtime calls five dims NCHW, too: channels first.
    """
    first, last, _ = ORDERS[rank]
    if layout == formats.NCHW:
        return first
    return formats.axes_of(layout, rank) or (data_format if data_format in (first, last) else last)


def filter_letters(layout: int, data: str) -> str:
    """The axis letters of a filter; an ND one goes with the data: channels first, or HWCN (DHWCN) for channels last."""
    first, last, filters = ORDERS[len(data)]
    return formats.axes_of(layout, len(data)) or (filters if data == last else first)


def spatial(order: str) -> str:
    """The letters between which a filter moves: HW or DHW."""
    return "DHW" if len(order) == 5 else "HW"


def geometry_of(strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], order: str) -> Geometry:
    """The geometry that attributes in an axis order describe."""
    places = [order.index(letter) for letter in spatial(order)]
    pairs = tuple((pads[2 * i], pads[2 * i + 1]) for i in range(len(places)))
    return Geometry(tuple(strides[i] for i in places), tuple(dilations[i] for i in places), pairs)


MOST = 2**31 - 1
"""The largest stride, dilation or padding."""


def checked_geometry(call: Call, order: str) -> Geometry:
    """The geometry of a call; refuses attributes of a wrong length or value."""
    rank = len(order)
    for name, length, least in (("strides", rank, 1), ("dilations", rank, 1), ("pads", 2 * rank - 4, 0)):
        values = call.attr(name)
        if len(values) != length or min(values) < least or max(values) > MOST:
            raise call.refuse("HA508", f"{name} = {list(values)}; allowed: {length} numbers from {least} to {MOST}.")
        if name != "pads" and (values[order.index("N")], values[order.index("C")]) != (1, 1):
            raise call.refuse("HA508", f"{name} = {list(values)} in {order} order; the entries for N and C must be 1.")
    return geometry_of(call.attr("strides"), call.attr("dilations"), call.attr("pads"), order)


def attribute_order(data_format: str | None, data: str) -> str:
    """The axis order of strides and dilations: data_format where it was set, else that of the data."""
    return data_format if data_format is not None and sorted(data_format) == sorted(data) else data


def given_format(call: Call) -> str | None:
    """The data_format attribute where it was set."""
    return call.attr("data_format") if "data_format" in call.given else None


def to(array: Array, source: str, target: str) -> Array:
    """An array with its axes in another order of the letters, D added when only the target has it."""
    if "D" in target and "D" not in source:
        array, source = array[..., None], source + "D"
    return np.transpose(array, [source.index(letter) for letter in target])


def back(array: Array, target: str) -> Array:
    """An NCDHW result in the target's axes, without D where it has none."""
    order = np.transpose(array, ["NCDHW".index(letter) for letter in (target if "D" in target else target + "D")])
    return order if "D" in target else order[..., 0]


def axes_like(layout: int, other: str) -> str:
    """The axis letters of a format, those of the other tensor when it has none."""
    return formats.axes_of(layout, len(other)) or other
