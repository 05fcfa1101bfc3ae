"""Which axes of a tensor are its channels, and parameters that have one element for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.tensors import formats

Array = NDArray[Any]


def letters(code: int, rank: int, other: str) -> str:
    """The axis letters of a tensor: those of its format where they fit, else the given ones fitted to its rank.

    ``NCHW`` for rank 3 is ``NCH``, ``NHWC`` for rank 2 is ``NC``; a scalar has none.
    """
    named = formats.axes_of(code, rank)
    if named is not None:
        return named
    known = formats.AXES.get(formats.split(code).primary, other)
    spatial = "DHW"[-max(rank - 2, 0) :] if 2 < rank <= 5 else "0123456789"[: max(rank - 2, 0)]
    full = f"N{spatial}C" if known.endswith("C") and len(known) > 2 else f"NC{spatial}"
    return full[:rank] if rank > 1 else "C"[:rank]


def channel_axes(code: int, rank: int, other: str) -> tuple[int, ...]:
    """The channel axes of a tensor: one, or two when it is described as NC1HWC0 (NDC1HWC0) itself."""
    primary = formats.split(code).primary
    if primary == formats.NC1HWC0 and rank == 5:
        return 1, 4
    if primary == formats.NDC1HWC0 and rank == 6:
        return 2, 5
    found = letters(code, rank, other).find("C")
    return (found,) if found >= 0 else ()


def other_axes(rank: int, over: tuple[int, ...]) -> tuple[int, ...]:
    """All axes but these."""
    return tuple(axis for axis in range(rank) if axis not in over)


def per_channel(parameter: Array, shape: tuple[int, ...], over: tuple[int, ...]) -> Array:
    """A parameter of one element a channel in a shape that broadcasts to the tensor's."""
    return parameter.reshape(tuple(size if axis in over else 1 for axis, size in enumerate(shape)))


def channels_of(shape: Shape, over: tuple[int, ...]) -> Dim:
    """How many channels there are."""
    return dims.count(shape[axis] for axis in over)


def check_channels(call: Call, channels: Dim, *names: str) -> None:
    """Refuses parameters that do not have one element for each channel."""
    for name in names:
        if not call.has(name):
            continue
        size = dims.count(call.shape(name))
        if dims.known(size, channels) and size != channels:
            told = f"{name} = {dims.text(call.shape(name))}; allowed: one element for each of the {channels} channels."
            raise call.refuse("HA504", told)


def described_or(call: Call, name: str, shape: Shape) -> Shape:
    """The described shape of an output of a fixed number of elements where it has so many, else this one."""
    specs = call.outputs[name].specs
    if not specs or specs[0].absent or specs[0].dynamic or not dims.known(*shape):
        return shape
    return specs[0].shape if np.prod(specs[0].shape, dtype=np.int64) == dims.count(shape) else shape
