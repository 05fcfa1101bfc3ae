"""Copies between layouts against NumPy's own."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hostacl import _kernels

Array = NDArray[Any]
SIZES = [np.dtype(name) for name in ("u1", "u2", "u4", "u8", "c16")]
CASES = [((), ()), ((7,), (0,)), ((33, 65), (1, 0)), ((64, 128), (1, 0)), ((2, 70, 3, 5), (0, 2, 3, 1)),
         ((2, 3, 5, 70), (0, 3, 1, 2)),
         ((3, 4, 5, 6, 7), (4, 2, 0, 3, 1)), ((0, 4), (1, 0)), ((1, 9, 1), (2, 0, 1)), ((1100, 3), (1, 0)), ((3, 2100), (1, 0)),
         ((300, 257), (-1, -2)), ((2, 16, 40, 40), (0, 2, 1, 3))]


def numbered(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", SIZES, ids=str)
@pytest.mark.parametrize(("shape", "perm"), CASES)
def test_transposes(shape: tuple[int, ...], perm: tuple[int, ...], dtype: Any) -> None:
    x = numbered(shape, dtype)
    want = x.transpose(perm)
    out = np.zeros(want.shape, dtype)
    _kernels.copy(x, out, perm)
    np.testing.assert_array_equal(out, want)
    back = np.zeros(shape, dtype)
    _kernels.copy(out.transpose(np.argsort(np.mod(perm, max(len(shape), 1)))), back)
    np.testing.assert_array_equal(back, x)


def test_block_layouts() -> None:
    x = numbered((2, 32, 5, 7), np.float16)
    five = np.zeros((2, 2, 5, 7, 16), np.float16)
    _kernels.copy(x.reshape(2, 2, 16, 5, 7), five, (0, 1, 3, 4, 2))
    assert five[1, 1, 3, 6, 9] == x[1, 25, 3, 6]
    matrix = numbered((48, 64), np.float16)
    nz = np.zeros((4, 3, 16, 16), np.float16)
    _kernels.copy(matrix.reshape(3, 16, 4, 16), nz, (2, 0, 1, 3))
    assert nz[2, 1, 5, 7] == matrix[21, 39]
    again = np.zeros_like(matrix)
    _kernels.copy(nz, again.reshape(3, 16, 4, 16), (1, 2, 0, 3))
    np.testing.assert_array_equal(again, matrix)


def test_negative_strides_and_gaps_and_overlap() -> None:
    x = numbered((20, 30), np.int32)
    memory = np.zeros((60, 20), np.int32)
    _kernels.copy(x[::-1].T, memory[::2][::-1])
    np.testing.assert_array_equal(memory[::2][::-1], x[::-1].T)
    assert not memory[1::2].any()
    square = numbered((40, 40), np.int16)
    want = square.T.copy()
    _kernels.copy(square, square, (1, 0))
    np.testing.assert_array_equal(square, want)
    line = np.arange(100, dtype=np.uint8)
    _kernels.copy(line[:-1], line[1:])
    np.testing.assert_array_equal(line[1:], np.arange(99))


@pytest.mark.usefixtures("two_threads")
def test_large_copies_on_threads() -> None:
    cases: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((1000, 1003), (1, 0)), ((8, 64, 30, 30), (0, 2, 3, 1)), ((64, 100, 8, 16), (0, 2, 1, 3)), ((3, 400_000), (1, 0))]
    for shape, perm in cases:
        x = numbered(shape, np.uint32)
        out = np.zeros(x.transpose(perm).shape, np.uint32)
        _kernels.copy(x, out, perm)
        np.testing.assert_array_equal(out, x.transpose(perm))


def test_refusals_name_the_argument() -> None:
    x = np.zeros((2, 3), np.float16)
    with pytest.raises(ValueError, match=r"copy\(\): perm = \(0, 0\); allowed: each of the axes 0 to 1 once"):
        _kernels.copy(x, x, (0, 0))
    with pytest.raises(ValueError, match=r"copy\(\): out has shape \(2, 3\); allowed: the shape of x, permuted"):
        _kernels.copy(x, x.copy(), (1, 0))
    with pytest.raises(TypeError, match=r"copy\(\): out has dtype float32"):
        _kernels.copy(x, np.zeros((2, 3), np.float32))
    with pytest.raises(TypeError, match=r"copy\(\): x has dtype \|S3"):
        _kernels.copy(np.zeros(2, "S3"), np.zeros(2, "S3"))
