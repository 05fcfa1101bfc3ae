"""Convolutions: blocks of columns for BLAS, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as product_of
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.matmul import product, shifted
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes, formats

Array = NDArray[Any]

TILE_BYTES = 4 << 20
"""What the columns of one tile may take."""


class Window(NamedTuple):
    """How a 2-D filter moves: stride and dilation (h, w), pads (top, bottom, left, right)."""

    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]


def axes_or(code: int, other: str) -> str:
    """The axis letters of a 4-D format; of ND, the given ones."""
    return formats.axes_of(code, 4) or other


def data_axes(format_code: int, data_format: str | None) -> str:
    """The axis letters of the data: its own format, else (an ND one) the data_format attribute, NHWC by default."""
    return axes_or(format_code, data_format if data_format in ("NCHW", "NHWC") else "NHWC")


def filter_axes(format_code: int, data: str) -> str:
    """The axis letters of a filter; an ND one goes with the data: NCHW, or HWCN for NHWC."""
    return axes_or(format_code, "HWCN" if data == "NHWC" else "NCHW")


def window_of(strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], order: str) -> Window:
    """The window that four-entry attributes in an axis order describe."""
    h, w = order.index("H"), order.index("W")
    top, bottom, left, right = pads
    return Window((strides[h], strides[w]), (dilations[h], dilations[w]), (top, bottom, left, right))


def checked_window(call: Call, order: str) -> Window:
    """The window of a call; refuses attributes of a wrong length or value."""
    for name, least in (("strides", 1), ("dilations", 1), ("pads", 0)):
        values = call.attr(name)
        if len(values) != 4 or min(values) < least:
            raise call.refuse("HA508", f"{name} = {list(values)}; allowed: 4 numbers, each {least} or more.")
        if name != "pads" and (values[order.index("N")], values[order.index("C")]) != (1, 1):
            raise call.refuse("HA508", f"{name} = {list(values)} in {order} order; the entries for N and C must be 1.")
    return window_of(call.attr("strides"), call.attr("dilations"), call.attr("pads"), order)


def attribute_order(call: Call, data: str) -> str:
    """The axis order of strides and dilations: the data_format attribute where it was set, else that of x."""
    given = call.attr("data_format") if "data_format" in call.given else data
    return given if given in ("NCHW", "NHWC") else data


def out_size(call: Call, size: Dim, kernel_size: Dim, stride: int, dilation: int, pad: int, axis: str) -> Dim:
    """The output size along H or W; refuses a filter larger than the padded input."""
    reach = (kernel_size - 1) * dilation + 1
    room = size + pad - reach if isinstance(reach, int) else None
    if room is None:
        return dims.Between(0, dims.bounds(size)[1])
    if isinstance(room, int) and room < 0:
        raise call.refuse("HA504", f"the filter reaches over {reach} along {axis}, the padded x has {size + pad}; it must fit.")
    return room // stride + 1 if isinstance(room, int) else (room // stride + 1).at_least(0)


def sizes_by_letter(shape: Shape, axes: str) -> dict[str, Dim]:
    """Dims by their axis letters."""
    return dict(zip(axes, shape, strict=True))


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


def conv2d_shape(call: Call) -> Shape:
    """The shape of y, in the order of its own format."""
    data = data_axes(call.format("x"), call.attr("data_format"))
    x = sizes_by_letter(rank_is(call, "x", 4), data)
    weight = sizes_by_letter(rank_is(call, "filter", 4), filter_axes(call.format("filter"), data))
    checked_groups(call, x, weight)
    check_channel_bias(call, weight["N"])
    window = checked_window(call, attribute_order(call, data))
    top, bottom, left, right = window.pads
    sizes = {"N": x["N"], "C": weight["N"]}
    sizes["H"] = out_size(call, x["H"], weight["H"], window.stride[0], window.dilation[0], top + bottom, "H")
    sizes["W"] = out_size(call, x["W"], weight["W"], window.stride[1], window.dilation[1], left + right, "W")
    return tuple(sizes[letter] for letter in axes_or(call.output_format("y", 0, call.shape("x")), data))


def check_channel_bias(call: Call, filters: Dim) -> None:
    """A bias has one element an output channel."""
    if call.has("bias"):
        size = dims.count(call.shape("bias"))
        if dims.known(size, filters) and size != filters:
            raise call.refuse(
                "HA504",
                f"bias = {dims.text(call.shape('bias'))}; allowed: one element for each of the {filters} output channels.",
            )


def conv2d_dtype(call: Call) -> tuple[int, ...]:
    """Half types give themselves or float32, int8 gives int32, float32 itself."""
    code = call.dtype("x")
    if code in dtypes.HALVES:
        return (code, dtypes.FLOAT)
    return (dtypes.INT32,) if code == dtypes.INT8 else (code,)


@kernel(
    "Conv2D", shape=conv2d_shape, dtype={"y": conv2d_dtype}, mixed=("bias", "y"), attrs={"groups": None, "data_format": None}
)
def conv2d(
    x: Array,
    filter: Array,
    bias: Array | None,
    offset_w: Array | None,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int | None,
    data_format: str | None,
    offset_x: int,
    formats: dict[str, int],
    out: tuple[Out, ...],
) -> Array:
    """The 2-D cross-correlation in groups. Quantised values lose their offsets first; padding is the value that means 0."""
    data = data_axes(formats["x"], data_format)
    order = data_format if data_format in ("NCHW", "NHWC") else data
    images = np.transpose(shifted(x, offset_x), [data.index(letter) for letter in "NCHW"])
    letters = filter_axes(formats["filter"], data)
    weight = np.transpose(filter, [letters.index(letter) for letter in "NCHW"])
    if offset_w is not None:
        weight = shifted(weight, offset_w.astype(np.int32).reshape(-1, 1, 1, 1))
    y = correlate(
        images, weight, window_of(strides, dilations, pads, order), groups or images.shape[1] // max(weight.shape[1], 1)
    )
    if bias is not None:
        y = y + bias.reshape(-1, 1, 1)
    return y.transpose(["NCHW".index(letter) for letter in axes_or(out[0].format, data)])


def correlate(x: Array, weight: Array, window: Window, groups: int) -> Array:
    """Grouped cross-correlation of NCHW images with OIHW filters; integers give int32."""
    top, bottom, left, right = window.pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))) if any(window.pads) else np.ascontiguousarray(x)
    filters, channels, kh, kw = weight.shape
    reach = [(k - 1) * d + 1 for k, d in zip((kh, kw), window.dilation, strict=True)]
    oh, ow = [(size - r) // s + 1 for size, r, s in zip(padded.shape[2:], reach, window.stride, strict=True)]
    y = np.zeros((x.shape[0], filters, oh, ow), np.int32 if x.dtype.kind in "iu" else x.dtype)
    if y.size == 0 or channels * kh * kw == 0:
        return y
    rows = min(oh, max(1, TILE_BYTES // (channels * kh * kw * ow * x.dtype.itemsize)))
    matrix = weight.reshape(groups, filters // groups, channels * kh * kw)
    patches = _patches(padded, (kh, kw), (oh, ow), window)
    columns = np.empty((channels, kh, kw, rows, ow), x.dtype)
    for image, group, row in product_of(range(x.shape[0]), range(groups), range(0, oh, rows)):
        part = slice(group * (filters // groups), (group + 1) * (filters // groups))
        source = patches[image, group * channels : (group + 1) * channels, :, :, row : row + rows]
        tile = columns[:, :, :, : source.shape[3]] if source.shape[3] == rows else np.empty(source.shape, x.dtype)
        _kernels.copy(source, tile)
        y[image, part, row : row + rows] = product(matrix[group], tile.reshape(channels * kh * kw, -1)).reshape(
            filters // groups, -1, ow
        )
    return y


def _patches(padded: Array, size: tuple[int, int], out: tuple[int, int], window: Window) -> Array:
    """A view (N, C, kh, kw, oh, ow) of what each filter element meets at each output place."""
    n, c, h, w = padded.strides
    (sh, sw), (dh, dw) = window.stride, window.dilation
    shape = (*padded.shape[:2], *size, *out)
    return as_strided(padded, shape, (n, c, h * dh, w * dw, h * sh, w * sw), writeable=False)
