"""SoftmaxV2 against float64."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, eps, run, values, wide


def softmax(x, axes):
    shifted = np.exp(x - x.max(axis=axes, keepdims=True))
    return shifted / shifted.sum(axis=axes, keepdims=True)


@pytest.mark.parametrize("code", [0, 1, 11, 27])
@pytest.mark.parametrize(("shape", "axes"), [((3, 5), [-1]), ((3, 5), [0]), ((2, 3, 4), [0, -1]), ((2,) * 8, [3]), ((6,), [0])])
def test_values(code, shape, axes):
    x = values(code, shape)
    np.testing.assert_allclose(
        wide(run("SoftmaxV2", x, axes=axes)), softmax(wide(x), tuple(axes)), rtol=4 * eps(code), atol=1e-7
    )


def test_large_values_and_nan():
    x = np.array([[1000, 1000], [np.nan, 0]], np.float32)
    np.testing.assert_array_equal(run("SoftmaxV2", x), np.array([[0.5, 0.5], [np.nan, np.nan]], np.float32))


def test_half_to_float_gives_float32():
    x = values(1, (2, 3))
    result = run("SoftmaxV2", x, half_to_float=True)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, softmax(x.astype(np.float64), (1,)), rtol=1e-6)


def test_empty_and_bad_axes():
    assert run("SoftmaxV2", np.zeros((0, 3), np.float32)).shape == (0, 3)
    with pytest.raises(Refused, match=r"HA509: SoftmaxV2: axes = 2: axis 2 not in \[-2,1\]"):
        bind("SoftmaxV2", (values(0, (2, 3)),), axes=[2])
