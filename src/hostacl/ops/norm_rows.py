"""Normalisation over the last axes in native rows: float32 with careful statistics, halves widened row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.call import Call
from hostacl.tensors import dtypes

Array = NDArray[Any]

FEW = 1 << 20
"""Rows of more elements than this go the slow way: their sums are better made in float64."""


def fits(x: Sequence[int], start: int, parameters: Sequence[Sequence[int] | None]) -> bool:
    """Whether x has rows over the axes from ``start`` on, and parameters one element for each of a row (or are left out)."""
    width = prod(x[start:])
    return 0 < width <= FEW and prod(x) > 0 and all(one is None or prod(one) == width for one in parameters)


def normalised_rows(
    x: Array, start: int, epsilon: float, gamma: Array | None, beta: Array | None, centred: bool = True, inverse: bool = True
) -> tuple[Array, Array, Array]:
    """y with mean and 1/√(variance + epsilon) (not ``inverse``: the variance), for float32 x that fits.

    Not centred: x/√(mean of squares + epsilon); the mean means nothing.
    """
    y, kept = np.empty(x.shape, np.float32), (*x.shape[:start], *(1,) * (x.ndim - start))
    mean, second = write_rows(x, start, epsilon, gamma, beta, y, centred, inverse)
    return y, mean.reshape(kept), second.reshape(kept)


def write_rows(
    x: Array, start: int, epsilon: float, gamma: Array | None, beta: Array | None, y: Array, centred: bool, inverse: bool
) -> tuple[Array, Array]:
    """Writes y and gives the statistics of each row."""
    width = prod(x.shape[start:])
    rows = x.size // width
    mean, second = np.empty(rows, np.float32), np.empty(rows, np.float32)
    scale, offset = (None if one is None else np.array(one, np.float32).reshape(-1) for one in (gamma, beta))
    flat = np.ascontiguousarray(x).reshape(rows, width)
    _kernels.normalise_rows(flat, scale, offset, y.reshape(rows, width), epsilon, mean, second, centred, inverse)
    return mean, second


def direct_rows(
    start_of: Callable[[Call], int], outputs: Sequence[str], centred: bool = True, inverse: bool = True
) -> Callable[[Call], Callable[..., None] | None]:
    """The ``direct`` of such an operator with inputs x, gamma, beta: halves as they lie in memory, straight into y.

    ``outputs`` are y, the mean (where it is centred) and the second statistic by name.
    """

    def hook(call: Call) -> Callable[..., None] | None:
        x, y = call.spec("x"), call.outputs[outputs[0]].specs[0]
        given = {name: call.inputs[name].positions[0] for name in ("gamma", "beta") if call.has(name)}
        start = start_of(call)
        shapes = [call.shape(name) for name in given]
        if x.dtype not in dtypes.FLOATS - {dtypes.DOUBLE} or y.dtype != x.dtype or settings().saturate:
            return None
        if not fits(x.shape, start, shapes):  # type: ignore[arg-type]
            return None
        first, source = call.inputs_sent, call.inputs["x"].positions[0]
        places = [first + call.outputs[name].positions[0] if call.outputs[name].given else None for name in outputs]
        epsilon = float(call.attr("epsilon"))

        def run(*arrays: Array) -> None:
            each = {name: arrays[place] for name, place in given.items()}
            target = arrays[first]
            out = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            statistics = write_rows(
                arrays[source], start, epsilon, each.get("gamma"), each.get("beta"), out, centred, inverse
            )
            if out is not target:
                np.copyto(target, out)
            for place, one in zip(places[1:], statistics if centred else statistics[1:], strict=True):
                if place is not None:
                    _kernels.convert(one.reshape(arrays[place].shape), arrays[place])

        return run

    return hook
