"""Resizing and int8 products for ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.engines.onnx_conv import moved, returned
from hostacl.ops.engines.onnx_model import INT32, INT64, UINT8, Node, Tensor
from hostacl.ops.engines.recipe import Feed, Recipe
from hostacl.ops.engines.sessions import session
from hostacl.tensors import dtypes, formats

Array = NDArray[Any]


def finite(y: Array) -> bool:
    """Whether a result is finite throughout: if not, an infinity may have met a weight of 0."""
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
    return Recipe(made, feeds, [wanted], returned(layout), finite)


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
    "ResizeBilinearV2": bilinear, "MatMulV2": int8_product, "BatchMatMulV2": int8_product,
}  # fmt: skip
