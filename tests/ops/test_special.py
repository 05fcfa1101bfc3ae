"""Error functions against SciPy, and at their edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from hostacl.ops import special

LINE = np.concatenate([np.linspace(-6, 6, 5001), 10.0 ** np.linspace(-300, 0, 50)])


@pytest.mark.parametrize(
    ("ours", "theirs", "x"),
    [
        (special.erf, scipy.special.erf, LINE),
        (special.erfc, scipy.special.erfc, LINE),
        (special.erfinv, scipy.special.erfinv, np.linspace(-1, 1, 5001)),
        (special.erfinv, scipy.special.erfinv, 1 - 10.0 ** -np.linspace(1, 15, 60)),
    ],
)
def test_within_some_ulp(ours, theirs, x):
    np.testing.assert_allclose(ours(x), theirs(x), rtol=2e-14, atol=0)


def test_edges():
    np.testing.assert_array_equal(special.erf(np.array([np.inf, -np.inf, np.nan])), [1, -1, np.nan])
    np.testing.assert_array_equal(special.erfc(np.array([np.inf, -np.inf, np.nan, 30])), [0, 2, np.nan, 0])
    np.testing.assert_array_equal(special.erfinv(np.array([1, -1, 1.5, -2, np.nan])), [np.inf, -np.inf, np.nan, np.nan, np.nan])
    assert np.signbit(special.erf(np.array(-0.0)))


def test_float32_and_more_than_a_block():
    x = np.random.default_rng(0).normal(0, 2, (3, 7000)).astype(np.float32)
    result = special.erf(x)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, scipy.special.erf(x.astype(np.float64)), rtol=1e-6)
