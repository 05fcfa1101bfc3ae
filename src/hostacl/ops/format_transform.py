"""Changes of memory layout: between plain formats, and into blocks and back."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import dims
from hostacl.ops.batches import Cut, Grain, Piece, evenly, shorter
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.tensors import blocked, formats, slices
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]

NZ = frozenset({formats.FRACTAL_NZ, *formats.NZ_C0})
RANKS = {formats.NC1HWC0: 5, formats.NC1HWC0_C04: 5, formats.NDC1HWC0: 6, formats.FRACTAL_Z: 4, formats.FRACTAL_Z_C04: 4}

PAIRS = {
    formats.NC1HWC0: ("NCHW", "NHWC"), formats.NC1HWC0_C04: ("NCHW", "NHWC"), formats.NDC1HWC0: ("NCDHW", "NDHWC"),
    formats.FRACTAL_Z: ("NCHW", "HWCN", "NHWC", "ND"), formats.FRACTAL_Z_C04: ("NCHW", "HWCN", "NHWC"),
    formats.FRACTAL_Z_3D: ("NCDHW", "DHWCN", "NDHWC"), **dict.fromkeys(NZ, ("ND", "NCHW", "NHWC")),
    formats.FRACTAL_ZZ: ("ND", "NCHW", "NHWC"),
}  # fmt: skip
"""The plain formats that each block format goes with."""


class Side(NamedTuple):
    """One side of a change: the format that its array has, whole as a format value, and the descriptor."""

    layout: formats.Layout
    spec: TensorSpec

    @property
    def primary(self) -> int:
        """The primary format's code."""
        return self.layout.primary

    @property
    def blocked(self) -> bool:
        """Whether it is a block format."""
        return self.primary in formats.PRIVATE


def side(call: Call, spec: TensorSpec, name: str) -> Side:
    """The format of an array: the descriptor's, or what the attribute says where that is ND.

    A descriptor with a storage format of its own is unpacked before, and packed behind, the operator: there the origin counts.
    """
    named = formats.CODES.get(str(call.attr(name)))
    if named is None:
        raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: the name of a format, such as NCHW or FRACTAL_NZ.")
    layout = formats.split(spec.format)
    if not formats.is_plain(spec):
        return Side(layout, spec)
    if layout.primary in (formats.ND, formats.UNDEFINED) or named in NZ or layout.primary == named:
        chosen = layout.primary if named == formats.ND and layout.primary in formats.PRIVATE else named
        return Side(layout._replace(primary=chosen), spec)
    if named == formats.ND:
        return Side(layout, spec)
    told = f"{name} = {call.attr(name)}, but the descriptor has format {formats.format_name(spec.format)}; they must agree."
    raise call.refuse("HA508", told)


def letters(call: Call, one: Side, rank: int, other: Side) -> str:
    """The axes of a plain side, as the block format of the other sees them; none for matrices."""
    if other.primary in NZ or other.primary == formats.FRACTAL_ZZ:
        return ""
    if one.primary == formats.ND and other.primary == formats.FRACTAL_Z and rank == 2:
        return "KN"
    primary = formats.NCHW if one.primary == formats.ND and rank == 4 else one.primary
    axes = formats.axes_of(primary, rank)
    if axes is None:
        name, plain = "src" if one.spec is call.spec("src") else "dst", formats.format_name(one.primary)
        told = f"{name} = {dims.text(one.spec.shape)} in format {plain}, which does not have {rank} dims."
        raise call.refuse("HA516", told)
    return axes


def block_size(one: Side) -> int:
    """C0: fixed by the format, the last dim of the described blocks, in the format value, or by dtype."""
    described = one.spec.shape[-1] if len(one.spec.shape) >= 4 and one.spec.shape[-1] > 0 else 0
    return formats.FIXED_C0.get(one.primary) or described or one.layout.c0 or formats.block_size(one.spec.dtype, settings().soc)


