"""Foreach operators: lists of one and many, numbers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run, spec

F32 = np.float32
ONE, TWO = np.array([1, 2], F32), np.array([[3.0]], F32)


def specs(*arrays):
    return [spec(one) for one in arrays]


def test_each_tensor_of_a_list():
    first, second = run("ForeachAbs", -ONE, TWO, outputs=specs(ONE, TWO))
    assert (first.tolist(), second.tolist()) == ([1, 2], [[3]])


def test_a_list_of_one():
    assert run("ForeachExp", np.zeros(2, np.float16), outputs=[TensorSpec(dtypes.FLOAT16, (2,))]).tolist() == [1, 1]


def test_pairs_with_alpha():
    alpha = np.array([10], F32)
    first, second = run("ForeachAddList", ONE, TWO, ONE, TWO, alpha, outputs=specs(ONE, TWO))
    assert (first.tolist(), second.tolist()) == ([11, 22], [[33]])


def test_numbers():
    scalar = np.array(2, F32)
    first, second = run("ForeachPowScalar", ONE, TWO, scalar, outputs=specs(ONE, TWO))
    assert (first.tolist(), second.tolist()) == ([1, 4], [[9]])
    first, second = run("ForeachMulScalarList", ONE, TWO, np.array([2, 3], F32), outputs=specs(ONE, TWO))
    assert (first.tolist(), second.tolist()) == ([2, 4], [[9]])


def test_a_float_number_for_halves():
    result = run("ForeachAddScalar", np.ones(2, np.float16), np.array([0.5], F32), outputs=[TensorSpec(dtypes.FLOAT16, (2,))])
    assert result.tolist() == [1.5, 1.5]


def test_integers_divided_give_floats():
    x = np.array([3, 4], np.int32)
    assert run("ForeachDivScalar", x, np.array([2], np.int32), outputs=[TensorSpec(dtypes.FLOAT, (2,))]).tolist() == [1.5, 2]


def test_refusals():
    with pytest.raises(Refused, match=r"HA504.*x10 = \[2\], x20 = \[1,1\]"):
        bind("ForeachMulList", [ONE, TWO])
    with pytest.raises(Refused, match=r"HA504.*scalars = \[3\]; allowed: 2 elements"):
        bind("ForeachMulScalarList", [ONE, TWO, np.ones(3, F32)])
    with pytest.raises(Refused, match=r"HA511"):
        bind("ForeachSin", [ONE], [TensorSpec(dtypes.FLOAT, (3,))])
