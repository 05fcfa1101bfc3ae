"""Gradients of depthwise convolution: a grouped one with a group for each channel of the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import filter_gradient, input_gradient
from hostacl.ops.conv_axes import (
    attribute_order,
    axes_like,
    back,
    checked_geometry,
    data_letters,
    filter_letters,
    geometry_of,
    given_format,
    to,
)
from hostacl.ops.conv_cuts import filter_cuts, input_cuts
from hostacl.ops.conv_grad import check_agreement, size_of
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes, formats

Array = NDArray[Any]

OPTIONS: dict[str, Any] = {"attrs": {"data_format": None}}


def as_grouped(weight: dict[str, Dim]) -> dict[str, Dim]:
    """A filter's dims as those of a grouped convolution: C · multiplier filters of one channel."""
    return {**weight, "N": weight["N"] * weight["C"], "C": 1}


def check(call: Call, x: dict[str, Dim], weight: dict[str, Dim], dy: dict[str, Dim], order: str) -> None:
    """The gradient has the shape that the convolution gives."""
    grouped = Grouped(call)
    check_agreement(grouped, x, as_grouped(weight), dy, checked_geometry(call, order))  # type: ignore[arg-type]


class Grouped:
    """A call whose groups follow from its channels."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.refuse = call.refuse

    def attr(self, name: str) -> Any:
        """The attribute; depthwise convolution has no groups."""
        return None if name == "groups" else self.call.attr(name)


def filter_shape(call: Call) -> Shape:
    """filter_size, in the order of filter_grad's format."""
    data = data_letters(call.format("input"), call.attr("data_format"), 4)
    gradient = data_letters(call.format("out_backprop"), call.attr("data_format") or data, 4)
    x = dict(zip(data, rank_is(call, "input", 4), strict=True))
    dy = dict(zip(gradient, rank_is(call, "out_backprop", 4), strict=True))
    letters = filter_letters(call.output_format("filter_grad", 0, call.shape("input")), data)
    if not ("filter_size" in call.attrs or call.known("filter_size")):
        return tuple(x["C"] if letter == "C" else Between() for letter in letters)
    size = size_of(call, "filter_size", 4)
    weight: dict[str, Dim] = dict(zip(letters, size, strict=True))
    told = f"input has {x['C']} channels, filter_size = {list(size)} says {weight['C']}; they must be equal."
    equal_dims(call, x["C"], weight["C"], told)
    check(call, x, weight, dy, attribute_order(given_format(call), data))
    return size


@kernel("DepthwiseConv2DBackpropFilter", "DepthwiseConv2DBackpropFilterD", shape=filter_shape, values=("filter_size",),
        cuts=filter_cuts("input"), **OPTIONS)  # fmt: skip
def depthwise_conv_2d_backprop_filter(
    input: Array, filter_size: Any, out_backprop: Array, strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], data_format: str | None, formats: dict[str, int],
) -> Array:  # fmt: skip
    """The gradient of a depthwise filter, (multiplier, C, kh, kw) or (kh, kw, C, multiplier) as its format says; float32.

    Channel c·multiplier + m of out_backprop belongs to channel c of the input.
    """
    data = data_letters(formats["input"], data_format, 4)
    gradient = data_letters(formats["out_backprop"], data_format or data, 4)
    letters = filter_letters(formats.get("filter_grad", formats["input"]), data)
    size = dict(zip(letters, (int(one) for one in np.ravel(filter_size)), strict=True))
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, data)).in_3d()
    images, dy = to(input, data, "NCDHW"), np.ascontiguousarray(to(out_backprop, gradient, "NCDHW"))
    found = filter_gradient(images, dy, (1, size["H"], size["W"]), geometry, size["C"])
    by_channel = found.reshape(size["C"], size["N"], 1, size["H"], size["W"]).swapaxes(0, 1)
    return back(by_channel, letters)


def input_dtype(call: Call) -> tuple[int, ...]:
    """The type of the gradient, or float32."""
    return call.dtype("out_backprop"), dtypes.FLOAT


def input_shape(call: Call) -> Shape:
    """input_size, in the order of input_grad's format."""
    gradient = data_letters(call.format("out_backprop"), call.attr("data_format"), 4)
    dy = dict(zip(gradient, rank_is(call, "out_backprop", 4), strict=True))
    weight = dict(zip(filter_letters(call.format("filter"), gradient), rank_is(call, "filter", 4), strict=True))
    data = formats.axes_of(call.output_format("input_grad", 0, call.shape("out_backprop")), 4) or gradient
    if not ("input_size" in call.attrs or call.known("input_size")):
        known = {"N": dy["N"], "C": weight["C"]}
        return tuple(known.get(letter, Between()) for letter in data)
    size = size_of(call, "input_size", 4)
    check(call, dict(zip(data, size, strict=True)), weight, dy, attribute_order(given_format(call), gradient))
    return size


@kernel("DepthwiseConv2DBackpropInput", "DepthwiseConv2DBackpropInputD", shape=input_shape, values=("input_size",),
        dtype={"input_grad": input_dtype}, cuts=input_cuts("out_backprop"), **OPTIONS)  # fmt: skip
def depthwise_conv_2d_backprop_input(
    input_size: Any, filter: Array, out_backprop: Array, strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], data_format: str | None, formats: dict[str, int],
) -> Array:  # fmt: skip
    """The gradient of a depthwise convolution's input; the filter is (multiplier, C, kh, kw) or (kh, kw, C, multiplier).

    Channel c·multiplier + m of out_backprop belongs to channel c of the input.
    """
    gradient = data_letters(formats["out_backprop"], data_format, 4)
    data = axes_like(formats.get("input_grad", -1), gradient)
    by_channel = to(filter, filter_letters(formats["filter"], gradient), "NCDHW").swapaxes(0, 1)
    weight = np.ascontiguousarray(by_channel).reshape(-1, 1, *by_channel.shape[2:])
    size = dict(zip(data, (int(one) for one in np.ravel(input_size)), strict=True))
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, gradient)).in_3d()
    dy = to(out_backprop, gradient, "NCDHW")
    return back(input_gradient(dy, weight, (1, size["H"], size["W"]), geometry, size["C"]), data)
