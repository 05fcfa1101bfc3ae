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
    shape = d.shape()
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
    contiguous = d.attr("paddings_contiguous", True, False)
    d.attr("constant_values", d.int(0, 5))
    shape = d.shape(1)
    d.tensor("x", shape)
    listed = laid_out(amounts(d, mode, shape), contiguous)
    d.attr("paddings", listed.reshape((len(shape), 2) if contiguous else (2, len(shape))).tolist())


@oracle("PadV3D")
def pad_v3_d(x: Any, paddings: Any, constant_values: int, mode: str, paddings_contiguous: bool) -> Any:
    return padded(x, pairs_of(paddings, paddings_contiguous), mode, constant_values)


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
    shape = d.shape(1)
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


Cut = tuple[list[int], list[int], list[int]]
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def cuts(d: Dice, shape: tuple[int, ...]) -> Cut:
    """begin, end and strides for the leading axes; some of them far outside."""
    count = d.int(0, len(shape))
    begin = [d.int(-size - 2, size + 1) for size in shape[:count]]
    end = [d.int(-size - 2, size + 2) if d.chance(0.8) else d.choose(2**31 - 1, -(2**31) + 1) for size in shape[:count]]
    return begin, end, [d.choose(1, 1, 2, -1, -2) for _ in range(count)]


def masked(d: Dice, shape: tuple[int, ...]) -> Cut:
    """begin, end, strides and masks: an ellipsis or new axes among them, and begins inside where an axis shrinks."""
    gap = d.int(0, len(shape)) if d.attr("ellipsis_mask", 1) else None
    lead = len(shape) if gap is None else gap
    cut = cuts(d, shape[:lead])
    sizes: list[int | None] = list(shape[: len(cut[0])])
    bits = {"ellipsis_mask": 0, "new_axis_mask": 0}
    if gap is not None:
        behind = cuts(d, tuple(reversed(shape[len(sizes) :])))
        for part, rest, entry in zip(cut, behind, (d.int(-3, 3), d.int(-3, 3), 1), strict=True):
            part += [entry, *reversed(rest)]
        bits["ellipsis_mask"] = 1 << len(sizes)
        sizes += [None, *shape[len(shape) - len(behind[0]) :]]
    for _ in range(min(d.int(1, 2), 8 - len(shape)) if d.attr("new_axis_mask", 1) else 0):
        at = d.int(0, len(sizes))
        bits = {name: mask & (1 << at) - 1 | mask >> at << at + 1 for name, mask in bits.items()}
        bits["new_axis_mask"] |= 1 << at
        sizes.insert(at, None)
        for part, entry in zip(cut, (d.int(-3, 3), d.int(-3, 3), 1), strict=True):
            part.insert(at, entry)
    for name, mask in bits.items():
        d.values[name] = mask
        if name in d.attrs:
            d.attrs[name] = ("int", mask)
    shrunk(d, shape, sizes, cut[0])
    return cut


def shrunk(d: Dice, shape: tuple[int, ...], sizes: list[int | None], begin: list[int]) -> None:
    """The masks of ends and of axes that shrink; ``sizes`` has None for what is no axis."""
    every = (1 << len(begin)) - 1
    for name in ("begin_mask", "end_mask"):
        d.attr(name, d.int(0, every))
    axes = sum(1 << place for place, size in enumerate(sizes) if size is not None)
    shrink = d.attr("shrink_axis_mask", d.int(0, every) & axes if 0 not in shape else 0)
    for place, size in enumerate(sizes):
        if size is not None and shrink >> place & 1:
            begin[place] = d.int(-size, size - 1)


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
    if d.prototype.op_type.startswith("StridedSliceGrad"):
        d.tensor("shape", np.array(shape, np.int64)) if d.decl("shape") is None else d.value("shape", np.array(shape, np.int64))
    send(d, shape, masked(d, shape))


@shapes("StridedSliceV3", "StridedSliceAssignV2")
def striding_axes(d: Dice) -> None:
    shape = d.shape()
    send(d, shape, cuts(d, shape))


def send(d: Dice, shape: tuple[int, ...], cut: Cut) -> None:
    """The tensors of a strided slice, in whichever form this operator takes them."""
    code = int(d.choose(dtypes.INT32, dtypes.INT64))
    for name in ("x", "var"):
        if d.decl(name) is not None:
            d.tensor(name, shape)
    if "shape" in d.prototype.attrs:
        d.attr("shape", list(shape))
    order = [int(one) for one in d.rng.permutation(len(shape))[: len(cut[0])]]
    by_axes = d.decl("axes") is not None and not any(d.values.get(name) for name in MASKS[2:]) and d.optional("axes")
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
        [d.values.get(name, 0) for name in MASKS],
        order if by_axes else None,
    )
    for name in ("dy", "input_value"):
        if d.decl(name) is not None:
            d.tensor(name, tuple(lengths(index)))


