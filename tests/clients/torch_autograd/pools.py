"""Pooling: to the largest element, by looking for it again or by where it was, and shared among all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from tests.clients.torch_autograd.convolutions import ordered, sized
from tests.clients.torch_autograd.support import Array, Case, Draw, exact, gradient, leaf, pulled, torch

F = torch.nn.functional
ORDERS = {4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}
SPATIAL = {4: "HW", 5: "DHW"}


def listed(values: Sequence[int], order: str) -> list[int]:
    """A window's sizes as an attribute: one number for each axis."""
    named = dict(zip(SPATIAL[len(order)], values, strict=True))
    return [named.get(letter, 1) for letter in order]


def padded(x: Any, pads: Sequence[int], value: float) -> Any:
    """x with pads [before, after, …] of its spatial axes in order."""
    pairs = [pads[at : at + 2] for at in range(0, len(pads), 2)]
    return F.pad(x, [each for pair in reversed(pairs) for each in pair], value=value)


def same(shape: Sequence[int], size: Sequence[int], stride: Sequence[int]) -> list[int]:
    """The pads of SAME: as many windows as strides, the odd element behind."""
    pads = []
    for extent, reach, step in zip(shape[2:], size, stride, strict=True):
        total = max((-(-extent // step) - 1) * step + reach - extent, 0)
        pads += [total // 2, total - total // 2]
    return pads


def ways(*arrays: Any) -> Iterator[tuple[str, int, list[Any]]]:
    """Channels-first arrays and tensors in each axis order, with its name and format."""
    for order in ORDERS[arrays[0].ndim]:
        yield order, formats.CODES[order], [ordered(one, order) for one in arrays]


def largest(d: Draw, shape: Sequence[int], size: Sequence[int], stride: Sequence[int], pads: Sequence[int], ceil: bool) -> Any:
    """x, its pooled values, their gradient and x's. Of equal elements, which are many, the first counts, as in torch."""
    x = d.typed(d.whole(-4, 4, *shape))
    at = leaf(x)
    pool = F.max_pool2d if len(shape) == 4 else F.max_pool3d
    y = pool(padded(at, pads, -np.inf), size, stride, ceil_mode=ceil)
    dy = d.normal(*y.shape)
    return x, d.typed(y.detach().numpy()), dy, pulled(y, dy, at)[0]


PLANES = (
    ((2, 3, 6, 7), (2, 3), (2, 2)),
    ((1, 2, 9, 5), (3, 2), (1, 1)),
    ((2, 2, 7, 8), (2, 2), (3, 2)),
    ((3, 8, 65, 64), (3, 3), (2, 2)),
    ((0, 2, 5, 5), (2, 2), (2, 2)),
)
"""Shapes, windows and strides."""


@gradient("MaxPoolGrad")
def by_comparison(d: Draw) -> Iterator[Case]:
    for shape, size, stride in PLANES:
        for padding in ("SAME", "VALID"):
            pads = same(shape, size, stride) if padding == "SAME" else [0] * 4
            x, y, dy, want = largest(d, shape, size, stride, pads, False)
            for order, layout, (x_, y_, dy_, want_) in ways(x, y, dy, want):
                attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "padding": padding,
                         "data_format": order}  # fmt: skip
                yield Case([x_, y_, dy_], [want_], attrs, layout)


@gradient("MaxPoolV3Grad")
def by_comparison_v3(d: Draw) -> Iterator[Case]:
    for shape, size, stride in PLANES:
        for mode, pads, ceil in (("CALCULATED", [1, 0, 0, 1], False), ("CALCULATED", [0] * 4, True), ("SAME", None, False),
                                 ("VALID", [0] * 4, False)):  # fmt: skip
            around = same(shape, size, stride) if pads is None else pads
            x, y, dy, want = largest(d, shape, size, stride, around, ceil)
            for order, layout, (x_, y_, dy_, want_) in ways(x, y, dy, want):
                attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "padding_mode": mode,
                         "pads": pads or [0] * 4, "data_format": order, "ceil_mode": ceil}  # fmt: skip
                yield Case([x_, y_, dy_], [want_], attrs, layout)
        if 0 not in shape:
            x, y, dy, want = largest(d, shape, shape[2:], (1, 1), [0] * 4, False)
            attrs = {"ksize": [1] * 4, "strides": [1] * 4, "global_pooling": True}
            yield Case([x, y, dy], [want], attrs, formats.NCHW)


@gradient("MaxPool3DGrad")
def by_comparison_3d(d: Draw) -> Iterator[Case]:
    for shape, size, stride in (((1, 2, 4, 5, 6), (2, 3, 2), (1, 2, 2)), ((2, 1, 5, 4, 4), (3, 2, 2), (2, 1, 3)),
                                ((0, 1, 3, 3, 3), (2, 2, 2), (1, 1, 1))):  # fmt: skip
        for padding, pads in (("SAME", None), ("VALID", [0] * 6), ("CALCULATED", [1, 0, 0, 1, 1, 1])):
            x, y, dy, want = largest(d, shape, size, stride, same(shape, size, stride) if pads is None else pads, False)
            for order, layout, (x_, y_, dy_, want_) in ways(x, y, dy, want):
                attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "padding": padding,
                         "pads": pads or [0] * 6, "data_format": order}  # fmt: skip
                yield Case([x_, y_, dy_], [want_], attrs, layout)


def twice(d: Draw, shape: Sequence[int], size: Sequence[int], stride: Sequence[int], pads: Sequence[int]) -> Any:
    """x, its pooled values, a gradient of x's gradient, and autograd's of the gradient that comes in."""
    x = d.typed(d.whole(-4, 4, *shape))
    at = leaf(x)
    y = (F.max_pool2d if len(shape) == 4 else F.max_pool3d)(padded(at, pads, -np.inf), size, stride)
    dy = torch.zeros_like(y, requires_grad=True)
    (dx,) = torch.autograd.grad(y, at, dy, create_graph=True)
    grad = d.normal(*shape)
    return x, d.typed(y.detach().numpy()), grad, pulled(dx, grad, dy)[0]


@gradient("MaxPoolGradGrad", "MaxPool3DGradGrad")
def second_order(d: Draw) -> Iterator[Case]:
    three = (((1, 2, 4, 5, 6), (2, 3, 2), (1, 2, 2)), ((2, 1, 5, 4, 4), (3, 2, 2), (2, 1, 3)))
    for shape, size, stride in three if "3D" in d.op else PLANES[:3]:
        for padding in ("CALCULATED",) if "3D" in d.op else ("SAME", "VALID"):
            pads = {"SAME": same(shape, size, stride), "VALID": [0] * 4, "CALCULATED": [1, 0, 0, 1, 1, 1]}[padding]
            x, y, grad, want = twice(d, shape, size, stride, pads)
            for order, layout, (x_, y_, grad_, want_) in ways(x, y, grad, want):
                attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "data_format": order,
                         **({"pads": pads} if "3D" in d.op else {"padding": padding})}  # fmt: skip
                yield Case([x_, y_, grad_], [want_], attrs, layout)


