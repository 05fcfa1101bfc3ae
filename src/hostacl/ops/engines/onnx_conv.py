"""Convolutions for ONNX Runtime: where it can be done in its blocked layout of channels, which is much the fastest, in that."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry
from hostacl.ops.conv_grad import attribute_order, axes_like, back, data_letters, filter_letters, geometry_of, to
from hostacl.ops.engines.onnx_model import Node, Tensor
from hostacl.ops.engines.recipe import Change, Feed, Recipe
from hostacl.ops.engines.sessions import Session, session

Array = NDArray[Any]

BLOCKED = "com.microsoft.nchwc"


def attributes_of(geometry: Geometry, kernel: tuple[int, ...], groups: int) -> dict[str, Any]:
    """The attributes of Conv and ConvTranspose."""
    before, after = zip(*geometry.pads, strict=True)
    return {
        "auto_pad": "NOTSET", "group": groups, "kernel_shape": kernel, "strides": geometry.stride,
        "dilations": geometry.dilation, "pads": (*before, *after),
    }  # fmt: skip


def conv(call: Call) -> Recipe | None:
    """Conv2D, Conv3D and DepthwiseConv2D of floats."""
    x, y = call.spec("x").shape, call.outputs["y"].specs[0]
    if call.has("offset_w"):
        return None
    data = data_letters(call.format("x"), call.attr("data_format"), len(x))
    letters, layout = filter_letters(call.format("filter"), data), axes_like(y.format, data)
    channels = x[data.index("C")]
    filters, change, groups = filters_of(call, letters, channels)
    if prod(filters[2:]) == 1 and groups == 1:
        return None  # a product, at which BLAS is faster
    geometry = geometry_of(
        call.attr("strides"), call.attr("dilations"), call.attr("pads"), attribute_order(call.attr("data_format"), data)
    )
    attributes = attributes_of(geometry, filters[2:], groups)
    made, order = blocked_session(attributes, channels, filters, call.has("bias")) or (
        plain_session("Conv", attributes, len(x), call.has("bias")), None)  # fmt: skip
    feeds = [Feed("x", "x", moved(data)), Feed("w", "filter", (lambda w: order(change(w))) if order else change)]
    sizes = dict(zip(layout, y.shape, strict=True))
    shape = [sizes[letter] for letter in ("NCDHW" if "D" in data else "NCHW")]
    return Recipe(made, (*feeds, *bias_feed(call)), [shape], returned(layout))


def bias_feed(call: Call) -> list[Feed]:
    """The bias, where there is one."""
    return [Feed("b", "bias", lambda bias: bias.reshape(-1))] if call.has("bias") else []


def channels_first(data: str) -> str:
    """ONNX's order of these axes."""
    return "NCDHW" if "D" in data else "NCHW"


def moved(data: str) -> Change | None:
    """What brings data into ONNX's order."""
    return None if data == channels_first(data) else lambda x: in_memory(to(x, data, channels_first(data)))


def in_memory(view: Array) -> Array:
    """A view, its elements in order."""
    out = np.empty(view.shape, view.dtype)
    _kernels.copy(view, out)
    return out


def returned(layout: str) -> Change | None:
    """What brings ONNX's result into the order of y."""
    if layout == channels_first(layout):
        return None
    return lambda y: back(y if "D" in layout else y[:, :, None], layout)


def filters_of(call: Call, letters: str, channels: int) -> tuple[tuple[int, ...], Callable[[Array], Array], int]:
    """The shape of ONNX's filters, what makes them of the call's, and the groups."""
    size = dict(zip(letters, call.spec("filter").shape, strict=True))
    spatial = [letter for letter in "DHW" if letter in letters]
    kernel = tuple(size[letter] for letter in spatial)
    if call.op_type == "DepthwiseConv2D":
        shape = (channels * size["N"], 1, *kernel)
        return shape, lambda w: np.ascontiguousarray(to(w, letters, "CNHW")).reshape(shape), max(channels, 1)
    order = "NC" + "".join(spatial)
    groups = call.attr("groups") or channels // max(size["C"], 1)
    return (size["N"], size["C"], *kernel), lambda w: np.ascontiguousarray(to(w, letters, order)), groups


def plain_session(op_type: str, attributes: dict[str, Any], rank: int, bias: bool) -> Session:
    """One node that takes data, filters and bias as they are."""
    names = ("x", "w", "b") if bias else ("x", "w")
    inputs = [Tensor(name, dims=1 if name == "b" else rank) for name in names]
    return session([Node(op_type, names, ["y"], attributes)], inputs, [Tensor("y")])


def blocked_session(
    attributes: dict[str, Any], channels: int, filters: tuple[int, ...], bias: bool
) -> tuple[Session, Change] | None:
    """The nodes for the blocked layout and what brings ONNX's filters into it; None where channels do not fill blocks."""
    groups, block = attributes["group"], block_size()
    if len(filters) != 4 or not block or filters[0] % block:
        return None
    single = filters[1] == 1 and groups == filters[0]
    dense = groups == 1 and channels % block == 0
    if not (single or dense or (groups == 1 and channels < block)) or (single and channels % block):
        return None
    nodes, source = [], "x"
    if single or dense:
        nodes, source = [Node("ReorderInput", ["x"], ["xb"], {}, BLOCKED)], "xb"
    nodes.append(Node("Conv", [source, "w", *(["b"] if bias else [])], ["yb"], attributes, BLOCKED))
    nodes.append(Node("ReorderOutput", ["yb"], ["y"], {"channels": filters[0]}, BLOCKED))
    inputs = [Tensor("x", dims=4), Tensor("w", dims=4), *([Tensor("b", dims=1)] if bias else [])]
    return session(nodes, inputs, [Tensor("y")]), partial(blocked_filters, block=block, both=dense)


def blocked_filters(weight: Array, block: int, both: bool) -> Array:
    """OIHW filters with blocks of output channels inside, and of input channels around them where ``both``."""
    o, i, h, w = weight.shape
    if both:
        view = weight.reshape(o // block, block, i // block, block, h, w).transpose(0, 2, 4, 5, 3, 1)
    else:
        view = weight.reshape(o // block, block, i, h, w).transpose(0, 2, 3, 4, 1)
    return in_memory(view).reshape(weight.shape)


@cache
def block_size() -> int:
    """How many channels a block of this machine's layout has, as a reordered array shows; 0 where there is no such layout."""
    try:
        probe = session([Node("ReorderInput", ["x"], ["y"], {}, BLOCKED)], [Tensor("x", dims=4)], [Tensor("y")])
        (found,) = probe.run({"x": np.arange(64, dtype=np.float32).reshape(1, 32, 1, 2)})
    except Exception:  # whatever this build lacks: the plain layout is left
        return 0
    steps = np.flatnonzero(found.ravel() == 1)
    return int(steps[0]) if steps.size and steps[0] in (8, 16, 32) else 0


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
    made = plain_session("ConvTranspose", {**attributes, "output_padding": extra}, len(x), call.has("bias"))
    feeds = [Feed("x", "x", moved(data)), Feed("w", "filter", lambda w: np.ascontiguousarray(to(w, letters, order)))]
    shape = [out[letter] for letter in order]
    return Recipe(made, (*feeds, *bias_feed(call)), [shape], returned(layout))
