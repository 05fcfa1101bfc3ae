"""Triangles and diagonals, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed


def kept(x: Any, holds: Any) -> Any:
    result = x.copy()
    for place in np.ndindex(x.shape):
        if not holds(*place[-2:]):
            result[place] = False if x.dtype == bool else 0
    return result


@shapes("Tril", "Triu")
def triangles(d: Dice) -> None:
    d.tensor("x", d.shape(2))
    d.attr("diagonal", d.int(-3, 3))


@oracle("Tril")
def tril(x: Any, diagonal: int) -> Any:
    return kept(x, lambda row, column: column - row <= diagonal)


@oracle("Triu")
def triu(x: Any, diagonal: int) -> Any:
    return kept(x, lambda row, column: column - row >= diagonal)


@shapes("MatrixBandPart")
def bands(d: Dice) -> None:
    d.tensor("x", d.shape(2))
    d.value("num_lower", np.array(d.int(-1, 3)))
    d.value("num_upper", np.array(d.int(-1, 3)))


@oracle("MatrixBandPart")
def matrix_band_part(x: Any, num_lower: Any, num_upper: Any) -> Any:
    low, high = int(np.ravel(num_lower)[0]), int(np.ravel(num_upper)[0])
    return kept(x, lambda row, column: (low < 0 or row - column <= low) and (high < 0 or column - row <= high))


@shapes("FillDiagonal")
def filling(d: Dice) -> None:
    if d.wants("8-d"):
        shape: tuple[int, ...] = (2,) * 8
    elif d.chance(0.3):
        shape = (d.int(1, 3),) * 3
    else:
        shape = d.shape(2, 2)
    d.tensor("x", shape)
    d.attr("fill_value", 0.0, 1.0, 3.0)
    d.attr("wrap", True)


@oracle("FillDiagonal")
def fill_diagonal(x: Any, fill_value: float, wrap: bool) -> Any:
    result = x.copy()
    value = int(fill_value) if x.dtype == object else fill_value
    for place in np.ndindex(x.shape):
        row = place[0] % (x.shape[1] + 1) if wrap and x.ndim == 2 and x.shape[1] else place[0]
        if all(other == row for other in place[1:]):
            result[place] = value
    return result


@shapes("Diag")
def diagonals(d: Dice) -> None:
    d.tensor("x", (2, 1, 2, 1) if d.wants("8-d") else d.shape(1, 2, long=False))


@shapes("DiagD")
def diagonals_d(d: Dice) -> None:
    shape = (2, 1, 2, 1) if d.wants("8-d") else d.shape(1, 2, long=False)
    d.tensor("x", shape)
    d.tensor("assist", shape + shape)


@oracle("Diag", "DiagD")
def diag(x: Any) -> Any:
    result = np.zeros(x.shape + x.shape, x.dtype)
    for place in np.ndindex(x.shape):
        result[place + place] = x[place]
    return result


@shapes("DiagPart", "DiagPartD")
def diagonal_parts(d: Dice) -> None:
    shape = (2, 1, 2, 1) if d.wants("8-d") else d.shape(1, 3, long=False)
    d.tensor("x", shape + shape)
    d.tensor("assist", shape + shape)


@oracle("DiagPart", "DiagPartD")
def diag_part(x: Any) -> Any:
    result = np.zeros(x.shape[: x.ndim // 2], x.dtype)
    for place in np.ndindex(result.shape):
        result[place] = x[place + place]
    return result


@shapes("Trace")
def tracing(d: Dice) -> None:
    d.tensor("x", d.shape(2, 2))
    code = d.dtype
    if code in dtypes.INTEGERS:
        code = dtypes.UINT64 if dtypes.numpy_dtype(code).kind == "u" else dtypes.INT64
    d.output("y", code)


@oracle("Trace")
def trace(x: Any, dice: Dice) -> Any:
    listed = [x[place, place] for place in range(min(x.shape))]
    total = np.array(sum(listed), x.dtype)
    if x.dtype == object:
        return total
    return summed(
        total,
        sum(float(finite(one)) for one in listed),
        4 + len(listed),
        53 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24,
    )


@shapes("MatrixDiag", "MatrixDiagD")
def matrix_diagonals(d: Dice) -> None:
    shape = d.shape(1, 7, long=False, grows=1)
    d.tensor("x", shape)
    d.tensor("assist", (*shape, shape[-1]))


@oracle("MatrixDiag", "MatrixDiagD")
def matrix_diag(x: Any) -> Any:
    result = np.zeros((*x.shape, x.shape[-1]), x.dtype)
    for place in np.ndindex(x.shape):
        result[(*place, place[-1])] = x[place]
    return result


@shapes("MatrixDiagPart", "MatrixDiagPartD", "MatrixSetDiag", "MatrixSetDiagD")
def matrix_parts(d: Dice) -> None:
    shape = d.shape(2)
    d.tensor("x", shape)
    d.tensor("diagonal", (*shape[:-2], min(shape[-2:])))
    d.tensor("assist", shape)


@oracle("MatrixDiagPart", "MatrixDiagPartD")
def matrix_diag_part(x: Any) -> Any:
    result = np.zeros((*x.shape[:-2], min(x.shape[-2:])), x.dtype)
    for place in np.ndindex(result.shape):
        result[place] = x[(*place, place[-1])]
    return result


@oracle("MatrixSetDiag", "MatrixSetDiagD")
def matrix_set_diag(x: Any, diagonal: Any) -> Any:
    result = x.copy()
    for place in np.ndindex(diagonal.shape):
        result[(*place, place[-1])] = diagonal[place]
    return result
