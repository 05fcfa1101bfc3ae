"""Linear algebra: exact small cases, what fails and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

RNG = np.random.default_rng(4)


def test_inverse_and_its_adjoint():
    x = np.array([[2, 1j], [0, 4]], np.complex64)
    assert np.allclose(run("MatrixInverse", x), [[0.5, -0.125j], [0, 0.25]])
    assert np.allclose(run("MatrixInverse", x, adjoint=True), [[0.5, 0], [0.125j, 0.25]])
    assert run("MatrixInverse", np.zeros((3, 0, 0), np.float32)).shape == (3, 0, 0)


@pytest.mark.parametrize("bad", [[[1, 2], [2, 4]], [[1, np.nan], [0, 1]], [[0, 0], [0, 0]]])
def test_what_has_no_inverse_fails(bad):
    x = np.stack([np.eye(2), np.array(bad)]).astype(np.float64)
    with pytest.raises(Failed, match=r"matrix \[1\] has no inverse"):
        run("MatrixInverse", x)


def test_determinants():
    x = np.array([[[1, 2], [3, 4]], [[0, 1], [1, 0]], [[1, 1], [1, 1]]], np.float64)
    assert np.allclose(run("MatrixDeterminant", x), [-2, -1, 0])
    sign, size = run("LogMatrixDeterminant", x)
    assert sign.tolist() == [-1, -1, 0]
    assert np.allclose(size, [np.log(2), 0, -np.inf])
    assert run("MatrixDeterminant", np.zeros((2, 0, 0), np.float32)).tolist() == [1, 1]


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_only_one_triangle_is_read(lower, adjoint):
    matrix = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
    rhs = RNG.normal(size=(3, 2))
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    y = run("MatrixTriangularSolve", matrix, rhs, lower=lower, adjoint=adjoint)
    assert np.allclose((triangle.T if adjoint else triangle) @ y, rhs)
    with pytest.raises(Failed, match="diagonal"):
        run("MatrixTriangularSolve", matrix * (1 - np.eye(3)), rhs)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
@pytest.mark.parametrize("size", [1, 31, 32, 33, 70])
def test_substitution_in_blocks(lower, adjoint, size):
    matrix = RNG.normal(size=(2, size, size)) + 1j * RNG.normal(size=(2, size, size)) + 2 * size * np.eye(size)
    rhs = RNG.normal(size=(2, size, 3)).astype(np.complex128)
    y = run("MatrixTriangularSolve", matrix, rhs, lower=lower, adjoint=adjoint)
    want = [solve_triangular(one, b, lower=lower, trans="C" if adjoint else "N") for one, b in zip(matrix, rhs, strict=True)]
    np.testing.assert_allclose(y, want, rtol=1e-12, atol=1e-15)


def test_triangles_of_very_different_sizes_are_not_singular():
    matrix, rhs = np.array([[1e-200, 0, 0], [1, 1e-200, 0], [0, 1, 1]]), np.array([[1e-200], [1], [3]])
    assert run("MatrixTriangularSolve", matrix, rhs).tolist() == [[1], [0], [3]]
    matrix = np.array([[1e-30, 0, 0], [1, 1e-30, 0], [0, 1, 1e-30]], np.float32)
    y = run("MatrixTriangularSolve", matrix, np.array([[1e-30], [1], [1]], np.float32))
    np.testing.assert_allclose(y, [[1], [0], [1e30]], rtol=1e-6)


@pytest.mark.parametrize("lower", [True, False])
def test_a_nan_reaches_only_what_depends_on_it(lower):
    """Of the matrix its row and those solved after it, of rhs its own column."""
    order = list(range(5)) if lower else list(range(5))[::-1]
    for place, row in enumerate(order):
        matrix, rhs = np.eye(5) + 1, np.ones((5, 2))
        matrix[row, row] = np.nan
        y = run("MatrixTriangularSolve", matrix, rhs, lower=lower)
        assert np.isnan(y[order[place:]]).all()
        assert np.isfinite(y[order[:place]]).all()
        rhs[row, 1] = np.nan
        y = run("MatrixTriangularSolve", np.eye(5) + 1, rhs, lower=lower)
        assert np.isfinite(y[:, 0]).all()
        assert np.isnan(y[order[place:], 1]).all()
        assert np.isfinite(y[order[:place], 1]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("op", ["MatrixDeterminant", "LogMatrixDeterminant", "MatrixTriangularSolve", "Qr"])
def test_matrices_of_a_batch_do_not_meet(op, bad):
    x = RNG.normal(size=(3, 4, 4)) + 4 * np.eye(4)
    rhs = [np.ones((3, 4, 1))] if op == "MatrixTriangularSolve" else []
    before = run(op, x, *rhs)
    x[1, 2, 1] = bad
    after = run(op, x, *rhs)
    for one, other in zip(*(each if isinstance(each, list) else [each] for each in (before, after)), strict=True):
        np.testing.assert_array_equal(one[[0, 2]], other[[0, 2]])


@pytest.mark.parametrize("compute_uv", [True, False])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_singular_values_of_what_is_not_finite_fail_by_name(bad, compute_uv):
    x = np.zeros((2, 3, 4))
    x[1, 2, 3] = bad
    outputs = [Spec(11, (2, 3), 2), Spec(11, (2, 3, 3), 2), Spec(11, (2, 4, 3), 2)]
    with pytest.raises(Failed, match=r"Svd: matrix \[1\] is not finite"):
        run("Svd", x, compute_uv=compute_uv, outputs=outputs)


@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("full", [False, True])
def test_factors_give_the_matrix(shape, full):
    x = RNG.normal(size=shape)
    q, r = run("Qr", x, full_matrices=full)
    assert np.allclose(q @ r, x)
    sigma, u, v = run("Svd", x, full_matrices=full)
    k = min(shape[-2:])
    assert np.allclose((u[..., :k] * sigma[..., None, :]) @ np.swapaxes(v[..., :k], -1, -2), x)
    assert (np.diff(sigma) <= 0).all()


def test_svd_without_vectors():
    outputs = [Spec(11, (2,), 2), Spec(11, (1,), 2), Spec(11, (1,), 2)]
    sigma, u, _ = run("Svd", np.diag([1.0, 3.0]), compute_uv=False, outputs=outputs)
    assert np.allclose(sigma, [3, 1])
    assert u.tolist() == [77]


def test_what_does_not_fit_is_named():
    with pytest.raises(Refused, match="must be equal"):
        bind("MatrixInverse", [Spec(0, (2, 3), 2)])
    with pytest.raises(Refused, match="rhs"):
        bind("MatrixTriangularSolve", [Spec(0, (3, 3), 2), Spec(0, (2, 1), 2)])
    with pytest.raises(Refused, match="dims"):
        bind("Qr", [Spec(0, (3,), 2)])
    assert [one.shape for one in bind("Qr", [Spec(0, (-1, 4, 2), 2)]).infer()] == [(-1, 4, 2), (-1, 2, 2)]
