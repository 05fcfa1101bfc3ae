"""Second-order gradients of max pooling: what comes from the largest element of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.pooling import pooled
from hostacl.ops.pooling_grad import Windows, as_forward, check_pooled
from hostacl.ops.pooling_max import max_pool_3d_windows, max_pool_windows, max_pooled_with_places
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs

Array = NDArray[Any]


def second_order(names: tuple[str, str, str], windows_of: Windows, **attrs: Any) -> tuple[Callable[..., Any], ...]:
    """The shape rule and the kernel's work of the gradient of a max pooling gradient: what comes from the largest elements."""
    source, result, gradient = names

    def shape(call: Call) -> Shape:
        x = alike_inputs(call, source, gradient)
        _, windows = windows_of(as_forward(call, source, **attrs))
        want = pooled(x, windows)
        check_pooled(call, result, want)
        return want

    def work(x: Array, grads: Array, call: Call) -> Array:
        _, windows = windows_of(as_forward(call, source, **attrs))
        _, places = max_pooled_with_places(x, windows)
        return from_places(grads, places, [one.axis for one in windows])

    return shape, work


def from_places(grads: Array, places: Array, axes: Sequence[int]) -> Array:
    """The gradients at flat places among some axes."""
    rest = [axis for axis in range(grads.ndim) if axis not in axes]
    order = [*rest, *axes]
    rows, count = prod(grads.shape[axis] for axis in rest), prod(places.shape[axis] for axis in axes)
    size = prod(grads.shape[axis] for axis in axes)
    flat, where = np.transpose(grads, order).reshape(rows, size), np.transpose(places, order).reshape(rows, count)
    found = np.take_along_axis(flat, where.astype(np.int64), 1) if where.size else np.empty(where.shape, grads.dtype)
    return np.transpose(found.reshape([places.shape[axis] for axis in order]), np.argsort(order))


plain_shape, plain_work = second_order(("x1", "x2", "grad"), max_pool_windows)


@kernel("MaxPoolGradGrad", shape=plain_shape)
def max_pool_grad_grad(x1: Array, grad: Array, call: Call) -> Array:
    """The gradient of MaxPoolGrad by its gradient: of each window grad at the first largest element (or first NaN) of x1.

    x2, the pooled x1, is not needed. Attributes are those of MaxPool.
    """
    return plain_work(x1, grad, call)


three_shape, three_work = second_order(
    ("orig_x", "orig_y", "grads"), max_pool_3d_windows, dilation=[1, 1, 1, 1, 1], ceil_mode=False
)


@kernel("MaxPool3DGradGrad", shape=three_shape)
def max_pool_3d_grad_grad(orig_x: Array, grads: Array, call: Call) -> Array:
    """The gradient of MaxPool3DGrad by its gradient: of each window grads at the first largest element (or first NaN).

    orig_y is not needed. Attributes are those of MaxPool3D, with pads as told.
    """
    return three_work(orig_x, grads, call)
