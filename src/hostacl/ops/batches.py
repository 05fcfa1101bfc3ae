"""Running a large call in pieces, so that widened inputs and results stay small: of its batch, or as the operator is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.errors import Refused
from hostacl.ops import precision
from hostacl.ops.binding import Bound
from hostacl.ops.call import Call
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]

LARGE_BYTES = 64 << 20
"""From here on a tensor is worked on in pieces."""

PART_BYTES = 32 << 20
"""What the largest tensor of a piece may take, one step of its cut at least."""

Run = Callable[..., Any]

Index = tuple[slice, ...]


class Piece(NamedTuple):
    """A part of a call: the call on it; by position among all arrays, which part of one it works on, or what in its place."""

    call: Call
    places: Mapping[int, Index]
    values: Mapping[int, Array] = {}


class Cut(NamedTuple):
    """A way to divide a call: the length of what is divided, and the piece of a part of it.

    ``least``: pieces are no shorter. ``adds``: of outputs that are not divided each piece gives a part of the sum.
    """

    size: int
    piece: Callable[[slice], Piece]
    least: int = 1
    adds: bool = False


def in_batches(call: Call, whole: Callable[[Call], Run]) -> Run | None:
    """What runs a call in pieces; None when it is small, or cannot be divided. ``whole`` makes a runner of a piece."""
    if not (call.operator.batch or call.operator.cuts) or widest(call) <= LARGE_BYTES:
        return None
    if not call.exact:
        return when_known(call, whole) if call.unknown_values else None
    for cut in ways(call):
        largest = widest(call, cut.piece(slice(0, cut.size)).places)
        step = max(1, cut.least, cut.size * PART_BYTES // max(largest, 1))
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
    if not all(_divides(spec) and -len(spec.shape) <= axis < len(spec.shape) for spec, axis in specs):
        return ()
    sizes = {spec.shape[axis] for spec, axis in specs}
    if len(sizes) != 1:
        return ()

    def piece(part: slice) -> Piece:
        return shorter(call, {name: {axis: part} for name, axis in given.items()})

    return (Cut(sizes.pop(), piece, **options),)


def shorter(call: Call, parts: Mapping[str, Mapping[int, slice]], attrs: Mapping[str, Any] | None = None) -> Piece:
    """The piece with a slice along some axes of some tensors, and with other attributes."""
    places: dict[int, Index] = {}

    def cut(name: str, bound: Bound, first: int) -> Bound:
        if name not in parts:
            return bound
        specs = []
        for position, spec in zip(bound.positions, bound.specs, strict=True):
            if spec.absent:
                specs.append(spec)
                continue
            each = {axis % len(spec.shape): part for axis, part in parts[name].items()}
            places[first + position] = tuple(each.get(axis, slice(None)) for axis in range(len(spec.shape)))
            shape = tuple(len(range(*each[axis].indices(dim))) if axis in each else dim for axis, dim in enumerate(spec.shape))
            specs.append(spec._replace(shape=shape, storage_shape=None))
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
    """The bytes that the largest tensor, of those at some positions or of all, takes while it is computed with."""
    first = call.inputs_sent
    bounds = [*((0, bound) for bound in call.inputs.values()), *((first, bound) for bound in call.outputs.values())]
    specs = (
        spec
        for start, bound in bounds
        for position, spec in zip(bound.positions, bound.specs, strict=True)
        if not spec.absent and dtypes.has_arrays(spec.dtype) and (places is None or start + position in places)
    )
    return max((prod(spec.shape) * precision.compute_dtype(spec.dtype).itemsize for spec in specs), default=0)


def _specs(call: Call, names: Iterable[str]) -> list[TensorSpec]:
    """The descriptors of inputs and outputs of these names."""
    found = [bounds[name] for name in names for bounds in (call.inputs, call.outputs) if name in bounds]
    return [spec for bound in found for spec in bound.specs if not spec.absent]


def _divides(spec: TensorSpec) -> bool:
    """Whether a tensor can be cut: plain, whole bytes."""
    return spec.dtype not in dtypes.PACKED and formats.is_plain(spec)


def plain(call: Call, *names: str) -> bool:
    """Whether all these inputs and outputs can be cut."""
    return all(map(_divides, _specs(call, names)))


class Runners:
    """What runs pieces: a runner for each kind, made when it is needed."""

    def __init__(self, whole: Callable[[Call], Run]) -> None:
        self.whole = whole
        self.made: dict[Any, Run] = {}

    def of(self, call: Call) -> Run:
        """The runner of a piece; those of equal shapes and attributes share one."""
        bounds = (*call.inputs.values(), *call.outputs.values())
        shapes = tuple(spec.shape for bound in bounds for spec in bound.specs)
        key = shapes, repr(sorted(call.attrs.items())), tuple((name, one.tobytes()) for name, one in call.values.items())
        if key not in self.made:
            self.made[key] = in_batches(call, self.whole) or self.whole(call)
        return self.made[key]


def divided(call: Call, cut: Cut, step: int, whole: Callable[[Call], Run]) -> Run:
    """Runs pieces one after the other; all at once where an output lies in an input's memory."""
    runners = Runners(whole)

    def run(*arrays: Any) -> Any:
        if _overlap(arrays, call.inputs_sent):
            return whole(call)(*arrays)
        for part in parts(cut.size, step):
            piece = cut.piece(part)
            runners.of(piece.call)(*taken(arrays, piece))
        return None

    return run


