"""Gradients of Conv2D and Conv3D, with respect to the filter and to the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry, filter_gradient, input_gradient
from hostacl.ops.conv_axes import (
    attribute_order,
    axes_like,
    back,
    checked_geometry,
    data_letters,
    filter_letters,
    geometry_of,
    given_format,
    spatial,
    to,
)
from hostacl.ops.conv_cuts import filter_cuts, input_cuts
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes, formats

Array = NDArray[Any]


OPTIONS: dict[str, Any] = {"attrs": {"groups": None, "data_format": None}}


def size_of(call: Call, name: str, rank: int) -> tuple[int, ...]:
    """filter_size or input_size: as many numbers as the gradient has dims, each 0 or more."""
    values = call.ints(name)
    if len(values) != rank or min(values) < 0:
        raise call.refuse("HA519", f"{name} = {list(values)}; allowed: {rank} numbers, each 0 or more.")
    return values


def check_agreement(call: Call, x: dict[str, Dim], weight: dict[str, Dim], dy: dict[str, Dim], geometry: Geometry) -> None:
    """The gradient dy has the shape that the convolution of x with the filter gives."""
    told = ", ".join(f"{name} {by_letter(one)}" for name, one in (("x", x), ("filter", weight), ("out_backprop", dy)))
    check_groups(call, x, weight, dy, told)
    for place, letter in enumerate(spatial("NCDHW" if "D" in x else "NCHW")):
        size, taps, out = x[letter], weight[letter], dy[letter]
        if not (isinstance(size, int) and isinstance(taps, int) and isinstance(out, int)):
            continue
        room = size + sum(geometry.pads[place]) - (taps - 1) * geometry.dilation[place] - 1
        want = room // geometry.stride[place] + 1
        if room < 0 or out != want:
            fit = "a filter that fits the padded x" if room < 0 else f"{want} along {letter} of out_backprop"
            raise call.refuse("HA504", f"{told}: {fit} is what these strides, dilations and pads allow.")


def by_letter(shape: dict[str, Dim]) -> str:
    """A shape with its axis letters: ``NCHW [1,3,8,8]``."""
    return f"{''.join(shape)} {dims.text(shape.values())}"


def check_groups(call: Call, x: dict[str, Dim], weight: dict[str, Dim], dy: dict[str, Dim], told: str) -> None:
    """Batches agree, filters are the channels of dy, channels of the filter times groups those of x."""
    known = all(isinstance(dim, int) for dim in (x["C"], weight["C"], weight["N"]))
    if known:
        groups = group_count(x["C"], weight["C"], call.attr("groups"))
        if groups < 1 or weight["C"] * groups != x["C"] or weight["N"] % groups:  # type: ignore[operator]
            raise call.refuse("HA504", f"{told}, groups {call.attr('groups')}: channels of x must be those of the filter times "
                              f"groups, and groups must divide the filters.")  # fmt: skip
    for one, other, what in ((x["N"], dy["N"], "batches"), (weight["N"], dy["C"], "filters and channels of out_backprop")):
        if dims.known(one, other) and one != other:
            raise call.refuse("HA504", f"{told}: {what} {one} and {other} differ; they must be equal.")


def group_count(channels: Any, each: Any, groups: int | None) -> int:
    """The groups attribute; absent, what the channels say."""
    return int(groups) if groups is not None else int(channels // max(each, 1))


def gradient_dtype(call: Call) -> tuple[int, ...]:
    """Half types give themselves or float32 (D forms of the filter: float32 only), int8 gives int32, others themselves."""
    code = call.dtype("out_backprop")
    if code == dtypes.INT8:
        return (dtypes.INT32,)
    choices = (code, dtypes.FLOAT) if code in dtypes.HALVES else (code,)
    allowed = call.outputs["y"].decl.allowed
    return tuple(one for one in choices if one in allowed) or choices


def filter_shape(call: Call) -> Shape:
    """filter_size, in the order of y's format."""
    rank = 5 if "3D" in call.op_type else 4
    data = data_letters(call.format("x"), call.attr("data_format"), rank)
    gradient = data_letters(call.format("out_backprop"), call.attr("data_format") or data, rank)
    x = dict(zip(data, rank_is(call, "x", rank), strict=True))
    dy = dict(zip(gradient, rank_is(call, "out_backprop", rank), strict=True))
    geometry = checked_geometry(call, attribute_order(given_format(call), data))
    letters = filter_letters(call.output_format("y", 0, call.shape("x")), data)
    if not ("filter_size" in call.attrs or call.known("filter_size")):
        return tuple(dy["C"] if letter == "N" else Between() for letter in letters)
    size = size_of(call, "filter_size", rank)
    check_agreement(call, x, dict(zip(letters, size, strict=True)), dy, geometry)
    return size


