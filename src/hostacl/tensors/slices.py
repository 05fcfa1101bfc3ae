"""Parts of a tensor as slices of what lies in memory: of plain axes, of permuted ones, and of blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from hostacl.tensors import blocked, dtypes, formats
from hostacl.tensors.spec import TensorSpec


class Axis(NamedTuple):
    """An axis of a tensor in its storage: the axis there, of how many elements its parts must be, and the places these take.

    ``inner``: the storage's axis of the places in one block, where a part may also lie in a single block.
    """

    place: int
    unit: int = 1
    width: int = 1
    inner: int | None = None

    def part(self, part: slice, size: int) -> dict[int, slice]:
        """The slices of the storage's axes. The last part takes the padding behind it."""
        start, stop = part.start, size + -size % self.unit if part.stop == size else part.stop
        if start % self.unit or stop % self.unit:
            if self.inner is None or start // self.unit != (stop - 1) // self.unit:
                raise ValueError(f"elements {start} to {stop} of {size} are in pieces of blocks of {self.unit}")
            block = start // self.unit
            return {self.place: slice(block, block + 1), self.inner: slice(start - block * self.unit, stop - block * self.unit)}
        return {self.place: slice(start // self.unit * self.width, stop // self.unit * self.width)}


def axes(spec: TensorSpec, soc: str = "Ascend910B1") -> dict[int, Axis]:
    """The axes that a tensor can be cut along; none where its storage is not that of its shape."""
    if spec.absent or not dtypes.has_arrays(spec.dtype):
        return {}
    if spec.dtype in dtypes.PACKED:
        return _packed(spec) if formats.is_plain(spec) else {}
    if formats.is_plain(spec):
        return {place: Axis(place) for place in range(len(spec.shape))}
    blocks = formats.blocks_of(spec, soc)
    own = formats.storage_shape(spec._replace(storage_shape=None), soc) if blocks is None else blocked.layout(*blocks)[0]
    if spec.storage_shape not in (None, own):
        return {}
    return _permuted(spec) if blocks is None else _blocked(spec, blocks)


def part_of(spec: TensorSpec, parts: Mapping[int, slice], soc: str = "Ascend910B1") -> tuple[TensorSpec, tuple[slice, ...]]:
    """The descriptor of a part of a tensor, a slice along some axes, and where it lies in the array of the storage."""
    own = axes(spec, soc)
    if spec.dtype in dtypes.PACKED:
        stored: tuple[int, ...] = (-(-math.prod(spec.shape) * dtypes.BY_CODE[spec.dtype].bits // 8),)
    else:
        stored = formats.storage_shape(spec, soc)
    cuts: dict[int, slice] = {}
    shape = list(spec.shape)
    for axis, part in parts.items():
        exact = slice(*part.indices(shape[axis])[:2])
        cuts |= own[axis].part(exact, shape[axis])
        shape[axis] = exact.stop - exact.start
    index = [cuts.get(place, slice(None)) for place in range(len(stored))]
    held = tuple(len(range(*part.indices(size))) for part, size in zip(index, stored, strict=True))
    plain = formats.is_plain(spec)
    return spec._replace(shape=tuple(shape), storage_shape=None if plain else held), tuple(index)


def _packed(spec: TensorSpec) -> dict[int, Axis]:
    """The first axis of elements of less than a byte, in whole bytes."""
    first = next((place for place, size in enumerate(spec.shape) if size != 1), None)
    if first is None:
        return {}
    bits = math.prod(spec.shape[first + 1 :]) * dtypes.BY_CODE[spec.dtype].bits
    unit = 8 // math.gcd(bits, 8)
    return {first: Axis(0, unit, unit * bits // 8)}


def _permuted(spec: TensorSpec) -> dict[int, Axis]:
    """The axes of a plain format that lies in memory as another."""
    have, want = (formats.axes_of(code, len(spec.shape)) or "" for code in (spec.format, spec.storage_format))
    return {place: Axis(want.index(letter)) for place, letter in enumerate(have)}


def _blocked(spec: TensorSpec, blocks: formats.Blocks) -> dict[int, Axis]:
    """The axes that lie in blocks of their own."""
    rank, c0 = len(spec.shape), blocks.c0
    if blocks.axes == "":
        found = {place: Axis(place) for place in range(len(blocks.shape))}
        lead = len(blocks.shape) - 2
        if blocks.primary == formats.FRACTAL_ZZ:
            found |= {lead: Axis(lead, c0), lead + 1: Axis(lead + 1, c0)}
        else:
            found |= {lead: Axis(lead + 1, 16), lead + 1: _by_c0(lead, blocks, lead + 3)}
        behind = len(blocks.shape) - rank
    elif blocks.axes == "KN":
        found, behind = {0: Axis(0, c0), 1: Axis(1, 16)}, 0
    else:
        found, behind = _lettered(blocks), 1 if rank < len(blocks.shape) else 0
    return {place - behind: axis for place, axis in found.items() if 0 <= place - behind < rank}


def _lettered(blocks: formats.Blocks) -> dict[int, Axis]:
    """The axes of images in blocks of channels; of filters only that of the outputs."""
    if blocks.primary in (formats.NC1HWC0, formats.NC1HWC0_C04, formats.NDC1HWC0):
        order = "NDCHW" if blocks.primary == formats.NDC1HWC0 else "NCHW"
        places = {place: order.index(letter) for place, letter in enumerate(blocks.axes)}
        channels = blocks.axes.index("C")
        return {place: Axis(at) for place, at in places.items()} | {channels: _by_c0(places[channels], blocks, len(order))}
    return {blocks.axes.index("N"): Axis(1, 16)} if blocks.groups == 1 else {}


def _by_c0(place: int, blocks: formats.Blocks, inner: int) -> Axis:
    """An axis in blocks of C0, within which it is cut too unless the format says how large they are."""
    return Axis(place, blocks.c0, inner=None if blocks.primary in formats.FIXED_C0 else inner)