def summed(call: Call, cut: Cut, step: int, whole: Callable[[Call], Run]) -> Run:
    """Runs pieces, adds up what they give of undivided outputs in float64 (integers in their type), and rounds once."""
    runners, saturate, first = Runners(whole), settings().saturate, call.inputs_sent
    divided_ones = cut.piece(slice(0, 1)).places.keys()
    specs = [spec for bound in call.outputs.values() for spec in bound.specs]
    wide = {
        place: spec.dtype if spec.dtype in dtypes.INTEGERS else dtypes.DOUBLE
        for place, spec in enumerate(specs) if first + place not in divided_ones
    }  # fmt: skip

    def run(*arrays: Any) -> Any:
        if _overlap(arrays, first):
            return whole(call)(*arrays)
        totals = {place: np.zeros(specs[place].shape, dtypes.numpy_dtype(code)) for place, code in wide.items()}
        for part in parts(cut.size, step):
            piece = cut.piece(part)
            ready = taken(arrays, piece)
            for place, total in totals.items():
                ready[first + place] = np.empty_like(total)
            runners.of(with_outputs_of(piece.call, wide))(*ready)
            for place in totals:
                totals[place] += ready[first + place]
        for place, total in totals.items():
            precision.store(total, arrays[first + place], specs[place].dtype, saturate)
        return None

    return run


def with_outputs_of(call: Call, codes: Mapping[int, int]) -> Call:
    """The call with outputs of other dtypes, by their places."""
    place, outputs = count(), {}
    for name, bound in call.outputs.items():
        specs = [spec._replace(dtype=codes.get(next(place), spec.dtype)) for spec in bound.specs]
        outputs[name] = bound._replace(specs=tuple(specs))
    return replace(call, outputs=outputs)


def taken(arrays: Sequence[Any], piece: Piece) -> list[Any]:
    """The arrays as a piece sees them."""
    ready = [piece.values.get(place, array) for place, array in enumerate(arrays)]
    return [
        array if array is None or place not in piece.places else array[piece.places[place]] for place, array in enumerate(ready)
    ]


def parts(size: int, step: int) -> Iterator[slice]:
    """A length in nearly equal parts, each of ``step`` or more, of less than twice as many."""
    pieces = max(1, size // step)
    for place in range(pieces):
        yield slice(size * place // pieces, size * (place + 1) // pieces)


def _overlap(arrays: Sequence[Any], first: int) -> bool:
    """Whether an output lies in an input's memory: then everything is read before anything is written."""
    inputs = [one for one in arrays[:first] if one is not None]
    return any(np.may_share_memory(one, out) for out in arrays[first:] if out is not None for one in inputs)
