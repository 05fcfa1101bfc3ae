"""Linear algebra: determinants by permutations, the others by what they must satisfy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, oracle, shapes

EPS = {dtypes.FLOAT16: 2e-2, dtypes.FLOAT: 2e-4, dtypes.COMPLEX64: 2e-4}


def tolerance(dice: Any) -> float:
    return EPS.get(dice.dtype, 1e-9)


def drawn(d: Dice, name: str, shape: tuple[int, ...], diagonal: float = 0.0) -> Any:
    array = d.rng.uniform(-1, 1, shape)
    if values.is_complex(d.dtype):
        array = array + 1j * d.rng.uniform(-1, 1, shape)
    if diagonal:
        array = array + diagonal * np.eye(shape[-1])
    return d.tensor(name, array.astype(dtypes.numpy_dtype(d.dtype)))


def lead(d: Dice) -> tuple[int, ...]:
    return d.shape(0, 2)[:2]


@shapes("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant")
def square_call(d: Dice) -> None:
    size = 1 if d.wants("one element") else d.int(1, 4)
    drawn(d, "x", (*lead(d), size, size), 3.0)
    if "adjoint" in d.generation.attrs:
        d.attr("adjoint", True)
    if d.prototype.op_type == "LogMatrixDeterminant":
        for name in ("sign", "y"):
            d.output(name, d.dtype)


@oracle("MatrixInverse")
def inverse(x: Any, adjoint: bool, dice: Dice) -> Any:
    matrix = np.conj(np.swapaxes(x, -1, -2)) if adjoint else x
    limit = tolerance(dice)
    return Any_(x.shape, lambda got: bool(np.allclose(matrix @ got, np.eye(x.shape[-1]), atol=limit)))


def leibniz(x: Any) -> Any:
    total: Any = 0
    for order in itertools.permutations(range(len(x))):
        swaps = sum(a > b for a, b in itertools.combinations(order, 2))
        total = total + (-1) ** swaps * np.prod([x[row, column] for row, column in enumerate(order)])
    return total


def determinants(x: Any) -> Any:
    result = np.zeros(x.shape[:-2], x.dtype)
    for place in np.ndindex(*x.shape[:-2]):
        result[place] = leibniz(x[place])
    return result


@oracle("MatrixDeterminant")
def determinant(x: Any, dice: Dice) -> Any:
    found = determinants(x)
    return Within(found, np.abs(found) * tolerance(dice))


@oracle("LogMatrixDeterminant")
def log_determinant(x: Any, dice: Dice) -> Any:
    found = determinants(x)
    size = np.abs(found)
    return Within(found / size, tolerance(dice)), Within(np.log(size), tolerance(dice) * (1 + np.abs(np.log(size))))


@shapes("MatrixTriangularSolve")
def solve_call(d: Dice) -> None:
    size, columns, front = (1, 1, lead(d)) if d.wants("one element") else (d.int(1, 4), d.int(1, 3), lead(d))
    drawn(d, "matrix", (*front, size, size), 3.0)
    drawn(d, "rhs", (*front, size, columns))
    d.attr("lower", False)
    d.attr("adjoint", True)


@oracle("MatrixTriangularSolve")
def solve(matrix: Any, rhs: Any, lower: bool, adjoint: bool, dice: Dice) -> Any:
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    triangle = np.conj(np.swapaxes(triangle, -1, -2)) if adjoint else triangle
    return Any_(rhs.shape, lambda got: bool(np.allclose(triangle @ got, rhs, atol=tolerance(dice))))


@shapes("Qr", "Svd")
def factors_call(d: Dice) -> None:
    one = d.wants("one element")
    drawn(d, "x", (*lead(d), 1 if one else d.int(1, 4), 1 if one else d.int(1, 4)))
    d.attr("full_matrices", True)
    for decl in d.generation.outputs:
        d.output(decl.name, d.dtype)


def orthonormal(got: Any, limit: float) -> bool:
    wide = got.astype(np.complex128 if got.dtype.kind == "c" else np.float64)
    product = np.conj(np.swapaxes(wide, -1, -2)) @ wide
    return bool(np.allclose(product, np.eye(got.shape[-1]), atol=limit))


@oracle("Qr")
def qr(x: Any, full_matrices: bool, dice: Dice) -> Any:
    *front, m, n = x.shape
    k, limit = m if full_matrices else min(m, n), tolerance(dice)

    def triangular(got: Any) -> bool:
        wide = got.astype(np.complex128 if got.dtype.kind == "c" else np.float64)
        gram = np.conj(np.swapaxes(x, -1, -2)) @ x
        same = np.allclose(np.conj(np.swapaxes(wide, -1, -2)) @ wide, gram, atol=10 * limit)
        return bool(np.allclose(np.tril(wide, -1), 0) and same)

    return Any_((*front, m, k), lambda got: orthonormal(got, limit)), Any_((*front, k, n), triangular)


@oracle("Svd")
def svd(x: Any, full_matrices: bool, dice: Dice) -> Any:
    *front, m, n = x.shape
    k, limit = min(m, n), tolerance(dice)
    sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(x @ np.conj(np.swapaxes(x, -1, -2)))[..., ::-1][..., :k], 0))
    return (
        Within(sigma, 30 * limit**0.5 if limit < 1e-6 else 30 * limit),
        Any_((*front, m, m if full_matrices else k), lambda got: orthonormal(got, limit)),
        Any_((*front, n, n if full_matrices else k), lambda got: orthonormal(got, limit)),
    )