def whole_index(shape: Any, cut: Any, masks: Any, axes: Any) -> list[Any]:
    """For each axis the range of places that is taken, or the one place; None for a new axis."""
    if axes is not None:
        found: list[Any] = [range(size) for size in shape]
        for number, (axis, begin, end, stride) in enumerate(zip(axes, *cut, strict=True)):
            no_begin, no_end = (bool(mask >> number & 1) for mask in masks[:2])
            found[axis] = found[axis][None if no_begin else begin : None if no_end else end : stride]
        return found
    found, left = [], [range(size) for size in shape]
    for number, (begin, end, stride) in enumerate(zip(*cut, strict=True)):
        no_begin, no_end, ellipsis, new, shrinks = (bool(mask >> number & 1) for mask in masks)
        if ellipsis:
            behind = sum(not masks[3] >> later & 1 for later in range(number + 1, len(cut[0])))
            while len(left) > behind:
                found.append(left.pop(0))
        elif new:
            found.append(None)
        else:
            one = left.pop(0)
            found.append(begin % len(one) if shrinks else one[None if no_begin else begin : None if no_end else end : stride])
    return found + left


def lengths(index: list[Any]) -> list[int]:
    """The dims of what an index takes."""
    return [1 if one is None else len(one) for one in index if not isinstance(one, int)]


def origin_of(index: list[Any], place: tuple[int, ...]) -> tuple[int, ...]:
    """Where the element at a place of the result comes from."""
    at = iter(place)
    found = [one if isinstance(one, int) else (one or range(1))[next(at)] if one is not None else next(at) for one in index]
    return tuple(where for where, one in zip(found, index, strict=True) if one is not None)


def ints(listed: Any) -> list[int]:
    return [int(one) for one in listed]


def taken(x: Any, index: list[Any]) -> Any:
    return moved(lengths(index), x, lambda place: origin_of(index, place))


def stored(x: Any, index: list[Any], value: Any) -> Any:
    result = x.copy()
    for place in np.ndindex(value.shape):
        result[origin_of(index, place)] = value[place]
    return result


def index_for(dice: Dice, shape: Any, begin: Any, end: Any, strides: Any, axes: Any = None) -> list[Any]:
    steps = [1] * len(begin) if strides is None else ints(strides)
    masks = [dice.values.get(name, 0) for name in MASKS]
    return whole_index(
        shape, (ints(begin), ints(end), steps), masks, None if axes is None else [one % len(shape) for one in ints(axes)]
    )


@oracle("StridedSlice", "StridedSliceD")
def strided_slice(x: Any, begin: Any, end: Any, strides: Any, dice: Dice) -> Any:
    return taken(x, index_for(dice, x.shape, begin, end, strides))


@oracle("StridedSliceV2", "StridedSliceV3")
def strided_slice_v2(x: Any, begin: Any, end: Any, axes: Any, strides: Any, dice: Dice) -> Any:
    return taken(x, index_for(dice, x.shape, begin, end, strides, axes))


@oracle("StridedSliceGrad", "StridedSliceGradD")
def strided_slice_grad(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, dice: Dice) -> Any:
    zeros = np.zeros(ints(shape), dy.dtype)
    return stored(zeros, index_for(dice, zeros.shape, begin, end, strides), dy)


@oracle("StridedSliceAssign", "StridedSliceAssignD")
def strided_slice_assign(var: Any, begin: Any, end: Any, strides: Any, input_value: Any, dice: Dice) -> Any:
    return stored(var, index_for(dice, var.shape, begin, end, strides), input_value)


@oracle("StridedSliceAssignV2")
def strided_slice_assign_v2(var: Any, input_value: Any, begin: Any, end: Any, strides: Any, axes: Any, dice: Dice) -> Any:
    return stored(var, index_for(dice, var.shape, begin, end, strides, axes), input_value)


# --- columns of images ---


