"""Gradients of pooling: to the largest element of each window, or shared among all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.binding import Bound
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.pooling import Window, pooled, tiles
from hostacl.ops.pooling_argmax import argmax_v1_shape, argmax_windows, bins
from hostacl.ops.pooling_avg import avg_pool_3d_windows, divisors
from hostacl.ops.pooling_cuts import leading_grad_cuts, plane_cuts
from hostacl.ops.pooling_max import max_pool_3d_windows, max_pool_v3_windows, max_pool_windows, max_pooled_with_places
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]
Windows = Callable[[Call], "tuple[str, list[Window]]"]

TILE = 1 << 20
"""Gradients that are handed to their places at a time."""


def as_forward(call: Call, source: str, shape: Sequence[int] | None = None, **attrs: Any) -> Call:
    """The call as the forward operator's: its x is like ``source``, of this shape, and attributes it lacks are added."""
    bound = call.inputs[source]
    spec = bound.specs[0] if shape is None else bound.specs[0]._replace(shape=tuple(shape), ranges=())
    inputs = {**call.inputs, "x": Bound(bound.decl, bound.positions, (spec,))}
    return replace(call, inputs=inputs, attrs={**attrs, **call.attrs})


def check_pooled(call: Call, name: str, want: Shape) -> None:
    """Refuses a gradient that does not have the pooled shape."""
    given = call.shape(name)
    text = f"{name} = {dims.text(given)}; pooling gives {dims.text(want)}, which it must have."
    if len(given) != len(want):
        raise call.refuse("HA516", text)
    for one, other in zip(given, want, strict=True):
        equal_dims(call, one, other, text)


