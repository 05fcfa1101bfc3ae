"""Fourier transforms: waves, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

C64 = 16


def test_a_wave_has_one_frequency():
    x = np.exp(2j * np.pi * 3 * np.arange(8) / 8).astype(np.complex64)
    np.testing.assert_allclose(run("FFT", x), 8 * np.eye(8)[3], atol=1e-5)
    y = run("FFT2D", np.outer(x, x).astype(np.complex64))
    np.testing.assert_allclose(y, 64 * np.outer(np.eye(8)[3], np.eye(8)[3]), atol=1e-3)


@pytest.mark.parametrize(("op", "shape", "rule"), [("FFT2D", (3,), "HA516"), ("FFT", (), "HA516"), ("FFT", (3, 0), "HA504")])
def test_refusals(op, shape, rule):
    with pytest.raises(Refused) as caught:
        bind(op, [Spec(C64, shape)])
    assert caught.value.rule == rule