@kernel("Conv2DBackpropFilter", "Conv2DBackpropFilterD", "Conv3DBackpropFilter", "Conv3DBackpropFilterD",
        shape=filter_shape, values=("filter_size",), dtype={"y": gradient_dtype}, cuts=filter_cuts("x"),
        **OPTIONS)  # fmt: skip
def conv_backprop_filter(
    x: Array, filter_size: Any, out_backprop: Array, strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int],
    groups: int | None, data_format: str | None, formats: dict[str, int],
) -> Array:  # fmt: skip
    """The gradient of the convolution's filter: for each filter element the sum over images and places of x · out_backprop.

    filter_size is in the order of y's format. Groups absent: the channels of x over those of the filter. Half types are added
    up in float32.
    """
    data = data_letters(formats["x"], data_format, x.ndim)
    gradient = data_letters(formats["out_backprop"], data_format or data, x.ndim)
    letters = filter_letters(formats.get("y", formats["x"]), data)
    size = dict(zip(letters, (int(one) for one in np.ravel(filter_size)), strict=True))
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, data)).in_3d()
    images, dy = to(x, data, "NCDHW"), np.ascontiguousarray(to(out_backprop, gradient, "NCDHW"))
    count = group_count(images.shape[1], size["C"], groups)
    return back(filter_gradient(images, dy, [size.get(letter, 1) for letter in "DHW"], geometry, count), letters)


def input_shape(call: Call) -> Shape:
    """input_size, in the order of y's format."""
    rank = 5 if "3D" in call.op_type else 4
    gradient = data_letters(call.format("out_backprop"), call.attr("data_format"), rank)
    dy = dict(zip(gradient, rank_is(call, "out_backprop", rank), strict=True))
    weight = dict(zip(filter_letters(call.format("filter"), gradient), rank_is(call, "filter", rank), strict=True))
    geometry = checked_geometry(call, attribute_order(given_format(call), gradient))
    data = formats.axes_of(call.output_format("y", 0, call.shape("out_backprop")), rank) or gradient
    if not ("input_size" in call.attrs or call.known("input_size")):
        return tuple(dy["N"] if letter == "N" else Between() for letter in data)
    size = size_of(call, "input_size", rank)
    check_agreement(call, dict(zip(data, size, strict=True)), weight, dy, geometry)
    return size


@kernel("Conv2DBackpropInput", "Conv2DBackpropInputD", "Conv3DBackpropInput", "Conv3DBackpropInputD",
        shape=input_shape, values=("input_size",), dtype={"y": gradient_dtype}, cuts=input_cuts("out_backprop"),
        **OPTIONS)  # fmt: skip
def conv_backprop_input(
    input_size: Any, filter: Array, out_backprop: Array, strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], groups: int | None, data_format: str | None, formats: dict[str, int],
) -> Array:  # fmt: skip
    """The gradient of the convolution's input: each element of out_backprop times the filter, added where the filter lay.

    input_size is in the order of y's format; places that no filter reached get 0. Half types are added up in float32, int8 in
    int32, exactly modulo 2^32. Groups absent: the channels of the input over those of the filter.
    """
    gradient = data_letters(formats["out_backprop"], data_format, filter.ndim)
    data = axes_like(formats.get("y", -1), gradient)
    weight = np.ascontiguousarray(to(filter, filter_letters(formats["filter"], gradient), "NCDHW"))
    size = dict(zip(data, (int(one) for one in np.ravel(input_size)), strict=True))
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, gradient)).in_3d()
    count = group_count(size["C"], weight.shape[1], groups)
    dy = to(out_backprop, gradient, "NCDHW")
    return back(input_gradient(dy, weight, [size.get(letter, 1) for letter in "DHW"], geometry, count), data)