def groups_of(call: Call, block: Side, name: str) -> int:
    """The groups of FRACTAL_Z: by attribute groups, the sub-format attribute or the format value."""
    found = [one for one in (call.attr("groups"), call.attr(name), block.layout.sub) if one is not None and one > 1]
    if len(set(found)) > 1:
        told = f"groups = {call.attr('groups')}, {name} = {call.attr(name)} and the format's {block.layout.sub} differ."
        raise call.refuse("HA508", told)
    if found and block.primary not in (formats.FRACTAL_Z, formats.FRACTAL_Z_3D):
        told = f"groups = {found[0]} with {formats.format_name(block.primary)}; allowed: FRACTAL_Z, FRACTAL_Z_3D."
        raise call.refuse("HA508", told)
    return found[0] if found else 1


def checked_pair(call: Call, plain: Side, block: Side) -> None:
    """Refuses a pair of formats that no change leads between."""
    allowed = PAIRS.get(block.primary, ())
    if formats.format_name(plain.primary) not in allowed:
        told = f"{formats.format_name(plain.primary)} and {formats.format_name(block.primary)} are no pair"
        raise call.refuse("HA508", f"{told}; {formats.format_name(block.primary)} goes with {', '.join(allowed)}.")


def block_layout(call: Call, shape: tuple[int, ...], plain: Side, block: Side, name: str) -> blocked.Layout:
    """The block shape of a plain tensor and the copies in and out."""
    checked_pair(call, plain, block)
    axes, groups = letters(call, plain, len(shape), block), groups_of(call, block, name)
    matrix = shape if axes or len(shape) >= 2 else (1,) * (2 - len(shape)) + shape
    if groups > 1 and shape[axes.index("N")] % groups:
        told = f"groups = {groups}; it must divide the {shape[axes.index('N')]} output channels of {list(shape)}."
        raise call.refuse("HA508", told)
    if block.primary == formats.FRACTAL_Z_C04 and shape[axes.index("C")] > 4:
        raise call.refuse("HA504", f"{list(shape)} has {shape[axes.index('C')]} channels; FRACTAL_Z_C04 takes up to 4.")
    return blocked.layout(matrix, axes, block.primary, block_size(block), groups, joined)


def sides(call: Call) -> tuple[Side, Side]:
    """Both sides; an output that is not described has the format of its attribute."""
    source = side(call, call.spec("src"), "src_format")
    described = call.outputs["dst"].specs
    if described and not described[0].absent:
        return source, side(call, described[0], "dst_format")
    named = formats.CODES.get(str(call.attr("dst_format")))
    if named is None:
        raise call.refuse("HA508", f"dst_format = {call.attr('dst_format')!r}; allowed: the name of a format, such as NCHW.")
    return source, Side(formats.Layout(named, 0, 0), TensorSpec(call.dtype("src"), (), named))


def transformed(call: Call) -> Shape:
    """The described shape where it can hold the result, else the one that follows."""
    src = call.shape("src")
    source, target = sides(call)
    described = call.outputs["dst"].specs
    out = described[0].shape if described and not described[0].absent and min(described[0].shape, default=0) >= 0 else None
    if not dims.known(*src):
        raise Unknown("src")
    shape = tuple(int(dim) for dim in src)  # type: ignore[arg-type]
    if not source.blocked:
        return _from_plain(call, shape, source, target, out)
    if not target.blocked:
        return _from_blocks(call, shape, source, target, out)
    if source.primary != target.primary or (out is not None and out != shape):
        names = [formats.format_name(one.primary) for one in (source, target)]
        raise call.refuse("HA508", f"{names[0]} to {names[1]} is no pair; go by a plain format.")
    return shape


def _from_plain(call: Call, shape: tuple[int, ...], source: Side, target: Side, out: tuple[int, ...] | None) -> Shape:
    if not target.blocked:
        return tuple(shape[place] for place in order(call, source, target, len(shape)))
    found = block_layout(call, shape, source, target, "dst_subformat")[0]
    return out if out is not None and same_blocks(out, found) else found


def same_blocks(given: tuple[int, ...], found: tuple[int, ...]) -> bool:
    """Whether a described block shape is another way to write one: the same blocks, leading dims split or joined."""
    return prod(given) == prod(found) and given[-2:] == found[-2:]


