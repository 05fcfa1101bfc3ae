"""How matrix products in groups are divided: by rows or columns, along an inner axis in groups, and pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.batches import Cut, Piece, evenly, grain_along, shorter
from hostacl.ops.binding import Bound
from hostacl.ops.call import Call

Array = NDArray[Any]

Cuts = Callable[[Call], Iterator[Cut]]


def with_groups(cut: Cut, check: Callable[[Array], Any], lengths: bool) -> Cut:
    """The cut along what group_list divides: each piece is told which groups lie in it, once the whole list is found good."""

    def piece(part: slice) -> Piece:
        found = cut.piece(part)
        (place,) = found.call.inputs["group_list"].positions

        def inside(groups: Array) -> Array:
            check(groups)
            ends = np.clip((np.cumsum(groups, dtype=np.int64) if lengths else groups) - part.start, 0, part.stop - part.start)
            return (np.diff(ends, prepend=0) if lengths else ends).astype(groups.dtype)

        return found._replace(values={**found.values, place: inside})

    return cut._replace(piece=piece)


def column_cuts(call: Call, columns: int, by_column: Sequence[str]) -> Iterator[Cut]:
    """By columns of all weights (axis ``columns``, from the end), of y, and of the inputs that have one element for each."""
    if all(spec.shape and spec.shape[-1] != 1 for name in by_column if call.has(name) for spec in call.inputs[name].specs):
        yield from evenly(call, {"weight": columns, "y": -1, **dict.fromkeys(by_column, -1)})


def pair_cuts(call: Call, joined: bool) -> Iterator[Cut]:
    """By pairs of x and weight, whose rows of y follow one another when they are ``joined``."""
    specs = call.inputs["x"].specs
    ends = [0, *np.cumsum([prod(spec.shape[:-1]) for spec in specs]).tolist()]
    if joined and ((grain := grain_along([(call.outputs["y"].specs[0], 0)])) is None or grain.unit > 1):
        return

    def one_of(bound: Bound, part: slice) -> Bound:
        if bound.decl.kind != "dynamic" or len(bound.specs) != len(specs):
            return bound
        return bound._replace(positions=bound.positions[part], specs=bound.specs[part])

    tables = [
        name for name, bound in call.inputs.items()
        if bound.decl.kind == "dynamic" and len(bound.specs) == 1 and len(bound.specs[0].shape) > 1
    ]  # fmt: skip

    def piece(part: slice) -> Piece:
        rows = {"y": {0: slice(ends[part.start], ends[part.stop])}} if joined else {}
        whole = shorter(call, {"x": {}} | rows | {name: {0: part} for name in tables})
        inputs = {name: one_of(bound, part) for name, bound in whole.call.inputs.items()}
        outputs = whole.call.outputs
        if not joined:
            (bound,) = outputs.values()
            outputs = {"y": bound._replace(positions=tuple(range(part.stop - part.start)), specs=bound.specs[part])}
        return Piece(replace(whole.call, inputs=inputs, outputs=outputs), whole.places, outputs=slice(None) if joined else part)

    yield Cut(len(specs), piece)
