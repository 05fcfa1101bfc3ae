"""Products by an equation: forms and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

A, B = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(12, dtype=np.int32).reshape(3, 4)


def test_a_product():
    np.testing.assert_array_equal(run("Einsum", A, B, equation="ij,jk->ik", N=2), A.astype(np.int64) @ B)
    np.testing.assert_array_equal(run("Einsum", A, B, equation="ij, jk", N=2), A.astype(np.int64) @ B)


def test_a_diagonal_and_a_sum():
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(run("Einsum", square, equation="ii->i", N=1), [0, 4, 8])
    assert run("Einsum", square, equation="ij->", N=1) == 36


def test_sizes_that_are_not_known():
    call = bind("Einsum", [TensorSpec(3, (-1, 3)), TensorSpec(3, (3, -1))], equation="ij,jk->ik", N=2)
    assert call.infer()[0].shape == (-1, -1)


@pytest.mark.parametrize(
    ("text", "equation"),
    [
        ("each letter behind the arrow", "ij,jk->iz"),
        ("each letter behind the arrow", "ij,jk->ii"),
        ("allowed: letters", "...j,jk"),
        ("one letter for each of its dims", "i,jk->ik"),
        ("j is 3 in one input and 4 in another", "ij,kj->ik"),
    ],
)
def test_refusals(text, equation):
    with pytest.raises(Refused, match=text):
        bind("Einsum", [A, B], equation=equation, N=2)


def test_an_outer_product_takes_vectors():
    np.testing.assert_array_equal(run("Ger", np.ones(2, np.float32), np.arange(3, dtype=np.float32)), [[0, 1, 2]] * 2)
    with pytest.raises(Refused, match="HA516"):
        bind("Ger", [np.ones((2, 2), np.float32), np.ones(2, np.float32)])
