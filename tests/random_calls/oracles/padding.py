"""Padding, strided slices and image columns, by where each element comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed
from random_calls.oracles.shape_slice_concat_pad import moved


def origin(mode: str, place: int, size: int) -> int | None:
    """Where the element at this place (0 is the first of x) comes from; None for the constant."""
    if 0 <= place < size:
        return place
    if mode == "constant":
        return None
    if mode == "edge":
        return 0 if place < 0 else size - 1
    if mode == "circular":
        return place + size if place < 0 else place - size
    border = 1 if mode == "symmetric" else 0
    return -place - border if place < 0 else 2 * (size - 1) - place + border


def amounts(d: Dice, mode: str, shape: tuple[int, ...], negative: bool = True) -> list[tuple[int, int]]:
    found = []
    for size in shape:
        most = {"reflect": size - 1, "symmetric": size, "circular": size, "edge": 2 if size else 0}.get(mode, 2)
        high = max(min(2, most), 0)
        if d.kind in {"8-d", "in place", "partial overlap"}:
            high = 0
        pair = [d.int(0, high), d.int(0, high)]
        if negative and size > 1 and d.chance(0.2) and d.kind not in {"in place", "partial overlap"}:
            pair[d.int(0, 1)] = -1
        found.append((pair[0], pair[1]))
    return found


def laid_out(pairs: list[tuple[int, int]], contiguous: Any) -> Any:
    if contiguous is False:
        return np.array([one for one, _ in pairs] + [other for _, other in pairs], np.int64)
    return np.array(pairs, np.int64).reshape(len(pairs), 2)


def padded(x: Any, pairs: Any, mode: str, value: Any) -> Any:
    result = np.empty([size + b + e for size, (b, e) in zip(x.shape, pairs, strict=True)], x.dtype)
    for place in np.ndindex(result.shape):
        source = [origin(mode, at - int(b), size) for at, (b, _), size in zip(place, pairs, x.shape, strict=True)]
        result[place] = value if None in source else x[tuple(source)]
    return result


def pairs_of(paddings: Any, contiguous: bool = True) -> Any:
    flat = [int(one) for one in np.ravel(np.asarray(paddings, object))]
    half = len(flat) // 2
    return list(zip(flat[::2], flat[1::2], strict=True)) if contiguous else list(zip(flat[:half], flat[half:], strict=True))


MODES = ("constant", "reflect", "edge", "symmetric", "circular")


@shapes("PadV3", "PadV3Grad")
def padding(d: Dice) -> None:
    gradient = d.prototype.op_type == "PadV3Grad"
    mode = d.attr("mode", *MODES)
    contiguous = d.attr("paddings_contiguous", True, False)
    shape = d.shape(empty=not gradient)
    pairs = amounts(d, mode, shape)
    if gradient:
        d.tensor("x", tuple(size + b + e for size, (b, e) in zip(shape, pairs, strict=True)))
    else:
        d.tensor("x", shape)
    d.value("paddings", laid_out(pairs, contiguous))
    if not gradient and d.optional("constant_values"):
        d.tensor("constant_values", d.choose((), (1,)))


@oracle("PadV3")
def pad_v3(x: Any, paddings: Any, constant_values: Any, mode: str, paddings_contiguous: bool) -> Any:
    value = 0 if constant_values is None else constant_values.reshape(-1)[0]
    return padded(x, pairs_of(paddings, paddings_contiguous), mode, value)


def spread(x: Any, pairs: Any, mode: str, code: int) -> Any:
    """The sum of x over all places that come from one."""
    size = [one - b - e for one, (b, e) in zip(x.shape, pairs, strict=True)]
    result = np.zeros(size, x.dtype)
    total = np.zeros(size)
    for place in np.ndindex(x.shape):
        source = [origin(mode, at - int(b), one) for at, (b, _), one in zip(place, pairs, size, strict=True)]
        if None not in source:
            result[tuple(source)] = result[tuple(source)] + x[place]
            total[tuple(source)] += finite(abs(x[place])) if x.dtype != object else 0
    return result if x.dtype == object else summed(result, total, 8, 53 if code in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24)


@oracle("PadV3Grad")
def pad_v3_grad(x: Any, paddings: Any, mode: str, paddings_contiguous: bool, dice: Dice) -> Any:
    return spread(x, pairs_of(paddings, paddings_contiguous), mode, dice.dtype)


@shapes("PadV3D")
def padding_d(d: Dice) -> None:
    mode = d.attr("mode", *MODES)
    contiguous = d.attr("paddings_contiguous", True)
    d.attr("constant_values", d.int(0, 5))
    shape = d.shape(1)
    d.tensor("x", shape)
    d.attr("paddings", laid_out(amounts(d, mode, shape), contiguous).tolist())


@oracle("PadV3D")
def pad_v3_d(x: Any, paddings: Any, constant_values: int, mode: str) -> Any:
    return padded(x, pairs_of(paddings), mode, constant_values)


@shapes("Pad", "PadV2")
def zero_padding(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.value("paddings", laid_out(amounts(d, "constant", shape), True))
    d.tensor("constant_values", ())


@shapes("PadD", "PadV2D")
def zero_padding_d(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape)
    d.attr("paddings", laid_out(amounts(d, "constant", shape), True).tolist())
    d.tensor("constant_values", ())


@oracle("Pad", "PadD")
def pad(x: Any, paddings: Any) -> Any:
    return padded(x, pairs_of(paddings), "constant", False if x.dtype == bool else 0)


@oracle("PadV2", "PadV2D")
def pad_v2(x: Any, paddings: Any, constant_values: Any) -> Any:
    return padded(x, pairs_of(paddings), "constant", constant_values.reshape(-1)[0])


@shapes("MirrorPad", "MirrorPadGrad")
def mirroring(d: Dice) -> None:
    mode = d.attr("mode", "REFLECT", "SYMMETRIC")
    gradient = d.prototype.op_type == "MirrorPadGrad"
    shape = d.shape(1, empty=not gradient)
    pairs = amounts(d, mode.lower(), shape, negative=False)
    d.tensor("x", tuple(size + b + e for size, (b, e) in zip(shape, pairs, strict=True)) if gradient else shape)
    d.value("paddings", laid_out(pairs, True))


@oracle("MirrorPad")
def mirror_pad(x: Any, paddings: Any, mode: str) -> Any:
    return padded(x, pairs_of(paddings), mode.lower(), 0)


@oracle("MirrorPadGrad")
def mirror_pad_grad(x: Any, paddings: Any, mode: str, dice: Dice) -> Any:
    return spread(x, pairs_of(paddings), mode.lower(), dice.dtype)


# --- strided slices ---


def cuts(d: Dice, shape: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    """begin, end and strides for the leading axes; some of them far outside."""
    count = d.int(0, len(shape))
    begin = [d.int(-size - 2, size + 1) for size in shape[:count]]
    end = [d.int(-size - 2, size + 2) if d.chance(0.8) else d.choose(2**31 - 1, -(2**31) + 1) for size in shape[:count]]
    return begin, end, [d.choose(1, 1, 2, -1, -2) for _ in range(count)]


def masked(d: Dice, shape: tuple[int, ...], cut: tuple[list[int], list[int], list[int]]) -> None:
    """Masks; an axis that shrinks has its begin inside."""
    begin = cut[0]
    for name in ("begin_mask", "end_mask"):
        d.attr(name, d.int(0, (1 << len(begin)) - 1))
    shrink = d.attr("shrink_axis_mask", d.int(0, (1 << len(begin)) - 1) if 0 not in shape else 0)
    for place in range(len(begin)):
        if shrink >> place & 1:
            begin[place] = d.int(-shape[place], shape[place] - 1)
    d.attr("ellipsis_mask")
    d.attr("new_axis_mask")


@shapes(
    "StridedSlice",
    "StridedSliceD",
    "StridedSliceGrad",
    "StridedSliceGradD",
    "StridedSliceAssign",
    "StridedSliceAssignD",
    "StridedSliceV2",
)
def striding(d: Dice) -> None:
    shape = d.shape()
    cut = cuts(d, shape)
    if d.prototype.op_type.startswith("StridedSliceGrad"):
        d.tensor("shape", np.array(shape, np.int64)) if d.decl("shape") is None else d.value("shape", np.array(shape, np.int64))
    masked(d, shape, cut)
    send(d, shape, cut)


@shapes("StridedSliceV3", "StridedSliceAssignV2")
def striding_axes(d: Dice) -> None:
    shape = d.shape()
    send(d, shape, cuts(d, shape))


def send(d: Dice, shape: tuple[int, ...], cut: tuple[list[int], list[int], list[int]]) -> None:
    """The tensors of a strided slice, in whichever form this operator takes them."""
    code = int(d.choose(dtypes.INT32, dtypes.INT64))
    for name in ("x", "var"):
        if d.decl(name) is not None:
            d.tensor(name, shape)
    if "shape" in d.prototype.attrs:
        d.attr("shape", list(shape))
    order = [int(one) for one in d.rng.permutation(len(shape))[: len(cut[0])]]
    by_axes = (
        d.decl("axes") is not None and not d.values.get("shrink_axis_mask") and d.optional("axes") and sum(cut[0]) is not None
    )
    if by_axes:
        cut = tuple(
            [one for one, _ in sorted(zip(part, range(len(part)), strict=True), key=lambda pair: pair[1])] for part in cut
        )
    for name, part in zip(("begin", "end", "strides"), cut, strict=True):
        if d.decl(name) is None:
            d.attr(name, part)
        elif name != "strides" or d.decl(name).kind == "required" or d.optional(name):
            d.value(name, np.array(part, np.int64), code)
        else:
            part[:] = [1] * len(part)
    if by_axes:
        d.value("axes", np.array(order, np.int64), code)
    elif d.decl("axes") is not None and "axes" not in d.inputs:
        d.optional("axes")
    index = whole_index(
        shape,
        cut,
        {name: d.values.get(name, 0) for name in ("begin_mask", "end_mask", "shrink_axis_mask")},
        order if by_axes else None,
    )
    size = tuple(len(one) for one in index if isinstance(one, range))
    for name in ("dy", "input_value"):
        if d.decl(name) is not None:
            d.tensor(name, size)


def whole_index(shape: Any, cut: Any, masks: dict[str, int], axes: Any) -> list[Any]:
    """For each axis the range of places that is taken, or the one place."""
    found: list[Any] = [range(size) for size in shape]
    for number, (begin, end, stride) in enumerate(zip(*cut, strict=True)):
        axis = number if axes is None else axes[number] % len(shape)
        size = shape[axis]
        if masks.get("shrink_axis_mask", 0) >> number & 1:
            found[axis] = begin % size
            continue
        first = None if masks.get("begin_mask", 0) >> number & 1 else begin
        last = None if masks.get("end_mask", 0) >> number & 1 else end
        found[axis] = range(size)[first:last:stride]
    return found


def ints(listed: Any) -> list[int]:
    return [int(one) for one in listed]


def taken(x: Any, index: list[Any]) -> Any:
    size = [len(one) for one in index if isinstance(one, range)]

    def source(place: tuple[int, ...]) -> tuple[int, ...]:
        at = iter(place)
        return tuple(one[next(at)] if isinstance(one, range) else one for one in index)

    return moved(size, x, source)


def stored(x: Any, index: list[Any], value: Any) -> Any:
    result = x.copy()
    for place in np.ndindex(value.shape):
        at = iter(place)
        result[tuple(one[next(at)] if isinstance(one, range) else one for one in index)] = value[place]
    return result


def index_for(
    shape: Any, begin: Any, end: Any, strides: Any, axes: Any = None, begin_mask: int = 0, end_mask: int = 0, shrink: int = 0
) -> list[Any]:
    steps = [1] * len(begin) if strides is None else ints(strides)
    return whole_index(
        shape,
        (ints(begin), ints(end), steps),
        {"begin_mask": begin_mask, "end_mask": end_mask, "shrink_axis_mask": shrink},
        None if axes is None else ints(axes),
    )


@oracle("StridedSlice", "StridedSliceD")
def strided_slice(x: Any, begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int, shrink_axis_mask: int) -> Any:
    return taken(x, index_for(x.shape, begin, end, strides, None, begin_mask, end_mask, shrink_axis_mask))


@oracle("StridedSliceV2")
def strided_slice_v2(
    x: Any, begin: Any, end: Any, axes: Any, strides: Any, begin_mask: int, end_mask: int, shrink_axis_mask: int
) -> Any:
    return taken(x, index_for(x.shape, begin, end, strides, axes, begin_mask, end_mask, shrink_axis_mask))


@oracle("StridedSliceV3")
def strided_slice_v3(x: Any, begin: Any, end: Any, axes: Any, strides: Any) -> Any:
    return taken(x, index_for(x.shape, begin, end, strides, axes))


@oracle("StridedSliceGrad", "StridedSliceGradD")
def strided_slice_grad(
    shape: Any, begin: Any, end: Any, strides: Any, dy: Any, begin_mask: int, end_mask: int, shrink_axis_mask: int
) -> Any:
    zeros = np.zeros(ints(shape), dy.dtype)
    return stored(zeros, index_for(zeros.shape, begin, end, strides, None, begin_mask, end_mask, shrink_axis_mask), dy)


@oracle("StridedSliceAssign", "StridedSliceAssignD")
def strided_slice_assign(
    var: Any, begin: Any, end: Any, strides: Any, input_value: Any, begin_mask: int, end_mask: int, shrink_axis_mask: int
) -> Any:
    return stored(var, index_for(var.shape, begin, end, strides, None, begin_mask, end_mask, shrink_axis_mask), input_value)


@oracle("StridedSliceAssignV2")
def strided_slice_assign_v2(var: Any, input_value: Any, begin: Any, end: Any, strides: Any, axes: Any) -> Any:
    return stored(var, index_for(var.shape, begin, end, strides, axes), input_value)


# --- columns of images ---


@shapes("Im2col")
def windows(d: Dice) -> None:
    shape = d.shape(4, 4, empty=False, long=False)
    size = [d.int(1, min(3, one + 2)) for one in shape[2:]]
    d.attr("ksizes", size)
    d.attr("strides", [d.int(1, 2), d.int(1, 2)])
    d.attr("dilations", [1, 1], [1])
    d.attr("padding_mode")
    pads = d.attr("pads", [1], [1, 1], [1, 1, 1, 1])
    room = [one + (2 if pads and max(pads) else 0) for one in shape[2:]]
    d.attrs["ksizes"] = ("list_int", [min(one, other) for one, other in zip(size, room, strict=True)])
    d.values["ksizes"] = d.attrs["ksizes"][1]
    d.tensor("x", shape)


def two(values: Any) -> tuple[int, int]:
    return int(values[0]), int(values[-1])


@oracle("Im2col")
def im2col(x: Any, ksizes: Any, strides: Any, dilations: Any, pads: Any) -> Any:
    (kh, kw), (sh, sw), (dh, dw), pad = two(ksizes), two(strides), two(dilations), int(pads[0])
    high, wide = (x.shape[2] + 2 * pad - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] + 2 * pad - dw * (kw - 1) - 1) // sw + 1
    result = np.zeros((x.shape[0], x.shape[1] * kh * kw, high * wide), x.dtype)
    for n, c, i, j, row, column in np.ndindex(x.shape[0], x.shape[1], kh, kw, high, wide):
        y, z = row * sh + i * dh - pad, column * sw + j * dw - pad
        if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]:
            result[n, (c * kh + i) * kw + j, row * wide + column] = x[n, c, y, z]
    return result


@shapes("Col2im", "Col2ImV2")
def images(d: Dice) -> None:
    size, pad, stride = [d.int(2, 5), d.int(2, 5)], [d.int(0, 1), d.int(0, 1)], [d.int(1, 2), d.int(1, 2)]
    window = [d.int(1, 2), d.int(1, 2)]
    count = [(one + 2 * p - k) // s + 1 for one, p, k, s in zip(size, pad, window, stride, strict=True)]
    channels = d.int(1, 3)
    flat = d.chance()
    lead = (d.int(1, 2), channels * window[0] * window[1]) if flat else (d.int(1, 2), channels, window[0] * window[1])
    d.tensor("x", (*lead, count[0] * count[1]))
    d.value("output_size", np.array(size))
    if d.decl("kernel_size") is not None:
        d.value("kernel_size", np.array(window))
    else:
        d.attr("kernel_size", window)
    d.attr("dilation", [1, 1])
    d.attr("padding", pad)
    d.attr("stride", stride)


@oracle("Col2im", "Col2ImV2")
def col2im(x: Any, output_size: Any, kernel_size: Any, padding: Any, stride: Any) -> Any:
    (h, w), (kh, kw), (ph, pw), (sh, sw) = two(output_size), two(kernel_size), two(padding), two(stride)
    wide = (w + 2 * pw - kw) // sw + 1
    parts = x.reshape(x.shape[0], -1, kh * kw, x.shape[-1])
    result, size = np.zeros((*parts.shape[:2], h, w)), np.zeros((*parts.shape[:2], h, w))
    for n, c, tap, window in np.ndindex(parts.shape):
        y, z = window // wide * sh + tap // kw - ph, window % wide * sw + tap % kw - pw
        if 0 <= y < h and 0 <= z < w:
            result[n, c, y, z] += parts[n, c, tap, window]
            size[n, c, y, z] += finite(parts[n, c, tap, window])
    return summed(result, size, kh * kw)
