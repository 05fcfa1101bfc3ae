"""Runs each test that asks for `level` once at every SIMD level of the machine."""

from collections.abc import Iterator

import numpy as np
import pytest

from hostacl import _kernels


@pytest.fixture(params=_kernels.simd_levels())
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _kernels.use_simd_level(request.param)
    yield request.param
    _kernels.use_simd_level(before)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = _kernels.use_threads(2)
    yield
    _kernels.use_threads(before)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """NumPy warns of NaN, infinities and overflow, which the expected values here are full of."""
    with np.errstate(all="ignore"):
        yield
