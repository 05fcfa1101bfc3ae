"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, precision, runtime
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, one_element, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def matrices(call: Call) -> Shape:
    """The shape of x, which has two dims or more."""
    x = call.shape("x")
    if len(x) < 2:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 2 to 8.")
    return x


def band(shape: tuple[int, ...], lower: int | None, upper: int | None) -> Array:
    """Which elements of a matrix lie from ``lower`` to ``upper`` of its diagonals (None: no bound)."""
    distance = np.arange(shape[-1]) - np.arange(shape[-2])[:, None]
    inside = np.ones(distance.shape, np.bool_)
    if lower is not None:
        inside &= distance >= lower
    if upper is not None:
        inside &= distance <= upper
    return inside


def kept(x: Array, inside: Array) -> Array:
    """x where the mask holds, else 0."""
    return np.where(inside, x, x.dtype.type(0))


def below(x: Array, diagonal: int) -> Array:
    """Which elements of a matrix lie on this diagonal or below it; one far outside is as good as the nearest beyond."""
    rows, columns = x.shape[-2:]
    return np.tri(rows, columns, min(max(diagonal, -rows - 1), columns), dtype=np.bool_)


@kernel("Tril", shape=matrices, dtypes={"x": (dtypes.BOOL,), "y": (dtypes.BOOL,)}, bits=True)
def tril(x: Array, diagonal: int) -> Array:
    """The lower triangle of each matrix (the last two axes) up to this diagonal, 0 above it."""
    return kept(x, below(x, diagonal))


@kernel("Triu", shape=matrices, dtypes={"x": (dtypes.BOOL,), "y": (dtypes.BOOL,)}, bits=True)
def triu(x: Array, diagonal: int) -> Array:
    """The upper triangle of each matrix (the last two axes) from this diagonal on, 0 below it."""
    return kept(x, ~below(x, diagonal - 1))


def banded(call: Call) -> Shape:
    """The shape of x, matrices; both numbers of diagonals are one element."""
    one_element(call, "num_lower", "num_upper")
    return matrices(call)


@kernel("MatrixBandPart", shape=banded, bits=True)
def matrix_band_part(x: Array, num_lower: Any, num_upper: Any) -> Array:
    """The band of each matrix from num_lower diagonals below the main one to num_upper above it, 0 elsewhere; negative: all."""
    lower, upper = runtime.one(num_lower), runtime.one(num_upper)
    return kept(x, band(x.shape, None if lower < 0 else -lower, None if upper < 0 else upper))


def with_diagonal(call: Call) -> Shape:
    """The shape of x; beyond two dims all are equal."""
    x = matrices(call)
    if len(x) > 2:
        for place, dim in enumerate(x):
            equal_dims(call, x[0], dim, f"x = {dims.text(x)}: dim {place} differs; of more than two dims all must be equal.")
    return x


@kernel("FillDiagonal", shape=with_diagonal)
def fill_diagonal(x: Array, fill_value: float, wrap: bool) -> Array:
    """x with fill_value on its main diagonal; wrap begins a new one below, after a gap of one row, in a matrix with more rows.

    The value goes to an integer type toward zero, the nearest bound where it is out of range.
    """
    value, result = np.empty(1, x.dtype), x.copy()
    precision.store(np.array([fill_value]), value, dtypes.FLOAT, False)
    step = sum(int(np.prod(x.shape[place + 1 :], dtype=np.int64)) for place in range(x.ndim))
    stop = x.shape[1] * x.shape[1] if x.ndim == 2 and not wrap else None
    result.reshape(-1)[:stop:step] = value if x.size else 0
    return result


def doubled(call: Call) -> Shape:
    """The dims of x twice."""
    x = call.shape("x")
    if not 1 <= len(x) <= 4:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 1 to 4.")
    return (*x, *x)


@kernel("Diag", "DiagD", shape=doubled, bits=True)
def diag(x: Array) -> Array:
    """Zeros with x on the diagonal: of rank 2r for rank r, y[i..., i...] = x[i...]. An assist matrix (DiagD) is not needed."""
    result = np.zeros((x.size, x.size), x.dtype)
    np.fill_diagonal(result, x.reshape(-1))
    return result.reshape(x.shape + x.shape)


