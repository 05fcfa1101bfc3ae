"""Transposed convolutions for ONNX Runtime, and what its order of axes asks for."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import batches
from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry, in_order
from hostacl.ops.conv_axes import attribute_order, axes_like, back, data_letters, filter_letters, geometry_of, to
from hostacl.ops.engines.onnx_model import Node, Tensor
from hostacl.ops.engines.recipe import Change, Feed, Recipe
from hostacl.ops.engines.sessions import session

Array = NDArray[Any]


def attributes_of(geometry: Geometry, kernel: tuple[int, ...], groups: int) -> dict[str, Any]:
    """The attributes of ConvTranspose."""
    before, after = zip(*geometry.pads, strict=True)
    return {
        "auto_pad": "NOTSET", "group": groups, "kernel_shape": kernel, "strides": geometry.stride,
        "dilations": geometry.dilation, "pads": (*before, *after),
    }  # fmt: skip


def bias_feed(call: Call) -> list[Feed]:
    """The bias, where there is one."""
    return [Feed("b", "bias", lambda bias: bias.reshape(-1))] if call.has("bias") else []


def channels_first(data: str) -> str:
    """ONNX's order of these axes."""
    return "NCDHW" if "D" in data else "NCHW"


def moved(data: str) -> Change | None:
    """What brings data into ONNX's order."""
    return None if data == channels_first(data) else lambda x: in_order(to(x, data, channels_first(data)))


def returned(layout: str) -> Change | None:
    """What brings ONNX's result into the order of y."""
    if layout == channels_first(layout):
        return None
    return lambda y: back(y if "D" in layout else y[:, :, None], layout)


def conv_transpose(call: Call) -> Recipe | None:
    """Conv2DTranspose and Conv3DTranspose of floats, with what lies behind as output padding."""
    x, y = call.spec("x").shape, call.outputs["y"].specs[0]
    if call.has("offset_w"):
        return None
    data = data_letters(call.format("x"), call.attr("data_format"), len(x))
    letters, layout = filter_letters(call.format("filter"), data), axes_like(y.format, data)
    order = channels_first(data)
    size, out = dict(zip(data, x, strict=True)), dict(zip(layout, y.shape, strict=True))
    taps = tuple(dict(zip(letters, call.spec("filter").shape, strict=True))[letter] for letter in order[2:])
    if 4 * prod(taps) * out["C"] * prod(size[letter] for letter in order[2:]) > batches.LARGE_BYTES:
        return None  # ONNX Runtime holds all columns of an image at once
    geometry = geometry_of(
        call.attr("strides"), call.attr("dilations"), call.attr("pads"), attribute_order(call.attr("data_format"), data)
    )
    attributes = attributes_of(geometry, taps, call.attr("groups"))
    extra = [
        out[letter] - ((size[letter] - 1) * stride + (tap - 1) * gap + 1 - sum(pads))
        for letter, tap, stride, gap, pads in zip(order[2:], taps, *geometry, strict=True)
    ]
    if any(not 0 <= one < max(stride, 1) for one, stride in zip(extra, geometry.stride, strict=True)):
        return None
    feeds = [
        Feed("x", "x", moved(data)),
        Feed("w", "filter", lambda w: np.ascontiguousarray(to(w, letters, order))),
        *bias_feed(call),
    ]
    node = Node("ConvTranspose", [one.name for one in feeds], ["y"], {**attributes, "output_padding": extra})
    inputs = [Tensor(one.name, dims=1 if one.name == "b" else len(x)) for one in feeds]
    return Recipe(session([node], inputs, [Tensor("y")]), feeds, [[out[letter] for letter in order]], returned(layout))
