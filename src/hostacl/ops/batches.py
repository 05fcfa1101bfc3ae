"""Running a large call in pieces, so that widened inputs and results stay small: of its batch, or as the operator is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.errors import Refused
from hostacl.ops import precision
from hostacl.ops.binding import Bound
from hostacl.ops.call import Call
from hostacl.tensors import dtypes, formats, slices
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]

LARGE_BYTES = 64 << 20
"""From here on a tensor is worked on in pieces."""

PART_BYTES = 32 << 20
"""What the largest tensor of a piece may take, one step of its cut at least."""

Run = Callable[..., Any]

Index = tuple[slice, ...]


class Piece(NamedTuple):
    """A part of a call: the call on it; by position among all arrays, which part of one it works on, or what in its place.

    What stands in the place of an array may be a function of it. ``outputs``: those of a list that it works on.
    """

    call: Call
    places: Mapping[int, Index]
    values: Mapping[int, Array | Callable[[Array], Array]] = {}
    outputs: slice = slice(None)


class Grain(NamedTuple):
    """The blocks that pieces are cut by: how many elements they have, and whether a piece may lie in one."""

    unit: int = 1
    fine: bool = True


class Cut(NamedTuple):
    """A way to divide a call: the length of what is divided, and the piece of a part of it.

    ``least``: pieces are no shorter. ``adds``: of outputs that are not divided each piece gives a part of the sum.
    ``grain``: pieces are cut between the blocks that tensors lie in, or within one.
    """

    size: int
    piece: Callable[[slice], Piece]
    least: int = 1
    adds: bool = False
    grain: Grain = Grain()

    def parts(self, step: int) -> Iterator[slice]:
        """The parts, each of ``step`` or more, but the last of a block may be shorter."""
        unit = self.grain.unit
        if step < unit:
            for start in range(0, self.size, unit):
                for part in parts(min(unit, self.size - start), step):
                    yield slice(start + part.start, start + part.stop)
        else:
            for part in parts(-(-self.size // unit), -(-step // unit)):
                yield slice(part.start * unit, min(part.stop * unit, self.size))

    def ends(self) -> tuple[slice, slice]:
        """A first and a last part."""
        unit = self.grain.unit
        return slice(0, min(unit, self.size)), slice((self.size - 1) // unit * unit, self.size)


def in_batches(call: Call, whole: Callable[[Call], Run]) -> Run | None:
    """What runs a call in pieces; None when it is small, or cannot be divided. ``whole`` makes a runner of a piece."""
    if not (call.operator.batch or call.operator.cuts) or widest(call) <= LARGE_BYTES:
        return None
    if not call.exact:
        return when_known(call, whole) if call.unknown_values else None
    for cut in ways(call):
        largest = widest(call, cut.piece(slice(0, cut.size)).places)
        step = max(1 if cut.grain.fine else cut.grain.unit, cut.least, cut.size * PART_BYTES // max(largest, 1))
        if largest > LARGE_BYTES and cut.size >= 2 * step:
            return summed(call, cut, step, whole) if cut.adds else divided(call, cut, step, whole)
    return None


def when_known(call: Call, whole: Callable[[Call], Run]) -> Run:
    """The same once the values are there that shapes depend on, where the outputs are described as these say."""
    described = tuple(spec.shape for bound in call.outputs.values() for spec in bound.specs)

    def run(*arrays: Any) -> Any:
        full = call.with_values({name: arrays[place] for name, place in call.unknown_values})
        try:
            runner = in_batches(full, whole) if full.exact and full.shapes_out == described else None
        except Refused:
            runner = None
        if runner is None:
            return whole(call)(*arrays)
        runner(*arrays)
        return described

    return run


def ways(call: Call) -> Iterator[Cut]:
    """How a call may be divided, the best way first."""
    if call.operator.batch:
        names = [name for name in call.operator.batch if call.has(name)]
        axes = [formats.axes_of(spec.format, len(spec.shape)) or "N" for spec in _specs(call, (*names, *call.outputs))]
        if all(letters[0] == "N" for letters in axes):
            yield from evenly(call, dict.fromkeys((*names, *call.outputs), 0))
    if call.operator.cuts is not None:
        yield from call.operator.cuts(call)


def evenly(call: Call, axes: Mapping[str, int], **options: Any) -> Iterable[Cut]:
    """The cut that divides these tensors along an axis each; none where they cannot be, or are of different lengths there.

    An output goes under its own name; one that has an input's name is divided as that input is.
    """
    given = {name: axis for name, axis in axes.items() if call.has(name) or name in call.outputs}
    specs = [(spec, axis) for name, axis in given.items() for spec in _specs(call, [name])]
    grain = grain_along(specs)
    sizes = {spec.shape[axis] for spec, axis in specs if grain}
    if grain is None or len(sizes) != 1:
        return ()

    def piece(part: slice) -> Piece:
        return shorter(call, {name: {axis: part} for name, axis in given.items()})

    return (Cut(sizes.pop(), piece, grain=grain, **options),)


def shorter(call: Call, parts: Mapping[str, Mapping[int, slice]], attrs: Mapping[str, Any] | None = None) -> Piece:
    """The piece with a slice along some axes of some tensors, and with other attributes."""
    places: dict[int, Index] = {}
    soc = settings().soc

    def cut(name: str, bound: Bound, first: int) -> Bound:
        if name not in parts:
            return bound
        specs = []
        for position, spec in zip(bound.positions, bound.specs, strict=True):
            if spec.absent:
                specs.append(spec)
                continue
            each = {axis % len(spec.shape): part for axis, part in parts[name].items()}
            shorter_one, places[first + position] = slices.part_of(spec, each, soc)
            specs.append(shorter_one)
        return bound._replace(specs=tuple(specs))

    inputs = {name: cut(name, bound, 0) for name, bound in call.inputs.items()}
    outputs = {name: cut(name, bound, call.inputs_sent) for name, bound in call.outputs.items()}
    return Piece(replace(call, inputs=inputs, outputs=outputs, attrs={**call.attrs, **(attrs or {})}), places)


def sized(cut: Cut, name: str) -> Cut:
    """The cut whose pieces tell their only output's shape where this attribute or value input does."""

    def piece(part: slice) -> Piece:
        return told_size(cut.piece(part), name)

    return cut._replace(piece=piece)