def _from_blocks(call: Call, shape: tuple[int, ...], source: Side, target: Side, out: tuple[int, ...] | None) -> Shape:
    """The plain shape behind blocks, which only the output's descriptor can tell."""
    if out is None:
        raise Unknown("dst")
    found = block_layout(call, out, target, source, "src_subformat")[0]
    if not same_blocks(shape, found):
        told = f"src = {list(shape)}; the {formats.format_name(source.primary)} of dst = {list(out)} has {list(found)}."
        raise call.refuse("HA504", told)
    return out


def order(call: Call, source: Side, target: Side, rank: int) -> tuple[int, ...]:
    """The permutation between two plain formats."""
    have, want = (formats.axes_of(one.primary, rank) for one in (source, target))
    if source.primary == target.primary or formats.ND in (source.primary, target.primary):
        return tuple(range(rank))
    if have is None or want is None or sorted(have) != sorted(want):
        names = [formats.format_name(one.primary) for one in (source, target)]
        raise call.refuse("HA508", f"{names[0]} to {names[1]} for {rank} dims; allowed: formats of the same axes.")
    return tuple(have.index(letter) for letter in want)


def block_cuts(call: Call) -> Iterator[Cut]:
    """Along the axes of the plain side, between the blocks of the other."""
    source, target = sides(call)
    if source.blocked == target.blocked:
        if not source.blocked:
            for place, axis in enumerate(order(call, source, target, call.rank("src"))):
                yield from evenly(call, {"src": axis, "dst": place})
        return
    plain, block, name, blocks = (source, target, "src", "dst") if target.blocked else (target, source, "dst", "src")
    layout = block.primary | groups_of(call, block, f"{blocks}_subformat") << 8 | block_size(block).bit_length() << 24
    four = formats.NCHW if plain.primary == formats.ND and len(plain.spec.shape) == 4 else plain.primary
    stored = plain.spec._replace(format=four, storage_format=layout, storage_shape=None)
    if formats.storage_shape(stored) != block.spec.shape:
        return
    for axis, own in slices.axes(stored).items():
        size = stored.shape[axis]

        def piece(part: slice, axis: int = axis, own: slices.Axis = own, size: int = size) -> Piece:
            return shorter(call, {name: {axis: part}, blocks: own.part(part, size)})

        yield Cut(size, piece, grain=Grain(own.unit, fine=own.unit == 1))


@kernel("TransData", shape=transformed, bits=True, cuts=block_cuts)
def trans_data(src: Array, call: Call) -> Array:
    """src in another format: permuted, or put into blocks (padding is 0) or taken out of them (padding is dropped).

    Blocks need a C0: the last described dim, else the format value's, else that of the dtype. groups (or the sub-format)
    lays FRACTAL_Z and FRACTAL_Z_3D out for grouped convolutions. Descriptors may give the blocks as their shape, or as
    storage format and shape beside an origin; back from blocks the described dst says the plain shape.
    """
    source, target = sides(call)
    if not source.blocked and not target.blocked:
        return src.transpose(order(call, source, target, src.ndim))
    if source.blocked and target.blocked:
        return src
    if target.blocked:
        _, into, _ = block_layout(call, src.shape, source, target, "dst_subformat")
        shape = src.shape if src.ndim >= 2 else (1,) * (2 - src.ndim) + src.shape
        return compact(into(src.reshape(shape))).reshape([int(dim) for dim in transformed(call)])  # type: ignore[arg-type]
    out = tuple(int(dim) for dim in transformed(call))  # type: ignore[arg-type]
    shape, _, back = block_layout(call, out, target, source, "src_subformat")
    return back(src.reshape(shape)).reshape(out)


def joined(view: Array, shape: tuple[int, ...]) -> Array:
    """A transposed array in a shape that needs a copy, by the native blocked loop."""
    return compact(view).reshape(shape)


def compact(view: Array) -> Array:
    """A contiguous copy by the native blocked loop."""
    result = np.empty(view.shape, view.dtype)
    if view.dtype.kind in "iufbc" and view.dtype.itemsize <= 16:
        _kernels.copy(view, result)
    else:
        result[...] = view
    return result
