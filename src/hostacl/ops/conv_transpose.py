"""Transposed convolutions over two and three dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.conv import check_channel_bias, conv_dtype
from hostacl.ops.conv_adjoint import Geometry, input_gradient
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
from hostacl.ops.conv_cuts import input_cuts
from hostacl.ops.correlation import with_channel_bias
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.matmul import shifted
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def transposed_shape(call: Call) -> Shape:
    """input_size, in the order of y's format; where it is all 0, what x, strides, pads and output_padding give."""
    rank = 5 if "3D" in call.op_type else 4
    data = data_letters(call.format("x"), call.attr("data_format"), rank)
    x = dict(zip(data, rank_is(call, "x", rank), strict=True))
    weight = dict(zip(filter_letters(call.format("filter"), data), rank_is(call, "filter", rank), strict=True))
    order = attribute_order(given_format(call), data)
    geometry, extra = checked_geometry(call, order), output_padding(call, order)
    channels = output_channels(call, x, weight)
    check_channel_bias(call, channels)
    letters = axes_like(call.output_format("y", 0, call.shape("x")), data)
    known = "input_size" in call.attrs or call.known("input_size")
    size = wanted_size(call, letters) if known else None
    sizes: dict[str, Dim] = {"N": x["N"], "C": channels}
    for place, letter in enumerate(spatial(data)):
        sizes[letter] = spatial_size(call, letter, x[letter], weight[letter], geometry, place, extra[place], size)
    for letter in "NC":
        if size is not None and size[letter] not in (0, sizes[letter]) and dims.known(sizes[letter]):
            raise call.refuse("HA519", f"input_size has {size[letter]} at {letter}; x and filter give {sizes[letter]}.")
    return tuple(sizes[letter] for letter in letters)


def output_padding(call: Call, order: str) -> list[int]:
    """What is added behind, for each spatial axis."""
    values = list(call.attr("output_padding"))
    if len(values) != len(order) or min(values) < 0:
        raise call.refuse("HA508", f"output_padding = {values}; allowed: {len(order)} numbers of 0 or more.")
    return [values[order.index(letter)] for letter in spatial(order)]


def output_channels(call: Call, x: dict[str, Dim], weight: dict[str, Dim]) -> Dim:
    """The filter's channels times groups; the filters are the channels of x."""
    groups = call.attr("groups")
    if dims.known(x["C"], weight["N"]) and (x["C"] != weight["N"] or groups < 1 or x["C"] % groups):
        raise call.refuse(
            "HA504",
            f"x has {x['C']} channels, the filter {weight['N']} at N, groups is {groups}; the first two must be equal, "
            f"and groups must divide them.",
        )
    return weight["C"] * groups


def wanted_size(call: Call, letters: str) -> dict[str, int] | None:
    """input_size by axis letter; None when it is all 0."""
    values = call.ints("input_size")
    if len(values) != len(letters) or min(values) < 0:
        raise call.refuse("HA519", f"input_size = {list(values)}; allowed: {len(letters)} numbers, each 0 or more.")
    return dict(zip(letters, values, strict=True)) if any(values) else None


def spatial_size(
    call: Call, letter: str, x: Dim, taps: Dim, geometry: Geometry, place: int, extra: int, size: dict[str, int] | None
) -> Dim:  # fmt: skip
    """The size of y along an axis; refuses one that the forward convolution would not bring to that of x."""
    stride, dilation, pads = geometry.stride[place], geometry.dilation[place], sum(geometry.pads[place])
    if not (isinstance(x, int) and isinstance(taps, int)):
        return Between() if size is None else size[letter]
    least = max((x - 1) * stride + (taps - 1) * dilation + 1 - pads, 0) if x else 0
    if size is None:
        waits = "input_size" in call.inputs and not call.known("input_size")
        return Between(least, least + stride - 1) if waits else least + extra
    fits = size[letter] == least + extra if extra else least <= size[letter] < least + max(stride, 1)
    if not fits:
        allowed = f"{least + extra}" if extra or stride == 1 else f"{least} to {least + stride - 1}"
        raise call.refuse("HA519", f"input_size has {size[letter]} along {letter}; allowed for x, filter and pads: {allowed}.")
    return size[letter]


def without_offsets(weight: Array, offsets: Array, groups: int) -> Array:
    """Filters (channels of x, channels of y / groups, …) less one offset, or one for each channel of y."""
    if offsets.size == 1 or weight.size == 0:
        return shifted(weight, offsets.item() if offsets.size == 1 else 0)
    each = weight.reshape(groups, -1, *weight.shape[1:])
    return shifted(each, offsets.reshape(groups, 1, -1, 1, 1, 1)).reshape(weight.shape)


@kernel("Conv2DTranspose", "Conv2DTransposeD", "Conv3DTranspose", "Conv3DTransposeD", shape=transposed_shape,
        values=("input_size",), dtype={"y": conv_dtype}, mixed=("bias", "y"), attrs={"data_format": None},
        cuts=input_cuts("x"), dtypes=dict.fromkeys(("x", "filter"), (dtypes.FLOAT,)))  # fmt: skip
def conv_transpose(
    input_size: Any, x: Array, filter: Array, bias: Array | None, offset_w: Array | None, strides: Sequence[int],
    pads: Sequence[int], dilations: Sequence[int], groups: int, data_format: str | None, offset_x: int, call: Call,
    formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """The transposed convolution: each element of x times the filter, added up where the filter lies, plus the bias.

    The filter is (channels of x, channels of y / groups, …). input_size is the shape of y; all 0: the smallest one plus
    output_padding. Quantised values lose their offsets first; half types are added up in float32.
    """
    data = data_letters(formats["x"], data_format, x.ndim)
    given = {} if "input_size" in call.attrs else {"input_size": np.asarray(input_size)}
    letters = axes_like(out[0].format, data)
    size = dict(zip(letters, call.with_values(given).shapes_out[0] or (), strict=True))
    weight = to(filter, filter_letters(formats["filter"], data), "NCDHW")
    if offset_w is not None:
        weight = without_offsets(weight, offset_w.astype(np.int32), groups)
    geometry = geometry_of(strides, dilations, pads, attribute_order(data_format, data)).in_3d()
    sizes: list[Any] = [size.get(letter, 1) for letter in "DHW"]
    y = input_gradient(to(shifted(x, offset_x), data, "NCDHW"), np.ascontiguousarray(weight), sizes, geometry, groups)
    return back(with_channel_bias(y, bias), letters)
