"""Convolutions for ONNX Runtime, in its blocked layout of channels, and transposed ones."""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry, in_order
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
    """Conv2D of floats whose channels fill blocks, or are fewer than one; others our loops do as fast, products BLAS."""
    x, y, filters = call.spec("x").shape, call.outputs["y"].specs[0], call.spec("filter").shape
    data = data_letters(call.format("x"), call.attr("data_format"), 4)
    letters, layout = filter_letters(call.format("filter"), data), axes_like(y.format, data)
    channels, size = x[data.index("C")], dict(zip(letters, filters, strict=True))
    shape = tuple(size[letter] for letter in "NCHW")
    groups = call.attr("groups") or channels // max(shape[1], 1)
    if call.has("offset_w") or groups != 1 or prod(shape[2:]) == 1:
        return None
    geometry = geometry_of(
        call.attr("strides"), call.attr("dilations"), call.attr("pads"), attribute_order(call.attr("data_format"), data)
    )
    made = blocked_session(attributes_of(geometry, shape[2:], 1), channels, shape[0], call.has("bias"))
    if made is None:
        return None
    feeds = [Feed("x", "x", moved(data)), Feed("w", "filter", lambda w: made[1](to(w, letters, "NCHW"))), *bias_feed(call)]
    sizes = dict(zip(layout, y.shape, strict=True))
    return Recipe(made[0], feeds, [[sizes[letter] for letter in "NCHW"]], returned(layout))


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


def plain_session(op_type: str, attributes: dict[str, Any], rank: int, bias: bool) -> Session:
    """One node that takes data, filters and bias as they are."""
    names = ("x", "w", "b") if bias else ("x", "w")
    inputs = [Tensor(name, dims=1 if name == "b" else rank) for name in names]
    return session([Node(op_type, names, ["y"], attributes)], inputs, [Tensor("y")])


def blocked_session(
    attributes: dict[str, Any], channels: int, filters: int, bias: bool
) -> tuple[Session, Change] | None:
    """The nodes for the blocked layout and what brings OIHW filters into it; None where channels do not fill blocks."""
    block = block_size()
    whole = bool(block) and channels % block == 0
    if not block or filters % block or not (whole or channels < block):
        return None
    nodes = [Node("ReorderInput", ["x"], ["xb"], {}, BLOCKED)] if whole else []
    nodes.append(Node("Conv", ["xb" if whole else "x", "w", *(["b"] if bias else [])], ["yb"], attributes, BLOCKED))
    nodes.append(Node("ReorderOutput", ["yb"], ["y"], {"channels": filters}, BLOCKED))
    inputs = [Tensor("x", dims=4), Tensor("w", dims=4), *([Tensor("b", dims=1)] if bias else [])]
    return session(nodes, inputs, [Tensor("y")]), partial(blocked_filters, block=block, both=whole)


def blocked_filters(weight: Array, block: int, both: bool) -> Array:
    """OIHW filters with blocks of output channels inside, and of input channels around them where ``both``."""
    o, i, h, w = weight.shape
    if both:
        view = weight.reshape(o // block, block, i // block, block, h, w).transpose(0, 2, 4, 5, 3, 1)
    else:
        view = weight.reshape(o // block, block, i, h, w).transpose(0, 2, 3, 4, 1)
    return in_order(view).reshape(weight.shape)


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
