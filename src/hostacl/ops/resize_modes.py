"""Resizing along any axes in ONNX's modes: where each new element lies, and which old ones it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.resampling import Taps, linear, nearest
from hostacl.tensors import formats as layouts

Array = NDArray[Any]


class Axis(NamedTuple):
    """One axis that is resized: sizes, the given scale (0: new over old), and the region of tf_crop_and_resize from 0 to 1."""

    axis: int
    old: int
    new: int
    scale: float
    region: tuple[float, float]

    def shrunk(self, at: Array) -> Array:
        """Places over the scale; without one as exactly as can be, for ties."""
        return at / self.scale if self.scale else at * self.old / self.new


def half_pixel(at: Array, one: Axis) -> Array:
    """The middles of the elements keep their place."""
    return one.shrunk(at + 0.5) - 0.5


def symmetric(at: Array, one: Axis) -> Array:
    """half_pixel around the middle, where the scale does not fit the sizes."""
    fit = one.new / (one.scale * one.old) if one.scale else 1.0
    return one.old / 2 * (1 - fit) + half_pixel(at, one)


def corners(at: Array, one: Axis) -> Array:
    """The outer elements keep their place."""
    return at * (one.old - 1) / (one.new - 1) if one.new > 1 else np.zeros_like(at)


def cropped(at: Array, one: Axis) -> Array:
    """The outer elements lie on the edges of the region."""
    first, last = (edge * (one.old - 1) for edge in one.region)
    return first + at * (last - first) / (one.new - 1) if one.new > 1 else np.full_like(at, (first + last) / 2)


COORDINATES: dict[str, Callable[[Array, Axis], Array]] = {
    "half_pixel": half_pixel,
    "half_pixel_symmetric": symmetric,
    "pytorch_half_pixel": lambda at, one: half_pixel(at, one) if one.new > 1 else np.zeros_like(at),
    "tf_half_pixel_for_nn": lambda at, one: one.shrunk(at + 0.5),
    "asymmetric": lambda at, one: one.shrunk(at),
    "align_corners": corners,
    "tf_crop_and_resize": cropped,
}

ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}

CHOICES = {
    "mode": ("nearest", "linear", "cubic"),
    "coordinate_transformation_mode": tuple(COORDINATES),
    "nearest_mode": tuple(ROUNDINGS),
    "exclude_outside": (0, 1),
}


def check_modes(call: Call) -> None:
    """Refuses attribute values that mean nothing."""
    for name, allowed in CHOICES.items():
        if call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: {', '.join(map(repr, allowed))}.")


def places_of(call: Call, name: str, count: int, rank: int, layout: int) -> list[int] | None:
    """The axes that a list of numbers is about: all of them, or the last ones of those between which images extend.

    None when it is empty or too long for either.
    """
    if count == rank:
        return list(range(rank))
    letters = layouts.axes_of(layout, rank)
    between = [letters.index(one) for one in letters if one not in "NC"] if letters else list(range(2, rank))
    return between[len(between) - count :] if 0 < count <= len(between) else None


def numbers_at(call: Call, name: str, given: Sequence[float], rank: int, layout: int) -> dict[int, float]:
    """The numbers of a list by axis; refuses a list of another length, or with what is not finite."""
    places = places_of(call, name, len(given), rank, layout)
    if places is None:
        raise call.refuse("HA508", f"{name} = {list(given)}; allowed: {rank} numbers, or up to {max(rank - 2, 0)} for H, W ….")
    if any(isinstance(one, float) and not isfinite(one) for one in given):
        raise call.refuse("HA519", f"{name} = {list(given)}; allowed: finite numbers.")
    return dict(zip(places, given, strict=True))


def without_line(call: Call, shape: Shape) -> Shape:
    """The shape, or what y is described as where that only leaves an axis of 1 out: images of one line are sent so."""
    specs = call.outputs["y"].specs
    told = specs[0].shape if specs and not specs[0].absent else shape
    shorter = [(*shape[:axis], *shape[axis + 1 :]) for axis in range(len(shape)) if shape[axis] == 1]
    return told if len(told) == len(shape) - 1 and told in shorter else shape


def axes_of(
    old: Sequence[int], new: Sequence[int], scales: dict[int, float], regions: dict[int, tuple[float, float]], crop: bool
) -> list[Axis]:
    """The axes that change; a scale of 0 is none, and stands for new over old."""
    found = []
    for axis, (before, after) in enumerate(zip(old, new, strict=True)):
        scale, region = scales.get(axis, 0.0), regions.get(axis, (0.0, 1.0))
        if before != after or (scale not in (0, 1) and not crop) or (crop and region != (0.0, 1.0)):
            found.append(Axis(axis, before, after, scale, region))
    return found


def taps_of(one: Axis, attrs: Mapping[str, Any]) -> Taps:
    """How one axis is resampled."""
    how = attrs["coordinate_transformation_mode"]
    place = COORDINATES[how](np.arange(one.new, dtype=np.float64), one)
    outside = (place < 0) | (place > one.old - 1)
    if attrs["mode"] == "nearest":
        taps = nearest(one.axis, one.old, ROUNDINGS[attrs["nearest_mode"]](place))
    elif attrs["mode"] == "linear":
        low = np.floor(place)
        taps = linear(one.axis, one.old, low, place - low)
    else:
        taps = cubic(one, place, attrs["cubic_coeff_a"], bool(attrs["exclude_outside"]))
    if how != "tf_crop_and_resize" or not outside.any():
        return taps
    weight = np.ones(taps.places.shape) if taps.weight is None else taps.weight
    return taps._replace(weight=np.where(outside[:, None], 0.0, weight))


def cubic(one: Axis, place: Array, a: float, inside_only: bool) -> Taps:
    """Four elements each; those outside are the ends, or left out with the weights of the others made up to 1."""
    low = np.floor(place)
    places = low[:, None] + np.arange(-1, 3)
    away = np.abs(place[:, None] - places)
    near = ((a + 2) * away - (a + 3)) * away * away + 1
    weight = np.where(away <= 1, near, np.where(away < 2, ((a * away - 5 * a) * away + 8 * a) * away - 4 * a, 0.0))
    if inside_only:
        weight = np.where((places >= 0) & (places < one.old), weight, 0.0)
        total = weight.sum(axis=1, keepdims=True)
        weight = weight / np.where(total == 0, 1.0, total)
    return Taps(one.axis, one.old, np.clip(places, 0, max(one.old - 1, 0)).astype(np.int64), weight)