def halved(call: Call) -> Shape:
    """The first half of the dims, which the other half repeats."""
    x = rank_is(call, "x", 2, 4, 6, 8)
    half = len(x) // 2
    told = f"x = {dims.text(x)}: its second half of dims must repeat the first."
    return tuple(equal_dims(call, one, other, told) for one, other in zip(x[:half], x[half:], strict=True))


@kernel("DiagPart", "DiagPartD", shape=halved, bits=True, reads={"x": Reads.PARTS})
def diag_part(x: Array) -> Array:
    """The diagonal of x: of rank r for rank 2r, y[i...] = x[i..., i...]. An assist matrix (DiagPartD) is not needed."""
    shape = x.shape[: x.ndim // 2]
    size = int(np.prod(shape, dtype=np.int64))
    return np.diagonal(x.reshape(size, size)).reshape(shape)


def traced(call: Call) -> int:
    """The dtype of a sum: 64 bits for integers."""
    code = call.dtype("x")
    if code not in dtypes.INTEGERS:
        return code
    return dtypes.UINT64 if dtypes.numpy_dtype(code).kind == "u" else dtypes.INT64


def scalar(call: Call) -> Shape:
    """One element, of a matrix."""
    rank_is(call, "x", 2)
    return ()


@kernel("Trace", shape=scalar, dtype={"y": traced})
def trace(x: Array) -> Array:
    """The sum of the main diagonal of a matrix; floats are added in float64, integers in 64 bits."""
    wide = {"f": np.float64, "c": np.complex128, "u": np.uint64}.get(x.dtype.kind, np.int64)
    return np.diagonal(x).sum(dtype=wide)


def diagonal_matrices(call: Call) -> Shape:
    """The last dim twice."""
    x = call.shape("x")
    if not 1 <= len(x) <= 7:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 1 to 7.")
    return (*x, x[-1])


@kernel("MatrixDiag", "MatrixDiagD", shape=diagonal_matrices, bits=True)
def matrix_diag(x: Array) -> Array:
    """Square matrices, 0 but for x on their diagonals. An assist matrix (MatrixDiagD) is not needed."""
    result = np.zeros((*x.shape, x.shape[-1]), x.dtype)
    np.einsum("...ii->...i", result)[...] = x
    return result


def diagonals(call: Call) -> Shape:
    """The smaller of the last two dims instead of them."""
    x = matrices(call)
    (low, high), (other, top) = dims.bounds(x[-1]), dims.bounds(x[-2])
    if dims.known(*x[-2:]):
        return (*x[:-2], min(low, other))
    highs = [one for one in (high, top) if one is not None]
    return (*x[:-2], dims.Between(min(low, other), min(highs) if highs else None))


@kernel("MatrixDiagPart", "MatrixDiagPartD", shape=diagonals, bits=True)
def matrix_diag_part(x: Array) -> Array:
    """The main diagonal of each matrix (the last two axes). An assist matrix (MatrixDiagPartD) is not needed."""
    return np.diagonal(x, axis1=-2, axis2=-1)


def set_shape(call: Call) -> Shape:
    """The shape of x; diagonal has that of its diagonals."""
    x, given, wanted = call.shape("x"), call.shape("diagonal"), diagonals(call)
    told = f"diagonal = {dims.text(given)}; the diagonals of x = {dims.text(x)} have {dims.text(wanted)}."
    if len(given) != len(wanted):
        raise call.refuse("HA504", told)
    for one, other in zip(given, wanted, strict=True):
        equal_dims(call, one, other, told)
    return x


@kernel("MatrixSetDiag", "MatrixSetDiagD", shape=set_shape, bits=True)
def matrix_set_diag(x: Array, diagonal: Array) -> Array:
    """x with these main diagonals of its matrices (the last two axes). An assist matrix (MatrixSetDiagD) is not needed."""
    result, size = x.copy(), min(x.shape[-2:])
    np.einsum("...ii->...i", result[..., :size, :size])[...] = diagonal
    return result