@gradient("MaxPoolGradWithArgmaxV1")
def by_place(d: Draw) -> Iterator[Case]:
    """argmax as flat indices, as torch gives them, and as a mask for each element of the windows."""
    for shape, size, stride, pads, dilation, ceil in (
        ((2, 3, 6, 7), (2, 3), (2, 2), (0, 1), (1, 1), False),
        ((1, 2, 9, 5), (3, 2), (1, 1), (1, 1), (2, 1), False),
        ((2, 2, 7, 8), (2, 2), (2, 3), (0, 0), (1, 1), True),
        ((0, 2, 5, 5), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ):
        x = d.typed(d.whole(-4, 4, *shape))
        at = leaf(x)
        y, places = F.max_pool2d(at, size, stride, pads, dilation, ceil_mode=ceil, return_indices=True)
        dy = d.normal(*y.shape)
        want = pulled(y, dy, at)
        attrs = {"ksize": [1, *size, 1], "strides": [1, *stride, 1], "pads": [1, *pads, 1], "dilation": [1, *dilation, 1],
                 "ceil_mode": ceil}  # fmt: skip
        indices = places.numpy()
        yield Case([x, dy, indices.astype(np.int32)], want, attrs, formats.NCHW)
        masks = masks_of(indices, shape, (size, stride, pads, dilation))
        yield Case([x, dy, masks], want, {**attrs, "dtype": dtypes.UINT16}, formats.NCHW)


def masks_of(places: Array, shape: Sequence[int], window: Any) -> Array:
    """For each element of a window, row after row, a bit for each window: set where that element is the largest."""
    size, stride, pads, dilation = window
    rows, columns = places.shape[2:]
    words = -(-rows * columns // 16) + 1
    masks = np.zeros((*places.shape[:2], size[0] * size[1], words), np.uint16)
    for image, channel, row, column in np.ndindex(*places.shape):
        down, right = divmod(int(places[image, channel, row, column]), shape[3])
        tap = [
            (place - (index * step - pad)) // gap
            for place, index, step, pad, gap in zip((down, right), (row, column), stride, pads, dilation, strict=True)
        ]
        bit = row * columns + column
        masks[image, channel, tap[0] * size[1] + tap[1], bit // 16] |= np.uint16(1 << bit % 16)
    return masks


def averaged(d: Draw, shape: Sequence[int], pool: Any, *options: Any) -> tuple[Array, Any]:
    """A gradient of what pooling gives, and that of its input."""
    at = leaf(d.normal(*shape))
    y = pool(at, *options)
    dy = d.normal(*y.shape)
    return dy, pulled(y, dy, at)[0]


def mean_of(
    x: Any, size: Sequence[int], stride: Sequence[int], pads: Sequence[int], padding: bool, ceil: bool, over: int
) -> Any:
    """The mean of each window: torch's pads are equal on both sides, so others are put around by hand.

    Those of the padding are counted or not: the sum of each window over its own number of members.
    """
    pool = F.avg_pool2d if x.ndim == 4 else F.avg_pool3d
    if list(pads[::2]) == list(pads[1::2]):
        return pool(x, size, stride, list(pads[::2]), ceil, padding, over or None)
    total = pool(padded(x, pads, 0), size, stride, 0, ceil, divisor_override=1)
    inside = exact(np.ones((1, 1, *x.shape[2:])))
    count = pool(padded(inside, pads, float(padding)), size, stride, 0, ceil, divisor_override=1)
    return total / (over or count)


AVERAGES = (([0] * 4, False), ([1, 1, 1, 1], False), ([0, 1, 1, 0], False), ([1, 1, 0, 0], True))


@gradient("AvgPoolV2Grad", "AvgPoolV2GradD")
def shared(d: Draw) -> Iterator[Case]:
    for shape, size, stride in PLANES:
        for pads, ceil in AVERAGES:
            for exclusive in (True, False):
                dy, want = averaged(d, shape, mean_of, size, stride, pads, not exclusive, ceil, 0)
                for order, layout, (dy_, want_) in ways(dy, want):
                    attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "pads": pads, "data_format": order,
                             "ceil_mode": ceil, "exclusive": exclusive}  # fmt: skip
                    yield of_shape(d, dy_, want_, attrs, layout)
        pads = same(shape, size, stride)
        dy, want = averaged(d, shape, mean_of, size, stride, pads, False, False, 0)
        attrs = {"ksize": listed(size, "NCHW"), "strides": listed(stride, "NCHW"), "padding_mode": "SAME"}
        yield of_shape(d, dy, want, attrs, formats.NCHW)
        dy, want = averaged(d, shape, F.adaptive_avg_pool2d, 1)
        attrs = {"ksize": [1] * 4, "strides": [1] * 4, "global_pooling": True}
        yield of_shape(d, dy, want, attrs, formats.NCHW)


@gradient("AvgPoolGrad", "AvgPoolGradD")
def shared_inside(d: Draw) -> Iterator[Case]:
    """The padding never counts."""
    for shape, size, stride in PLANES:
        for padding in ("SAME", "VALID"):
            pads = same(shape, size, stride) if padding == "SAME" else [0] * 4
            dy, want = averaged(d, shape, mean_of, size, stride, pads, False, False, 0)
            for order, layout, (dy_, want_) in ways(dy, want):
                attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "padding": padding,
                         "data_format": order}  # fmt: skip
                yield of_shape(d, dy_, want_, attrs, layout)


@gradient("AvgPool3DGrad", "AvgPool3DGradD")
def shared_3d(d: Draw) -> Iterator[Case]:
    for shape, size, stride in (((1, 2, 4, 5, 6), (2, 3, 2), (1, 2, 2)), ((2, 1, 5, 4, 4), (3, 2, 2), (2, 1, 3)),
                                ((0, 1, 3, 3, 3), (2, 2, 2), (1, 1, 1))):  # fmt: skip
        for pads, ceil, over in (([0] * 6, False, 0), ([1] * 6, False, 0), ([1, 0, 0, 1, 1, 1], False, 0),
                                 ([1, 1, 1, 1, 0, 0], True, 0), ([1] * 6, False, 5)):  # fmt: skip
            for counted in (True, False):
                dy, want = averaged(d, shape, mean_of, size, stride, pads, counted, ceil, over)
                for order, layout, (dy_, want_) in ways(dy, want):
                    attrs = {"ksize": listed(size, order), "strides": listed(stride, order), "pads": pads, "data_format": order,
                             "ceil_mode": ceil, "count_include_pad": counted, "divisor_override": over}  # fmt: skip
                    yield of_shape(d, dy_, want_, attrs, layout)


def of_shape(d: Draw, dy: Array, want: Any, attrs: dict[str, Any], layout: int) -> Case:
    """A case of an operator that is told the shape of its result, by a value input or an attribute."""
    if d.op.endswith("D"):
        constant = np.ones(1, d.dtype) if d.op == "AvgPoolGradD" else None  # says again what the attributes say
        return Case([dy, constant, constant], [want], {**attrs, "orig_input_shape": list(want.shape)}, layout)
    return Case([sized(want.shape), dy], [want], attrs, [formats.ND, layout], const=[0])


@gradient("AdaptiveAvgPool2dGrad")
def shared_among_bins(d: Draw) -> Iterator[Case]:
    for shape, size in (((2, 3, 6, 7), (2, 3)), ((3, 5, 8), (4, 8)), ((1, 2, 3, 4), (5, 6)), ((2, 2, 7, 9), (1, 1)),
                        ((0, 2, 4, 4), (2, 2))):  # fmt: skip
        dy, want = averaged(d, shape, F.adaptive_avg_pool2d, size)
        yield Case([dy], [want], {"orig_input_shape": list(shape)})
