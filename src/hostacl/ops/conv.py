"""Convolutions over two and three dims, grouped and depthwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.ops import dims
from hostacl.ops.call import Call
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
from hostacl.ops.conv_cuts import conv_cuts
from hostacl.ops.correlation import correlate, correlate_into
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.matmul import shifted
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def out_size(call: Call, size: Dim, kernel_size: Dim, stride: int, dilation: int, pad: int, axis: str) -> Dim:
    """The output size along an axis; refuses a filter larger than the padded input."""
    least = kernel_size if isinstance(kernel_size, int) else max(dims.bounds(kernel_size)[0], 1)
    reach = (least - 1) * dilation + 1
    room = size + pad - reach
    if not isinstance(kernel_size, int):
        high = dims.bounds(room)[1]
        return dims.Between(0, None if high is None else max(high // stride + 1, 0))
    if isinstance(room, int) and room < 0:
        raise call.refuse("HA504", f"the filter reaches over {reach} along {axis}, the padded x has {size + pad}; it must fit.")
    return room // stride + 1 if isinstance(room, int) else (room // stride + 1).at_least(0)


def checked_groups(call: Call, x: dict[str, Dim], weight: dict[str, Dim]) -> None:
    """Channels of x = channels of the filter · groups, and the filters divide among the groups."""
    channels, each, filters, groups = x["C"], weight["C"], weight["N"], call.attr("groups")
    if not (isinstance(channels, int) and isinstance(each, int) and isinstance(filters, int)):
        return
    count = groups if groups is not None else channels // max(each, 1)
    if count < 1 or each * count != channels or filters % count:
        told = "absent" if groups is None else str(groups)
        raise call.refuse(
            "HA504",
            f"x has {channels} channels, the filter {each} for {filters} outputs, groups is {told}; "
            f"channels of x must be those of the filter times groups, and groups must divide the outputs.",
        )


def named_dims(call: Call, rank: int) -> tuple[str, dict[str, Dim], dict[str, Dim]]:
    """The axis letters of x, and the dims of x and filter by letter."""
    data = data_letters(call.format("x"), call.attr("data_format"), rank)
    x = dict(zip(data, rank_is(call, "x", rank), strict=True))
    letters = filter_letters(call.format("filter"), data)
    return data, x, dict(zip(letters, rank_is(call, "filter", rank), strict=True))


def conv_shape(call: Call) -> Shape:
    """The shape of y, in the order of its own format."""
    data, x, weight = named_dims(call, 5 if "3D" in call.op_type else 4)
    checked_groups(call, x, weight)
    return output_shape(call, data, x, weight, weight["N"])


def output_shape(call: Call, data: str, x: dict[str, Dim], weight: dict[str, Dim], channels: Dim) -> Shape:
    """The shape of y with so many channels, once bias and attributes are known to fit."""
    check_channel_bias(call, channels)
    geometry = checked_geometry(call, attribute_order(given_format(call), data))
    sizes = {"N": x["N"], "C": channels}
    for letter, stride, dilation, pads in zip(spatial(data), *geometry, strict=True):
        sizes[letter] = out_size(call, x[letter], weight[letter], stride, dilation, sum(pads), letter)
    return tuple(sizes[letter] for letter in axes_like(call.output_format("y", 0, call.shape("x")), data))


def check_channel_bias(call: Call, filters: Dim) -> None:
    """A bias has one element an output channel; an offset of filters that, or one in all."""
    if call.has("offset_w") and dims.known(offsets := dims.count(call.shape("offset_w"))) and offsets != 1:
        told = f"offset_w = {dims.text(call.shape('offset_w'))}; allowed: one element, or one for each of {filters} channels."
        equal_dims(call, offsets, filters, told)
    if call.has("bias"):
        size = dims.count(call.shape("bias"))
        if dims.known(size, filters) and size != filters:
            raise call.refuse(
                "HA504",
                f"bias = {dims.text(call.shape('bias'))}; allowed: one element for each of the {filters} output channels.",
            )


def conv_dtype(call: Call) -> tuple[int, ...]:
    """Half types give themselves or float32, int8 and int4 give int32, float32 itself."""
    code = call.dtype("x")
    if code in dtypes.HALVES:
        return (code, dtypes.FLOAT)
    return (dtypes.INT32,) if code in (dtypes.INT8, dtypes.INT4) else (code,)


OPTIONS: dict[str, Any] = {
    "dtype": {"y": conv_dtype}, "mixed": ("bias", "y"), "attrs": {"groups": None, "data_format": None}, "batch": ("x",),
    "cuts": conv_cuts,
}  # fmt: skip
"""What the convolutions have in common."""


Arrange = Callable[[Array, str, int], tuple[Array, int]]
"""From a filter, the axis letters of the data and the channels of x: filters as OIDHW, and how many groups there are."""


def direct_conv(arrange: Callable[[Call], Arrange]) -> Callable[[Call], Callable[..., None] | None]:
    """The ``direct`` of a convolution of float32 or halves: straight into y, in whatever order the axes are."""

    def hook(call: Call) -> Callable[..., None] | None:
        kind, saturates = call.dtype("x"), settings().saturate
        if kind not in (dtypes.FLOAT, *dtypes.HALVES) or call.dtype("filter") != kind or call.has("offset_w") or saturates:
            return None
        data = data_letters(call.format("x"), call.attr("data_format"), call.rank("x"))
        layout = axes_like(call.outputs["y"].specs[0].format, data)
        order = attribute_order(call.attr("data_format"), data)
        geometry = geometry_of(call.attr("strides"), call.attr("dilations"), call.attr("pads"), order).in_3d()
        filters_of = arrange(call)

        def run(x: Array, filter: Array, *rest: Array) -> None:
            *bias, y = rest
            images = to(x, data, "NCDHW")
            weight, groups = filters_of(filter, data, images.shape[1])
            correlate_into(images, weight, geometry, groups, bias[0] if bias else None, to(y, layout, "NCDHW"))

        return run

    return hook


def grouped(call: Call) -> Arrange:
    """Filters as they are, in as many groups as the attribute or the channels say."""
    layout, groups = call.format("filter"), call.attr("groups")

    def arrange(filter: Array, data: str, channels: int) -> tuple[Array, int]:
        weight = to(filter, filter_letters(layout, data), "NCDHW")
        return weight, groups or max(channels // max(weight.shape[1], 1), 1)

    return arrange


FLOAT_TOO = dict.fromkeys(("x", "filter"), (dtypes.FLOAT,))
"""ONNX Runtime sends float32 to Conv3D."""


@kernel("Conv2D", "Conv3D", shape=conv_shape, direct=direct_conv(grouped), dtypes=FLOAT_TOO, **OPTIONS)
def conv(
    x: Array, filter: Array, bias: Array | None, offset_w: Array | None, strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], groups: int | None, data_format: str | None, offset_x: int, formats: dict[str, int],
    out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """The cross-correlation in groups. Quantised values lose their offsets first; padding is the value that means 0.

    Groups absent: the channels of x over those of the filter. Half types are added up in float32 and rounded once.
    """
    data = data_letters(formats["x"], data_format, x.ndim)
    images = to(shifted(x, offset_x), data, "NCDHW")
    weight = to(filter, filter_letters(formats["filter"], data), "NCDHW")
    if offset_w is not None:
        weight = shifted(weight, offset_w.astype(np.int32).reshape(-1, 1, 1, 1, 1))
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, data)).in_3d()
    y = correlate(images, weight, geometry, groups or max(images.shape[1] // max(weight.shape[1], 1), 1), bias)
    return back(y, axes_like(out[0].format, data))


def depthwise_shape(call: Call) -> Shape:
    """The shape of y: channels of x times the filter's multiplier, which stands at N."""
    data, x, weight = named_dims(call, 4)
    if dims.known(x["C"], weight["C"]) and x["C"] != weight["C"]:
        raise call.refuse("HA504", f"x has {x['C']} channels, the filter {weight['C']}; they must be equal.")
    return output_shape(call, data, x, weight, x["C"] * weight["N"])


