"""Second-order gradients of max pooling: adjoint to the first ones, ties, integers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

RNG = np.random.default_rng(4)
PLANE = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "data_format": "NCHW"}
VOLUME = {"ksize": [1, 1, 2, 3, 2], "strides": [1, 1, 1, 2, 2], "pads": [1, 0, 0, 1, 1, 1], "data_format": "NCDHW"}


@pytest.mark.parametrize(
    ("op", "shape", "layout", "attrs"),
    [
        ("MaxPoolGrad", (2, 3, 6, 5), 0, {**PLANE, "padding": "SAME"}),
        ("MaxPoolGrad", (2, 3, 6, 5), 0, {**PLANE, "padding": "VALID"}),
        ("MaxPool3DGrad", (1, 2, 4, 5, 6), 30, VOLUME),
    ],
)
def test_it_is_adjoint_to_the_gradient(op, shape, layout, attrs):
    own = {**attrs, "padding": "CALCULATED"} if "pads" in attrs else attrs
    x = RNG.integers(-3, 3, shape).astype(np.float32)  # with ties
    y = run(op.replace("Grad", ""), x, layout=layout, **own)
    dy, grad = RNG.normal(size=y.shape).astype(np.float32), RNG.normal(size=shape).astype(np.float32)
    first = run(op, x, y, dy, layout=layout, **own)
    second = run(f"{op}Grad", x, y, grad, layout=layout, **attrs)
    assert second.shape == y.shape
    np.testing.assert_allclose(np.vdot(first, grad), np.vdot(second, dy), rtol=1e-4)


def test_integers_and_nan():
    x, grad = np.array([5, 5, 1, 7], np.int64).reshape(1, 1, 1, 4), np.array([2**60 + 1, 2, 3, 4]).reshape(1, 1, 1, 4)
    attrs = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID", "data_format": "NCHW"}
    y = np.zeros((1, 1, 1, 2), np.int64)
    assert run("MaxPoolGradGrad", x, y, grad, layout=0, **attrs).ravel().tolist() == [2**60 + 1, 4]
    wide = np.array([1, np.nan, np.nan, 7], np.float32).reshape(1, 1, 1, 4)
    places = np.arange(4, dtype=np.float32).reshape(wide.shape)
    got = run("MaxPoolGradGrad", wide, y.astype(np.float32), places, layout=0, **attrs)
    assert got.ravel().tolist() == [1, 2]


def test_what_does_not_fit_is_named():
    x, y = np.zeros((1, 1, 6, 5), np.float32), np.zeros((1, 1, 3, 5), np.float32)
    with pytest.raises(Refused, match="x2"):
        bind("MaxPoolGradGrad", [x, x, x], layout=0, **PLANE, padding="SAME")
    with pytest.raises(Refused, match="differ"):
        bind("MaxPoolGradGrad", [x, y, y], layout=0, **PLANE, padding="SAME")