@shapes("Im2col")
def windows(d: Dice) -> None:
    shape = (*d.shape(2, 2, long=False), d.int(1, 5), d.int(1, 5))
    size = [d.int(1, min(3, one + 2)) for one in shape[2:]]
    d.attr("ksizes", size)
    d.attr("strides", [d.int(1, 2), d.int(1, 2)])
    mode = d.attr("padding_mode", "SAME", "VALID")
    pads = d.attr("pads", [1], [1, 0], [1, 0, 2, 1])
    dilations = d.attr("dilations", [1, 1], [1], [1, 2])
    above, below, left, right = four(pads) if mode == "CALCULATED" else (0,) * 4
    room = [shape[2] + above + below, shape[3] + left + right] if mode != "SAME" else [9, 9]
    size = [min(one, (had - 1) // by + 1) for one, had, by in zip(size, room, two(dilations), strict=True)]
    d.attrs["ksizes"], d.values["ksizes"] = ("list_int", size), size
    d.tensor("x", shape)


def two(values: Any) -> tuple[int, int]:
    return int(values[0]), int(values[-1])


def four(pads: Any) -> tuple[int, ...]:
    """Padding above, below, left and right."""
    listed = [int(one) for one in pads]
    return tuple(listed) if len(listed) == 4 else (*[listed[0]] * 2, *[listed[-1]] * 2)


def spots(size: int, span: int, stride: int, before: int, after: int, mode: str) -> tuple[int, int]:
    """How many windows fit along a side, and how much lies before it: as little as SAME needs, the smaller part in front."""
    if mode == "SAME":
        count = -(-size // stride)
        return count, max((count - 1) * stride + span - size, 0) // 2
    before, after = (before, after) if mode == "CALCULATED" else (0, 0)
    return (size + before + after - span) // stride + 1, before


@oracle("Im2col")
def im2col(x: Any, ksizes: Any, strides: Any, dilations: Any, pads: Any, padding_mode: str) -> Any:
    (kh, kw), (sh, sw), (dh, dw), (above, below, left, right) = two(ksizes), two(strides), two(dilations), four(pads)
    high, top = spots(x.shape[2], dh * (kh - 1) + 1, sh, above, below, padding_mode)
    wide, front = spots(x.shape[3], dw * (kw - 1) + 1, sw, left, right, padding_mode)
    result = np.zeros((x.shape[0], x.shape[1] * kh * kw, high * wide), x.dtype)
    for n, c, i, j, row, column in np.ndindex(x.shape[0], x.shape[1], kh, kw, high, wide):
        y, z = row * sh + i * dh - top, column * sw + j * dw - front
        if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]:
            result[n, (c * kh + i) * kw + j, row * wide + column] = x[n, c, y, z]
    return result


@shapes("Col2im", "Col2ImV2")
def images(d: Dice) -> None:
    size, pad, stride = [d.int(2, 5), d.int(2, 5)], [d.int(0, 1), d.int(0, 1)], [d.int(1, 2), d.int(1, 2)]
    window = [d.int(1, 2), d.int(1, 2)]
    apart = d.attr("dilation", [1, 1], [2, 1], [1, 2])
    window = [k if d * (k - 1) < one + 2 * p else 1 for one, p, k, d in zip(size, pad, window, apart, strict=True)]
    count = [(one + 2 * p - d * (k - 1) - 1) // s + 1 for one, p, k, s, d in zip(size, pad, window, stride, apart, strict=True)]
    batch, channels = d.shape(2, 2, long=False)
    lead = (batch, channels * window[0] * window[1]) if d.chance() else (batch, channels, window[0] * window[1])
    d.tensor("x", (*lead, count[0] * count[1]))
    d.value("output_size", np.array(size))
    if d.decl("kernel_size") is not None:
        d.value("kernel_size", np.array(window))
    else:
        d.attr("kernel_size", window)
    d.attr("padding", pad)
    d.attr("stride", stride)


@oracle("Col2im", "Col2ImV2")
def col2im(x: Any, output_size: Any, kernel_size: Any, padding: Any, stride: Any, dilation: Any) -> Any:
    (h, w), (kh, kw), (ph, pw), (sh, sw) = two(output_size), two(kernel_size), two(padding), two(stride)
    dh, dw = two(dilation)
    wide = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    parts = x.reshape(x.shape[0], x.shape[1] // (kh * kw) if x.ndim == 3 else x.shape[1], kh * kw, x.shape[-1])
    result, size = np.zeros((*parts.shape[:2], h, w)), np.zeros((*parts.shape[:2], h, w))
    for n, c, tap, window in np.ndindex(parts.shape):
        y, z = window // wide * sh + tap // kw * dh - ph, window % wide * sw + tap % kw * dw - pw
        if 0 <= y < h and 0 <= z < w:
            result[n, c, y, z] += parts[n, c, tap, window]
            size[n, c, y, z] += finite(parts[n, c, tap, window])
    return summed(result, size, kh * kw)
