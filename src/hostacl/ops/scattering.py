"""Scatters by native loops on tensors as they lie in memory: halves are widened on the way, results go into the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import accumulate, precision
from hostacl.ops.accumulate import Combine
from hostacl.tensors import dtypes

Array = NDArray[Any]
Loops = Mapping[Combine, Callable[..., bool]]

ROWS: Loops = {
    accumulate.add: _kernels.scatter_add, accumulate.subtract: _kernels.scatter_subtract,
    accumulate.multiply: _kernels.scatter_multiply, accumulate.maximum: _kernels.scatter_max,
    accumulate.minimum: _kernels.scatter_min, accumulate.update: _kernels.scatter_assign,
}  # fmt: skip
"""The loops over rows that give the same bits as the ways to combine."""

ELEMENTS: Loops = {
    accumulate.add: _kernels.elements_add, accumulate.multiply: _kernels.elements_multiply,
    accumulate.update: _kernels.elements_assign,
}  # fmt: skip
"""The same over elements along an axis."""


class Way(NamedTuple):
    """How an operator scatters: the arguments of the loop, what names a bad index, and the kernel that adds in float64."""

    arguments: Callable[[Array, Array, Array, Array], tuple[Any, ...]]
    check: Callable[[Array, Array], Any]
    kernel: Callable[[Array, Array, Array], Array]


def scatter_into(loops: Loops, combine: Combine, code: int, way: Way) -> Callable[..., None] | None:
    """What scatters updates of a dtype into an output: (var, indices, updates, out); None where no loop does."""
    if combine not in loops or code not in (dtypes.PLAIN if combine is accumulate.update else dtypes.FLOATS | dtypes.INTEGERS):
        return None
    loop, saturate = loops[combine], settings().saturate
    wide = wider(combine, code, saturate)
    sums = combine in (accumulate.add, accumulate.subtract) and code in {*dtypes.HALVES, dtypes.FLOAT}
    limit = () if not sums else (accumulate.MANY, True) if loops is ROWS else (accumulate.MANY,)

    def run(var: Array, indices: Array, updates: Array, out: Array) -> None:
        room = out if wide is None else np.empty(out.shape, wide)
        try:
            done = loop(*way.arguments(var, indices, updates, room), *limit)
        except IndexError:
            way.check(var, indices)
            raise
        if not done:
            room = way.kernel(precision.widen(var, code), indices, precision.widen(updates, code))
        if room is not out:
            precision.store(room, out, code, saturate)

    return run


def wider(combine: Combine, code: int, saturate: bool) -> type[np.floating[Any]] | None:
    """What a dtype is combined into, where that is not itself."""
    if combine is accumulate.update or code not in {*dtypes.HALVES, dtypes.FLOAT}:
        return None
    if combine is accumulate.multiply:
        return np.float64
    return np.float32 if saturate and code in dtypes.HALVES else None
