"""Comparisons, positions of the largest element, coordinates of what is not zero."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from tests.ops.calling import bind, run, values, wide

MEANING = {
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "Greater": lambda a, b: a > b,
    "GreaterEqual": lambda a, b: a >= b,
    "Less": lambda a, b: a < b,
    "LessEqual": lambda a, b: a <= b,
}
CASES = [(op, code) for op in MEANING for code in prototype(op).inputs[0].dtypes if code in dtypes.PLAIN]


@pytest.mark.parametrize(("op", "code"), CASES)
def test_comparison(op, code):
    x, y = values(code, (4, 1), low=-2, high=2), values(code, (50,), 1, -2, 2)
    y[:4] = x[:, 0]
    got = run(op, x, y)
    assert got.dtype == bool
    np.testing.assert_array_equal(got, MEANING[op](wide(x), wide(y)).astype(bool))


def test_comparison_of_large_integers_and_nan():
    np.testing.assert_array_equal(run("Greater", np.array([2**53 + 1]), np.array([2**53])), [True])
    nan = np.array([np.nan], np.float16)
    assert not run("Equal", nan, nan)[0]
    assert run("NotEqual", nan, nan)[0]


@pytest.mark.parametrize(
    "code", [code for code in prototype("ArgMaxV2").inputs[0].dtypes if code in dtypes.PLAIN - dtypes.COMPLEXES]
)
@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_the_first_largest(code, dimension):
    x = values(code, (4, 30), low=-3, high=3)
    got = run("ArgMaxV2", x, np.array(dimension, np.int32), const=[1])
    rows = wide(x) if dimension else wide(x).T
    np.testing.assert_array_equal(got, [max(range(len(row)), key=lambda place: (row[place], -place)) for row in rows])


def test_nan_is_the_largest_and_an_empty_dimension_is_refused():
    assert run("ArgMaxV2", np.array([1, np.nan, 3], np.float32), np.array(0), const=[1]) == 1
    with pytest.raises(Refused, match=r"HA504: ArgMaxV2: .*empty along dimension 0"):
        bind("ArgMaxV2", (np.zeros((0, 2), np.float32), np.array(0)), const=[1])


@pytest.mark.parametrize("code", [code for code in prototype("NonZero").inputs[0].dtypes if code in dtypes.PLAIN])
@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2,) * 8, (0, 3)])
@pytest.mark.parametrize("transpose", [False, True])
def test_coordinates(code, shape, transpose):
    x = values(code, shape, low=0, high=1)
    if x.dtype.kind not in "iub":
        x = np.asarray(np.round(x.astype(np.float32))).astype(x.dtype)
    places = [place for place in np.ndindex(*shape) if x[place] != 0]
    expected = np.array(places, np.int64).reshape(len(places), len(shape))
    np.testing.assert_array_equal(run("NonZero", x, transpose=transpose), expected.T if transpose else expected)


def test_coordinates_as_int32():
    assert run("NonZero", np.array([0, 1], np.float32), dtype=3).dtype == np.int32