def to_places(grads: Array, places: Array, shape: tuple[int, ...], axes: Sequence[int], op: str) -> Array:
    """Zeros of a shape with the gradients added at flat places among some axes; fails for a place that is not there."""
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    order = [*rest, *axes]
    size, rows = prod(shape[axis] for axis in axes), prod(shape[axis] for axis in rest)
    check_places(op, places, size)
    flat = [np.transpose(one, order).reshape(rows, -1) if one.size else one.reshape(rows, 0) for one in (grads, places)]
    result = np.zeros((rows, size), grads.dtype)
    step = max(1, TILE // max(flat[0].shape[1], size, 1))
    for start in range(0, rows if flat[0].size else 0, step):
        part = slice(start, start + step)
        _add(result[part], flat[0][part], flat[1][part])
    inverse = [order.index(axis) for axis in range(len(shape))]
    return np.transpose(result.reshape([shape[axis] for axis in order]), inverse)


def check_places(op: str, places: Array, size: int) -> None:
    """Fails for an index outside its plane."""
    wrong = (places < 0) | (places >= size)
    if wrong.any():
        at = tuple(int(one) for one in np.argwhere(wrong)[0])
        raise Failed("HA510", f"{op}: argmax{list(at)} = {int(places[at])}; allowed: 0 to {size - 1}.")


def _add(rows: Array, grads: Array, places: Array) -> None:
    """Adds gradients to their places in each row: floats in float64, integers exactly."""
    index = (places + np.arange(len(rows))[:, None] * rows.shape[1]).ravel()
    if rows.dtype.kind == "f":
        rows[...] = np.bincount(index, grads.ravel(), rows.size).reshape(rows.shape)
        return
    flat = rows.reshape(-1)
    np.add.at(flat, index, grads.ravel())


def argmax_v1_forward(call: Call) -> Call:
    """The call as MaxPoolWithArgmaxV1's; clients name the dilation ``dilations`` here."""
    named = call.attr("dilations")
    return as_forward(replace(call, attrs={**call.attrs, "dilation": named}) if named else call, "x")


def argmax_v1_grad_shape(call: Call) -> Shape:
    """The shape of x; grad has the pooled shape and argmax that of the forward operator's."""
    forward = argmax_v1_forward(call)
    described = replace(forward, outputs={"y": call.outputs["y"], "argmax": call.inputs["argmax"]})
    y, argmax = argmax_v1_shape(described)
    check_pooled(call, "grad", y)
    check_pooled(call, "argmax", argmax)
    return call.shape("x")


@kernel("MaxPoolGradWithArgmaxV1", shape=argmax_v1_grad_shape, attrs={"dilations": []}, dtype_attrs={},
        cuts=plane_cuts("NCHW"))  # fmt: skip
def max_pool_grad_with_argmax_v1(x: Array, grad: Array, argmax: Array, call: Call) -> Array:
    """Each gradient at the place that argmax says, 0 elsewhere; what meets in one place is added up.

    argmax int32: flat indices in the plane of height · width, one outside fails. uint16: for each window element a mask over
    the windows, as MaxPoolWithArgmaxV1 gives it; the padding bits are not read. ksize, strides and pads are [1, h, w, 1].
    """
    data, windows = argmax_windows(argmax_v1_forward(call))
    if call.dtype("argmax") == dtypes.UINT16:
        return from_masks(grad, argmax, x.shape, data, windows)
    return to_places(grad, argmax, x.shape, [one.axis for one in windows], "MaxPoolGradWithArgmaxV1")


def from_masks(grad: Array, masks: Array, shape: tuple[int, ...], data: str, windows: Sequence[Window]) -> Array:
    """Gradients at the places where a window element's mask has its window's bit."""
    height, width = windows
    nchw = [data.index(letter) for letter in "NCHW"]
    planes = grad.transpose(nchw)
    bits = np.unpackbits(np.ascontiguousarray(masks.transpose(nchw)).view(np.uint8), axis=-1, bitorder="little")
    taps = height.size * width.size
    bits = bits[..., : height.number * width.number].reshape(*planes.shape[:2], taps, height.number, width.number)
    result = np.zeros([shape[axis] for axis in nchw], np.float64)
    for row, inside_h, source_h in height.taps(result.shape[2]):
        for column, inside_w, source_w in width.taps(result.shape[3]):
            chosen = bits[:, :, row * width.size + column, inside_h, inside_w] != 0
            result[:, :, source_h, source_w] += np.where(chosen, planes[:, :, inside_h, inside_w], 0)
    return result.transpose(["NCHW".index(letter) for letter in data])


def by_comparison(names: tuple[str, str, str], windows_of: Windows, **attrs: Any) -> tuple[Callable[..., Any], ...]:
    """The shape rule and the kernel's work of a gradient whose largest elements are looked for again in the forward's x."""
    source, result, gradient = names

    def shape(call: Call) -> Shape:
        forward = as_forward(call, source, **attrs)
        _, windows = windows_of(forward)
        want = pooled(call.shape(source), windows)
        check_pooled(call, gradient, want)
        if len(alike_inputs(call, gradient, result)) != len(want):
            raise call.refuse("HA516", f"{result} = {dims.text(call.shape(result))} has another rank than {source}.")
        return call.shape(source)

    def work(x: Array, grads: Array, call: Call) -> Array:
        _, windows = windows_of(as_forward(call, source, **attrs))
        _, places = max_pooled_with_places(x, windows)
        return to_places(grads, places, x.shape, [one.axis for one in windows], call.op_type)

    return shape, work


v3_shape, v3_work = by_comparison(("orig_input", "orig_output", "grad"), max_pool_v3_windows)


@kernel("MaxPoolV3Grad", shape=v3_shape, cuts=plane_cuts("NCHW"))
def max_pool_v3_grad(orig_input: Array, grad: Array, call: Call) -> Array:
    """Each gradient at the first largest element (or first NaN) of its window in orig_input; what meets there is added up.

    orig_output is not needed. Attributes are those of MaxPoolV3.
    """
    return v3_work(orig_input, grad, call)


plain_shape, plain_work = by_comparison(("x1", "x2", "grad"), max_pool_windows)


@kernel("MaxPoolGrad", shape=plain_shape, cuts=plane_cuts("NHWC"))
def max_pool_grad(x1: Array, grad: Array, call: Call) -> Array:
    """Each gradient at the first largest element (or first NaN) of its window in x1; what meets there is added up.

    x2, the pooled x1, is not needed. Attributes are those of MaxPool.
    """
    return plain_work(x1, grad, call)


three_shape, three_work = by_comparison(
    ("orig_x", "orig_y", "grads"), max_pool_3d_windows, dilation=[1, 1, 1, 1, 1], ceil_mode=False
)


@kernel("MaxPool3DGrad", shape=three_shape, cuts=plane_cuts("NDHWC"))
def max_pool_3d_grad(orig_x: Array, grads: Array, call: Call) -> Array:
    """Each gradient at the first largest element (or first NaN) of its window in orig_x; what meets there is added up.

    orig_y is not needed. Attributes are those of MaxPool3D.
    """
    return three_work(orig_x, grads, call)


def spread_along(grads: Array, one: Window, extent: int) -> Array:
    """Each gradient added to every element of its window along one axis."""
    moved = np.moveaxis(grads, one.axis, -1)
    result = np.zeros((*moved.shape[:-1], extent), grads.dtype)
    for _, inside, source in one.taps(extent):
        result[..., source] += moved[..., inside]
    return np.moveaxis(result, -1, one.axis)


def averages_shared(grads: Array, shape: tuple[int, ...], windows: Sequence[Window], padding: bool, divisor: int) -> Array:
    """The gradient of the means of windows: shared among their elements, in float64."""
    result = np.empty(shape, grads.dtype)
    scales = [divisors(one, shape[one.axis], len(shape), padding) for one in windows]
    for part in tiles(result):
        piece = grads[part].astype(np.float64)
        if divisor:
            piece /= divisor
        for one, scale in zip(windows, scales, strict=True):
            piece = spread_along(piece if divisor else piece / scale, one, shape[one.axis])
        result[part] = piece
    return result


def average_shape(gradient: str, rank: int, windows_of: Windows) -> Callable[[Call], Shape]:
    """orig_input_shape, in the axis order of the gradient's format; the gradient has the pooled shape."""

    def rule(call: Call) -> Shape:
        if not ("orig_input_shape" in call.attrs or call.known("orig_input_shape")):
            return (Between(),) * rank
        shape = original(call, rank)
        _, windows = windows_of(as_forward(call, gradient, shape))
        check_pooled(call, gradient, pooled(shape, windows))
        return shape

    return rule


def original(call: Call, *ranks: int) -> tuple[int, ...]:
    """orig_input_shape: a number of 0 or more for each dim."""
    shape = call.ints("orig_input_shape")
    if len(shape) not in ranks or min(shape) < 0:
        allowed = " or ".join(map(str, ranks))
        raise call.refuse("HA519", f"orig_input_shape = {list(shape)}; allowed: {allowed} numbers, each 0 or more.")
    return tuple(shape)


@kernel("AvgPoolV2Grad", "AvgPoolV2GradD", shape=average_shape("input_grad", 4, max_pool_v3_windows),
        values=("orig_input_shape",), dtypes={"orig_input_shape": (dtypes.INT64,)},
        cuts=plane_cuts("NCHW", "orig_input_shape"))  # fmt: skip
def avg_pool_v2_grad(orig_input_shape: Any, input_grad: Array, exclusive: bool, call: Call) -> Array:
    """Each gradient shared among the elements of its window; exclusive leaves the padding out of their number.

    Attributes are those of AvgPoolV2. mean_matrix and kernel_matrix of the D form say what the attributes say already.
    """
    shape = tuple(int(one) for one in np.ravel(orig_input_shape))
    _, windows = max_pool_v3_windows(as_forward(call, "input_grad", shape))
    return averages_shared(input_grad, shape, windows, not exclusive, 0)


@kernel("AvgPoolGrad", "AvgPoolGradD", shape=average_shape("input_grad", 4, max_pool_windows),
        values=("orig_input_shape",), dtypes={"orig_input_shape": (dtypes.INT64,)},
        cuts=plane_cuts("NHWC", "orig_input_shape"))  # fmt: skip
def avg_pool_grad(orig_input_shape: Any, input_grad: Array, call: Call) -> Array:
    """Each gradient shared among the elements of its window, without those in the padding.

    Attributes are those of AvgPool. mean_matrix and kernel_matrix of the D form say what the attributes say already.
    """
    shape = tuple(int(one) for one in np.ravel(orig_input_shape))
    _, windows = max_pool_windows(as_forward(call, "input_grad", shape))
    return averages_shared(input_grad, shape, windows, False, 0)


@kernel("AvgPool3DGrad", "AvgPool3DGradD", shape=average_shape("grads", 5, avg_pool_3d_windows),
        values=("orig_input_shape",), cuts=plane_cuts("NDHWC", "orig_input_shape"))  # fmt: skip
def avg_pool_3d_grad(
    orig_input_shape: Any, grads: Array, count_include_pad: bool, divisor_override: int, call: Call
) -> Array:
    """Each gradient shared among the elements of its window along D, H and W.

    Attributes are those of AvgPool3D. filter and multiplier of the D form say what the attributes say already.
    """
    shape = tuple(int(one) for one in np.ravel(orig_input_shape))
    _, windows = avg_pool_3d_windows(as_forward(call, "grads", shape))
    return averages_shared(grads, shape, windows, count_include_pad, divisor_override)


def adaptive_grad_shape(call: Call) -> Shape:
    """orig_input_shape; the gradient agrees in all but the last two dims."""
    shape, grads = original(call, 3, 4), call.shape("input_grad")
    text = f"input_grad = {dims.text(grads)}, orig_input_shape = {dims.text(shape)}: all but the last two dims must be equal."
    if len(grads) != len(shape):
        raise call.refuse("HA516", text)
    for one, other in zip(grads[:-2], shape[:-2], strict=True):
        equal_dims(call, one, other, text)
    return shape


@kernel("AdaptiveAvgPool2dGrad", shape=adaptive_grad_shape, cuts=leading_grad_cuts)
def adaptive_avg_pool_2d_grad(input_grad: Array, orig_input_shape: Sequence[int]) -> Array:
    """Each gradient shared among the elements of its bin, from floor(i·n/count) to ceil((i+1)·n/count) along each axis."""
    result = np.empty(tuple(orig_input_shape), input_grad.dtype)
    for part in tiles(result):
        rows = shared_bins(input_grad[part].astype(np.float64), orig_input_shape[-1])
        result[part] = np.swapaxes(shared_bins(np.swapaxes(rows, -1, -2), orig_input_shape[-2]), -1, -2)
    return result


def shared_bins(grads: Array, extent: int) -> Array:
    """Each element of the last axis shared among its bin."""
    result = np.zeros((*grads.shape[:-1], extent), grads.dtype)
    for at, part in enumerate(bins(extent, grads.shape[-1])):
        result[..., part] += (grads[..., at] / max(part.stop - part.start, 1))[..., None]
    return result
