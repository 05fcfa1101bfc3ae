"""Pooling, resizing and int8 products for ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.engines.onnx_conv import channels_first, moved, returned
from hostacl.ops.engines.onnx_model import INT32, INT64, UINT8, Node, Tensor
from hostacl.ops.engines.recipe import Feed, Recipe
from hostacl.ops.engines.sessions import session
from hostacl.ops.pooling import Window
from hostacl.ops.pooling_avg import avg_pool_3d_windows, avg_pool_windows
from hostacl.ops.pooling_max import max_pool_3d_windows, max_pool_v3_windows, max_pool_windows
from hostacl.ops.pooling_passes import SHORT
from hostacl.tensors import dtypes, formats

Array = NDArray[Any]
Windows = Callable[[Call], tuple[str, list[Window]]]


def pool(op_type: str, windows_of: Windows, padding: Callable[[Call], bool] = lambda call: False) -> Any:
    """What makes the recipe of a pooling operator."""

    def make(call: Call) -> Recipe | None:
        data, windows = windows_of(call)
        y = call.outputs["y"].specs[0]
        layout = formats.axes_of(y.format, len(y.shape)) or data
        ends = [behind(one, call.spec("x").shape[one.axis]) for one in windows]
        counted = padding(call)
        wide = any(end > one.after for end, one in zip(ends, windows, strict=True))
        long = op_type != "MaxPool" and prod(one.size for one in windows) > SHORT
        deep = any(max(one.before, end) >= one.size for end, one in zip(ends, windows, strict=True))
        if call.attrs.get("divisor_override") or (counted and wide) or long or deep:
            return None  # ONNX Runtime wants pads that are less than the window
        attributes = {
            "kernel_shape": [one.size for one in windows], "strides": [one.stride for one in windows],
            "pads": [*(one.before for one in windows), *ends],
        }  # fmt: skip
        extra = {"dilations": [one.dilation for one in windows]} if op_type == "MaxPool" else {"count_include_pad": counted}
        nodes = [Node(op_type, ["x"], ["y"], attributes | extra)]
        made = session(nodes, [Tensor("x", dims=len(data))], [Tensor("y")])
        sizes = dict(zip(layout, y.shape, strict=True))
        wanted = [sizes[letter] for letter in channels_first(data)]
        fit = no_nan if op_type == "MaxPool" else None
        right = None if op_type == "MaxPool" else finite
        return Recipe(made, [Feed("x", "x", moved(data))], [wanted], returned(layout), fit, right)

    return make


def behind(one: Window, extent: int) -> int:
    """The padding behind, such that whole windows alone give their number."""
    return max((one.number - 1) * one.stride + (one.size - 1) * one.dilation + 1 - extent - one.before, 0)


def no_nan(feed: Mapping[str, Array]) -> bool:
    """Whether x has no NaN, which ONNX Runtime's maximum loses: a sum of squares has one just then."""
    flat = feed["x"].reshape(-1)
    return not np.isnan(np.dot(flat, flat))


def finite(y: Array) -> bool:
    """Whether a result is finite throughout: if not, a sum was too large on the way, or an infinity met a weight of 0."""
    return bool(np.isfinite(np.sum(y)))


def bilinear(call: Call) -> Recipe | None:
    """ResizeBilinearV2 of float images, between sizes for which float32 holds every position exactly."""
    x, y = call.spec("x"), call.outputs["y"].specs[0]
    data = formats.axes_of(x.format, 4) or "NCHW"
    layout = formats.axes_of(y.format, 4) or data
    sizes = dict(zip(layout, y.shape, strict=True))
    mode = "align_corners" if call.attr("align_corners") else "half_pixel" if call.attr("half_pixel_centers") else "asymmetric"
    wanted = [sizes[letter] for letter in "NCHW"]
    if not all(power_of_2(sizes[letter], x.shape[data.index(letter)]) for letter in "HW") or mode == "align_corners":
        return None
    nodes = [Node("Resize", ["x", "", "", "s"], ["y"], {"mode": "linear", "coordinate_transformation_mode": mode})]
    made = session(nodes, [Tensor("x", dims=4), Tensor("s", INT64, [4])], [Tensor("y")])
    feeds = [Feed("x", "x", moved(data)), Feed("s", "size", lambda _: np.asarray(wanted, np.int64))]
    return Recipe(made, feeds, [wanted], returned(layout), None, finite)


def power_of_2(new: int, old: int) -> bool:
    """Whether one size is the other times 1, 2, 4 …: then positions in float32, as ONNX Runtime has them, are exact."""
    times = max(new, old) // min(new, old)
    return times * min(new, old) == max(new, old) and times & (times - 1) == 0


def int8_product(call: Call) -> Recipe | None:
    """Products of int8 matrices, exact: as uint8 around 128, because with int8 some processors saturate on the way."""
    specs = [call.spec("x1"), call.spec("x2")]
    if any(one.dtype != dtypes.INT8 for one in specs) or call.outputs["y"].specs[0].dtype != dtypes.INT32:
        return None
    flips = [bool(call.attrs.get(f"transpose_{name}") or call.attrs.get(f"adj_{name}")) for name in ("x1", "x2")]
    if call.has("bias") or call.has("offset_w") or call.attrs.get("offset_x") or min(len(one.shape) for one in specs) < 2:
        return None
    y = call.outputs["y"].specs[0].shape
    names = ["a", "b"]
    nodes = [Node("MatMulInteger", [*names, "z", "z"], ["y"])]
    inputs = [Tensor(name, UINT8, len(one.shape)) for name, one in zip(names, specs, strict=True)]
    made = session(nodes, [*inputs, Tensor("z", UINT8, [])], [Tensor("y", INT32)])
    feeds = [Feed(name, tensor, shifted(flip)) for name, tensor, flip in zip(names, ("x1", "x2"), flips, strict=True)]
    return Recipe(made, [*feeds, Feed("z", "x1", lambda _: np.array(128, np.uint8))], [y])


def shifted(flip: bool) -> Callable[[Array], Array]:
    """int8 values plus 128 as uint8, the last two dims swapped where asked."""

    def change(x: Array) -> Array:
        return (np.swapaxes(x, -1, -2) if flip else x).view(np.uint8) ^ np.uint8(128)

    return change


INTEGERS = frozenset({"MatMulV2", "BatchMatMulV2"})
"""The operators that are done in integers; what is float in them stays with NumPy's BLAS, which is as fast."""

MADE_BY: Mapping[str, Callable[[Call], Recipe | None]] = {
    "MaxPoolV3": pool("MaxPool", max_pool_v3_windows), "MaxPool": pool("MaxPool", max_pool_windows),
    "MaxPoolV2": pool("MaxPool", max_pool_windows), "MaxPool3D": pool("MaxPool", max_pool_3d_windows),
    "AvgPool": pool("AveragePool", avg_pool_windows),
    "AvgPoolV2": pool("AveragePool", max_pool_v3_windows, lambda call: not call.attr("exclusive")),
    "AvgPool3D": pool("AveragePool", avg_pool_3d_windows, lambda call: bool(call.attr("count_include_pad"))),
    "AvgPool3DD": pool("AveragePool", avg_pool_3d_windows, lambda call: bool(call.attr("count_include_pad"))),
    "ResizeBilinearV2": bilinear, "MatMulV2": int8_product, "BatchMatMulV2": int8_product,
}  # fmt: skip
