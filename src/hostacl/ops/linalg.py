"""Linear algebra of batches of matrices: inverse, determinant, triangular systems, QR, singular values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]

BLOCK = 32
"""Rows of a triangle that are solved one by one, before a product takes them off the rows below."""


def matrices(call: Call, name: str = "x") -> Shape:
    """The shape of an input of 2 dims or more."""
    return rank_is(call, name, *range(2, 9))


def square(call: Call, name: str = "x") -> Shape:
    """The shape of square matrices."""
    shape = matrices(call, name)
    equal_dims(call, shape[-1], shape[-2], f"{name} = {dims.text(shape)}: the last two dims must be equal.")
    return shape


def wide(x: Array) -> Array:
    """Matrices in double precision."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def check_invertible(op: str, x: Array) -> None:
    """Fails for a matrix without an inverse, or with a NaN or infinity."""
    finite = np.asarray(np.isfinite(x).all(axis=(-2, -1)))
    sign, _ = np.linalg.slogdet(np.where(finite[..., None, None], x, 0))
    wrong = (np.asarray(sign) == 0) | ~finite if x.size else np.zeros(x.shape[:-2], bool)
    if wrong.any():
        raise Failed("HA519", f"{op}: {which(wrong, x)} has no inverse (it is singular or not finite).")


def which(wrong: Array, x: Array) -> str:
    """The first of the matrices that is wrong, in words."""
    return f"matrix {[int(one) for one in np.argwhere(wrong)[0]]}" if x.ndim > 2 else "the matrix"


def adjoint_of(x: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conj(np.swapaxes(x, -1, -2))


@kernel("MatrixInverse", shape=square)
def matrix_inverse(x: Array, adjoint: bool) -> Array:
    """The inverse of each matrix, with adjoint that of its conjugate transpose; in double precision. A singular one fails."""
    check_invertible("MatrixInverse", wide(x))
    inverse = np.linalg.inv(wide(x))
    return adjoint_of(inverse) if adjoint else inverse


def determinant_shape(call: Call) -> Shape:
    """The leading dims."""
    return square(call)[:-2]


@kernel("MatrixDeterminant", shape=determinant_shape)
def matrix_determinant(x: Array) -> Array:
    """The determinant of each matrix, 1 for an empty one; in double precision."""
    return np.linalg.det(wide(x))


@kernel("LogMatrixDeterminant", shape=lambda call: [determinant_shape(call)] * 2)
def log_matrix_determinant(x: Array) -> tuple[Array, Array]:
    """The sign (of complex matrices: the phase) of each determinant, and the logarithm of its size: 0 and -Inf for 0."""
    sign, size = np.linalg.slogdet(wide(x))
    return np.asarray(sign), np.asarray(size)


def solve_shape(call: Call) -> Shape:
    """The shape of rhs, whose rows are those of the matrix; the leading dims are equal."""
    matrix, rhs = square(call, "matrix"), matrices(call, "rhs")
    text = f"matrix = {dims.text(matrix)}, rhs = {dims.text(rhs)}: leading dims and rows must be equal."
    if len(matrix) != len(rhs):
        raise call.refuse("HA504", text)
    for one, other in zip(matrix[:-1], rhs[:-1], strict=True):
        equal_dims(call, one, other, text)
    return rhs


@kernel("MatrixTriangularSolve", shape=solve_shape)
def matrix_triangular_solve(matrix: Array, rhs: Array, lower: bool, adjoint: bool) -> Array:
    """What the triangle of the matrix (lower or upper; the rest is not read) times it gives rhs; adjoint: conjugate transposed.

    By substitution in double precision, so that a NaN reaches what depends on it only; a 0 on the diagonal fails.
    """
    triangle = np.tril(wide(matrix)) if lower else np.triu(wide(matrix))
    triangle = adjoint_of(triangle) if adjoint else triangle
    if (np.diagonal(triangle, axis1=-2, axis2=-1) == 0).any():
        raise Failed("HA519", "MatrixTriangularSolve: a diagonal element of matrix is 0; it has no inverse.")
    if lower != adjoint:
        return substituted(triangle, wide(rhs))
    return substituted(triangle[..., ::-1, ::-1], wide(rhs)[..., ::-1, :])[..., ::-1, :]


def substituted(triangle: Array, rhs: Array) -> Array:
    """The solution for lower triangles: each row less what the rows before it give, which whole blocks take off at once."""
    rows = triangle.shape[-1]
    result = rhs.copy()
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        for row in range(first, last):
            done = triangle[..., row : row + 1, first:row] @ result[..., first:row, :]
            result[..., row, :] = (result[..., row, :] - done[..., 0, :]) / triangle[..., row, row, None]
        result[..., last:, :] -= triangle[..., last:, first:last] @ result[..., first:last, :]
    return result


def smaller(one: Dim, other: Dim) -> Dim:
    """The smaller of two dims."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    highs = [high for high in (dims.bounds(one)[1], dims.bounds(other)[1]) if high is not None]
    return dims.Between(min(dims.bounds(one)[0], dims.bounds(other)[0]), min(highs, default=None))


def qr_shape(call: Call) -> list[Shape]:
    """q (…, m, k) and r (…, k, n); k is m with full_matrices, else the smaller of m and n."""
    *lead, m, n = matrices(call)
    k = m if call.attr("full_matrices") else smaller(m, n)
    return [(*lead, m, k), (*lead, k, n)]


@kernel("Qr", shape=qr_shape)
def qr(x: Array, full_matrices: bool) -> tuple[Array, Array]:
    """Each matrix as q·r: q with orthonormal columns, r upper triangular; by Householder reflections, in double precision."""
    q, r = np.linalg.qr(wide(x), mode="complete" if full_matrices else "reduced")
    return q, r


def svd_shape(call: Call) -> list[Shape]:
    """sigma (…, k), u (…, m, k) and v (…, n, k), k the smaller of m and n; square u and v with full_matrices."""
    *lead, m, n = matrices(call)
    k = smaller(m, n)
    full = call.attr("full_matrices")
    if not call.attr("compute_uv"):
        return [(*lead, k), described(call, "u"), described(call, "v")]
    return [(*lead, k), (*lead, m, m if full else k), (*lead, n, n if full else k)]


def described(call: Call, name: str) -> Shape:
    """An output that is not computed, in the shape that it is described with."""
    specs = call.outputs[name].specs
    return specs[0].shape if specs and not specs[0].absent else (0,)


@kernel("Svd", shape=svd_shape)
def svd(x: Array, compute_uv: bool, full_matrices: bool) -> tuple[Any, ...]:
    """Each matrix as u·diag(sigma)·vᴴ, sigma falling; in double precision. Without compute_uv u and v are not written.

    A matrix with a NaN or infinity fails.
    """
    wrong = np.asarray(~np.isfinite(x).all(axis=(-2, -1)))
    if wrong.any():
        raise Failed("HA519", f"Svd: {which(wrong, x)} is not finite; it has no singular values.")
    if not compute_uv:
        return np.linalg.svd(wide(x), compute_uv=False), None, None
    u, sigma, vh = np.linalg.svd(wide(x), full_matrices=full_matrices)
    return sigma, u, adjoint_of(vh)