def told_size(piece: Piece, name: str) -> Piece:
    """The piece with its only output's shape in this attribute or value input."""
    (bound,) = piece.call.outputs.values()
    shape = list(bound.specs[0].shape)
    if name in piece.call.attrs:
        return piece._replace(call=replace(piece.call, attrs={**piece.call.attrs, name: shape}))
    value = np.array(shape, piece.call.values[name].dtype)
    (position,) = piece.call.inputs[name].positions
    return Piece(piece.call.with_values({name: value}), piece.places, {**piece.values, position: value})


def widest(call: Call, places: Iterable[int] | None = None) -> int:
    """The bytes that the largest tensor or list, of those at some positions or of all, takes while it is computed with."""
    first = call.inputs_sent
    bounds = [*((0, bound) for bound in call.inputs.values()), *((first, bound) for bound in call.outputs.values())]

    def size(start: int, bound: Bound) -> int:
        specs = [
            spec for position, spec in zip(bound.positions, bound.specs, strict=True)
            if not spec.absent and dtypes.has_arrays(spec.dtype) and (places is None or start + position in places)
        ]  # fmt: skip
        return sum(taking(spec) * precision.compute_dtype(spec.dtype).itemsize for spec in specs)

    return max((size(start, bound) for start, bound in bounds), default=0)


def taking(spec: TensorSpec) -> int:
    """For how many elements a tensor takes memory while it is unpacked."""
    return prod(spec.shape) if formats.is_plain(spec) else prod(formats.storage_shape(spec, settings().soc))


def _specs(call: Call, names: Iterable[str]) -> list[TensorSpec]:
    """The descriptors of inputs and outputs of these names."""
    found = [bounds[name] for name in names for bounds in (call.inputs, call.outputs) if name in bounds]
    return [spec for bound in found for spec in bound.specs if not spec.absent]


def grain_along(specs: Iterable[tuple[TensorSpec, int]]) -> Grain | None:
    """The blocks that these tensors are cut by, each along its axis; None where one cannot be cut so."""
    soc, found = settings().soc, set()
    for spec, axis in specs:
        rank = len(spec.shape)
        own = slices.axes(spec, soc).get(axis % rank) if -rank <= axis < rank else None
        if own is None:
            return None
        found |= {Grain(own.unit, own.inner is not None)} if own.unit > 1 else set()
    return Grain(lcm(*(one.unit for one in found)), len(found) < 2 and all(one.fine for one in found))


def divides(call: Call, axes: Mapping[str, int]) -> bool:
    """Whether these inputs and outputs can be cut anywhere along an axis each."""
    grain = grain_along((spec, axis) for name, axis in axes.items() for spec in _specs(call, [name]))
    return grain is not None and grain.unit == 1