def depthwise(call: Call) -> Arrange:
    """The filters of each channel after one another, each channel a group."""
    layout = call.format("filter")

    def arrange(filter: Array, data: str, channels: int) -> tuple[Array, int]:
        return by_channel(to(filter, filter_letters(layout, data), "CNDHW")), max(channels, 1)

    return arrange


def by_channel(weight: Array) -> Array:
    """Filters as (channels, multiplier, D, H, W), in one row."""
    return np.ascontiguousarray(weight).reshape(weight.shape[0] * weight.shape[1], 1, *weight.shape[2:])


@kernel("DepthwiseConv2D", shape=depthwise_shape, direct=direct_conv(depthwise), **{**OPTIONS, "attrs": {"data_format": None}})
def depthwise_conv_2d(
    x: Array, filter: Array, bias: Array | None, offset_w: Array | None, strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], data_format: str | None, offset_x: int, formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """The cross-correlation of each channel with its own filters: output channel c·multiplier + m is channel c with filter m.

    The filter is (multiplier, C, h, w) in NCHW, (h, w, C, multiplier) in HWCN. Quantised values lose their offsets first.
    """
    data = data_letters(formats["x"], data_format, 4)
    images = to(shifted(x, offset_x), data, "NCDHW")
    weight = to(filter, filter_letters(formats["filter"], data), "CNDHW")
    channels = weight.shape[0]
    if offset_w is not None:
        weight = shifted(weight, offset_w.astype(np.int32).reshape(-1, *(1,) * 4) if offset_w.size == channels else offset_w)
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, data)).in_3d()
    return back(correlate(images, by_channel(weight), geometry, max(channels, 1), bias), axes_like(out[0].format, data))
