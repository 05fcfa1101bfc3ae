"""Padding, and its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import one_element
from hostacl.tensors import dtypes

Array = NDArray[Any]
Pairs = list[tuple[int, int]]

MODES = ("constant", "reflect", "edge", "symmetric", "circular")
LIMITS = {"reflect": 1, "symmetric": 0, "circular": 0}
"""Modes that take what they add from the tensor: by how much a padding must be smaller than the dim, at least."""


def mode_of(call: Call) -> str:
    """The mode; an operator without one pads with a constant."""
    mode = str(call.attrs.get("mode", "constant")).lower()
    if mode not in MODES:
        raise call.refuse("HA508", f"mode = {call.attr('mode')!r}; allowed: {', '.join(MODES)}.")
    return mode


def mirror_mode(call: Call) -> str:
    """REFLECT or SYMMETRIC, as MirrorPad names them."""
    mode = str(call.attr("mode"))
    if mode.upper() not in ("REFLECT", "SYMMETRIC"):
        raise call.refuse("HA508", f"mode = {mode!r}; allowed: REFLECT, SYMMETRIC.")
    return mode.lower()


def pairs_of(call: Call, paddings: Any, rank: int) -> Pairs:
    """(before, after) of each axis; not contiguous is all before, then all after."""
    listed = [int(one) for one in np.asarray(paddings).ravel()]
    if len(listed) != 2 * rank:
        told = f"paddings = {listed} has {len(listed)} entries; allowed: {2 * rank}, two for each axis of x."
        raise call.refuse("HA519", told)
    if call.attrs.get("paddings_contiguous", True) is False:
        return list(zip(listed[:rank], listed[rank:], strict=True))
    return list(zip(listed[::2], listed[1::2], strict=True))


def padded_shape(mode: Callable[[Call], str]) -> Callable[[Call], Shape]:
    """The shape rule of padding."""

    def rule(call: Call) -> Shape:
        x, how = call.shape("x"), mode(call)
        one_element(call, "constant_values")
        if "paddings" not in call.attrs and not call.known("paddings"):
            return (Between(0, None),) * len(x)
        source = call.attr("paddings") if "paddings" in call.attrs else call.value("paddings")
        pairs = pairs_of(call, source, len(x))
        return tuple(padded_dim(call, how, place, dim, pair) for place, (dim, pair) in enumerate(zip(x, pairs, strict=True)))

    return rule


def padded_dim(call: Call, mode: str, place: int, dim: Dim, pair: tuple[int, int]) -> Dim:
    """A dim with its paddings; refuses more than the mode can give or take."""
    before, after = pair
    high = dims.bounds(dim)[1]
    if high is not None and high + min(before, 0) + min(after, 0) < 0:
        raise call.refuse("HA519", f"paddings = {list(pair)} of axis {place} take more than the {high} elements of x.")
    limit = LIMITS.get(mode)
    if limit is not None and high is not None and max(pair) > max(high - limit, 0):
        raise call.refuse("HA519", f"paddings = {list(pair)} of axis {place}; mode {mode} allows up to {max(high - limit, 0)}.")
    if mode == "edge" and dim == 0 and max(pair) > 0:
        raise call.refuse("HA504", f"x is empty along axis {place}; mode edge has nothing to repeat there.")
    total = dim + (before + after)
    return total.at_least(0) if isinstance(total, Between) else total


def pad_with(x: Array, pairs: Pairs, value: Any) -> Array:
    """x with a constant around it, negative paddings cut off."""
    out = np.empty([size + before + after for size, (before, after) in zip(x.shape, pairs, strict=True)], x.dtype)
    pad_into(out, x, pairs, value)
    return out


def pad_into(out: Array, x: Array, pairs: Pairs, value: Any) -> None:
    """The same into an array."""
    sized = list(zip(x.shape, pairs, strict=True))
    inner = tuple(slice(max(b, 0), max(b, 0) + max(s + min(b, 0) + min(e, 0), 0)) for s, (b, e) in sized)
    taken = tuple(slice(max(-b, 0), s + min(e, 0)) for s, (b, e) in sized)
    out[...] = value
    out[inner] = x[taken]


def direct_pad(call: Call) -> Any:
    """Padding with a constant straight into the output, once the paddings are known."""
    if mode_of(call) != "constant" or ("paddings" not in call.attrs and not call.known("paddings")):
        return None
    source = call.attr("paddings") if "paddings" in call.attrs else call.value("paddings")
    pairs, bits = pairs_of(call, source, call.rank("x")), dtypes.bit_type(call.dtype("x"))
    place = call.inputs["constant_values"].positions[0] if call.has("constant_values") else 0

    def run(*arrays: Array) -> None:
        x, out = arrays[0].view(bits), arrays[-1].view(bits)
        value = arrays[place].view(bits).reshape(-1)[:1].copy() if place else 0
        pad_into(out, x.copy() if np.may_share_memory(x, out) else x, pairs, value)

    return run


def sources(mode: str, size: int, before: int, after: int) -> Array:
    """For each place along a padded axis, the place of x whose element stands there."""
    place = np.arange(-before, size + after)
    if mode == "edge":
        return np.clip(place, 0, max(size - 1, 0))
    if mode == "circular":
        return place % max(size, 1)
    if mode == "reflect":
        return np.where(place < 0, -place, np.where(place >= size, 2 * size - 2 - place, place))
    return np.where(place < 0, -1 - place, np.where(place >= size, 2 * size - 1 - place, place))


def pad_from(x: Array, pairs: Pairs, mode: str) -> Array:
    """x with its own elements around it."""
    if all(min(pair) >= 0 for pair in pairs):
        return grown(x, pairs, mode)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            x = np.take(x, sources(mode, x.shape[axis], before, after), axis=axis)
    return x


def grown(x: Array, pairs: Pairs, mode: str) -> Array:
    """The same where nothing is cut off: the middle is copied, then each border from it."""
    out = np.empty([size + before + after for size, (before, after) in zip(x.shape, pairs, strict=True)], x.dtype)
    out[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, pairs, strict=True))] = x
    for axis, (before, after) in enumerate(pairs):
        size = x.shape[axis]
        source, lines = sources(mode, size, before, after) + before, np.moveaxis(out, axis, 0)
        for border in (slice(0, before), slice(before + size, None)):
            if source[border].size:
                lines[border] = lines[source[border]]
    return out


def padded(call: Call, x: Array, paddings: Any, mode: str, value: Any) -> Array:
    """x padded."""
    pairs = pairs_of(call, paddings, x.ndim)
    return pad_with(x, pairs, value) if mode == "constant" else pad_from(x, pairs, mode)


@kernel("PadV3", shape=padded_shape(mode_of), values=("paddings",), bits=True, direct=direct_pad)
def pad_v3(x: Array, paddings: Any, constant_values: Array | None, call: Call) -> Array:
    """x with more elements around it, or, where a padding is negative, with less.

    mode: constant (constant_values, 0 when left out), reflect, edge, symmetric, circular. paddings hold the numbers before
    and after each axis in turn; when paddings_contiguous is false all those before, then all those after.
    """
    value = 0 if constant_values is None else constant_values.reshape(-1)[:1]
    return padded(call, x, paddings, mode_of(call), value)


@kernel("PadV3D", shape=padded_shape(mode_of))
def pad_v3_d(x: Array, paddings: Any, constant_values: int, call: Call) -> Array:
    """PadV3 with paddings and the constant as attributes."""
    return padded(call, x, paddings, mode_of(call), constant_values or 0)


@kernel("Pad", "PadD", shape=padded_shape(lambda call: "constant"), values=("paddings",), bits=True, direct=direct_pad)
def pad(x: Array, paddings: Any, call: Call) -> Array:
    """x with zeros around it: (before, after) for each axis. A negative padding cuts off."""
    return padded(call, x, paddings, "constant", 0)


@kernel("PadV2", "PadV2D", shape=padded_shape(lambda call: "constant"), values=("paddings",), bits=True, direct=direct_pad)
def pad_v2(x: Array, paddings: Any, constant_values: Array, call: Call) -> Array:
    """x with a constant around it: (before, after) for each axis. A negative padding cuts off."""
    return padded(call, x, paddings, "constant", constant_values.reshape(-1)[:1])


@kernel("MirrorPad", shape=padded_shape(mirror_mode), values=("paddings",), bits=True)
def mirror_pad(x: Array, paddings: Any, call: Call) -> Array:
    """x with its mirror image around it: REFLECT without the border element, SYMMETRIC with it."""
    return padded(call, x, paddings, mirror_mode(call), 0)


def unpadded_shape(mode: Callable[[Call], str]) -> Callable[[Call], Shape]:
    """The shape rule of gradients: the paddings taken away again."""

    def rule(call: Call) -> Shape:
        x, how = call.shape("x"), mode(call)
        if not call.known("paddings"):
            return (Between(0, None),) * len(x)  # negative paddings make it larger
        pairs = pairs_of(call, call.value("paddings"), len(x))
        return tuple(unpadded_dim(call, how, *one) for one in enumerate(zip(x, pairs, strict=True)))

    return rule


def unpadded_dim(call: Call, mode: str, place: int, one: tuple[Dim, tuple[int, int]]) -> Dim:
    """A dim without its paddings, which must have been possible."""
    dim, (before, after) = one
    size = dim - (before + after)
    if isinstance(size, Between):
        return size.at_least(0)
    if size < 0:
        told = f"paddings = [{before}, {after}] of axis {place} are more than the {dim} elements of x."
        raise call.refuse("HA519", told)
    padded_dim(call, mode, place, size, (before, after))
    return size


def gradient(call: Call, x: Array, paddings: Any, mode: str) -> Array:
    """The sum, for each place of the unpadded tensor, of x at all places that were taken from it."""
    wide = x.astype(np.float64) if x.dtype == np.float32 else x
    for axis, (before, after) in enumerate(pairs_of(call, paddings, x.ndim)):
        wide = np.moveaxis(_along_first(np.moveaxis(wide, axis, 0), before, after, mode), 0, axis)
    return wide


def _along_first(x: Array, before: int, after: int, mode: str) -> Array:
    """The gradient along axis 0: the middle as it is, what lies outside added where it came from."""
    size = len(x) - before - after
    first, last = max(before, 0), len(x) - max(after, 0)
    total = pad_with(x[first:last], [(min(before, 0) * -1, min(after, 0) * -1), *[(0, 0)] * (x.ndim - 1)], 0)
    if mode == "constant":
        return total
    source = sources(mode, size, before, after)
    for side in (slice(0, first), slice(last, len(x))):
        _add_side(total, x[side], source[side], mode)
    return total


def _add_side(total: Array, outside: Array, source: Array, mode: str) -> None:
    """Adds one border; its places came from different ones, but for the edge's."""
    if mode == "edge" and len(outside):
        total[source[0]] += outside.sum(axis=0, dtype=total.dtype)
    elif len(outside):
        total[source] += outside


@kernel("PadV3Grad", shape=unpadded_shape(mode_of), values=("paddings",))
def pad_v3_grad(x: Array, paddings: Any, call: Call) -> Array:
    """The gradient of PadV3: x without its paddings, what was padded from an element added to it (dropped by mode constant).

    Where PadV3 cut elements off, their gradient is 0. Half types and float32 are added in float64.
    """
    return gradient(call, x, paddings, mode_of(call))


@kernel("MirrorPadGrad", shape=unpadded_shape(mirror_mode), values=("paddings",))
def mirror_pad_grad(x: Array, paddings: Any, call: Call) -> Array:
    """The gradient of MirrorPad: x without its paddings, each mirrored element added to the one it came from."""
    return gradient(call, x, paddings, mirror_mode(call))