class Runners:
    """What runs pieces: a runner for each kind, made when it is needed."""

    def __init__(self, whole: Callable[[Call], Run]) -> None:
        self.whole = whole
        self.made: dict[Any, Run] = {}

    def of(self, call: Call) -> Run:
        """The runner of a piece; those of equal shapes and attributes share one."""
        bounds = (*call.inputs.values(), *call.outputs.values())
        shapes = tuple((spec.shape, spec.storage_shape) for bound in bounds for spec in bound.specs)
        key = shapes, repr(sorted(call.attrs.items())), tuple((name, one.tobytes()) for name, one in call.values.items())
        if key not in self.made:
            self.made[key] = in_batches(call, self.whole) or self.whole(call)
        return self.made[key]


def divided(call: Call, cut: Cut, step: int, whole: Callable[[Call], Run]) -> Run:
    """Runs pieces one after the other; all at once where one would read what another writes."""
    runners = Runners(whole)
    ends = [cut.piece(part).places for part in cut.ends()]

    def run(*arrays: Any) -> Any:
        if _overlap(arrays, call.inputs_sent, ends):
            return whole(call)(*arrays)
        for part in cut.parts(step):
            piece = cut.piece(part)
            runners.of(piece.call)(*taken(arrays, piece))
        return None

    return run


def summed(call: Call, cut: Cut, step: int, whole: Callable[[Call], Run]) -> Run:
    """Runs pieces, adds up what they give of undivided outputs in float64 (integers in their type), and rounds once."""
    runners, current, first = Runners(whole), settings(), call.inputs_sent
    divided_ones = cut.piece(cut.ends()[0]).places.keys()
    specs = [spec for bound in call.outputs.values() for spec in bound.specs]
    wide = {
        place: spec.dtype if spec.dtype in dtypes.INTEGERS else dtypes.DOUBLE
        for place, spec in enumerate(specs) if first + place not in divided_ones
    }  # fmt: skip

    def run(*arrays: Any) -> Any:
        if _overlap(arrays, first):
            return whole(call)(*arrays)
        totals = {place: np.zeros(specs[place].shape, dtypes.numpy_dtype(code)) for place, code in wide.items()}
        for part in cut.parts(step):
            piece = cut.piece(part)
            ready = taken(arrays, piece)
            for place, total in totals.items():
                ready[first + place] = np.empty_like(total)
            runners.of(with_outputs_of(piece.call, wide))(*ready)
            for place in totals:
                totals[place] += ready[first + place]
        for place, total in totals.items():
            out, spec = arrays[first + place], specs[place]
            plain = out if formats.is_plain(spec) else np.empty(spec.shape, out.dtype)
            precision.store(total, plain, spec.dtype, current.saturate)
            if plain is not out:
                formats.pack(plain, spec, out, current.soc)
        return None

    return run


def with_outputs_of(call: Call, codes: Mapping[int, int]) -> Call:
    """The call with plain outputs of other dtypes, by their places."""
    place, outputs = count(), {}
    for name, bound in call.outputs.items():
        wide = [codes.get(next(place)) for _ in bound.specs]
        specs = [
            spec if code is None else spec._replace(dtype=code, storage_format=-1, storage_shape=None)
            for code, spec in zip(wide, bound.specs, strict=True)
        ]
        outputs[name] = bound._replace(specs=tuple(specs))
    return replace(call, outputs=outputs)


def taken(arrays: Sequence[Any], piece: Piece) -> list[Any]:
    """The arrays as a piece sees them."""
    ready = list(arrays)
    for place, value in piece.values.items():
        ready[place] = value(arrays[place]) if callable(value) else value
    for place, index in piece.places.items():
        ready[place] = None if ready[place] is None else ready[place][index]
    first = piece.call.inputs_sent
    return ready[:first] + ready[first:][piece.outputs]


def parts(size: int, step: int) -> Iterator[slice]:
    """A length in nearly equal parts, each of ``step`` or more, of less than twice as many."""
    pieces = max(1, size // step)
    for place in range(pieces):
        yield slice(size * place // pieces, size * (place + 1) // pieces)


def _overlap(arrays: Sequence[Any], first: int, ends: Sequence[Mapping[int, Index]] = ({},)) -> bool:
    """Whether an output lies in an input's memory: then everything is read before anything is written.

    An output that is an input does no harm where each piece takes the same part of both, as the pieces at both ``ends`` do.
    """
    for at, out in enumerate(arrays[first:], first):
        for place, one in enumerate(arrays[:first]):
            if one is None or out is None or not np.may_share_memory(one, out):
                continue
            if not (_same(one, out) and all(at in places and places[at] == places.get(place) for places in ends)):
                return True
    return False


def _same(one: Array, other: Array) -> bool:
    """Whether two arrays are one."""
    return (one.ctypes.data, one.shape, one.strides, one.dtype) == (other.ctypes.data, other.shape, other.strides, other.dtype)
