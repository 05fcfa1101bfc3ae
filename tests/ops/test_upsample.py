"""Resampling volumes: small exact cases, adjoints, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

LINE = np.arange(3, dtype=np.float32).reshape(1, 1, 1, 1, 3)


def test_nearest_and_linear_places():
    assert run("UpsampleNearest3d", LINE, output_size=[1, 1, 5]).ravel().tolist() == [0, 0, 1, 1, 2]
    assert run("UpsampleTrilinear3d", LINE, scales=[1.0, 1.0, 2.0]).ravel().tolist() == [0, 0.25, 0.75, 1.25, 1.75, 2]
    got = run("UpsampleTrilinear3d", LINE, output_size=[1, 1, 5], align_corners=True)
    assert got.ravel().tolist() == [0, 0.5, 1, 1.5, 2]


@pytest.mark.parametrize("op", ["UpsampleNearest3d", "UpsampleTrilinear3d"])
@pytest.mark.parametrize("size", [{"output_size": [5, 2, 4]}, {"scales": [1.5, 0.7, 2.0]}])
def test_gradients_are_adjoint(op, size):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 2, 3, 4, 3))
    y = run(op, x, **size)
    dy = rng.normal(size=y.shape)
    dx = run(f"{op}Grad", dy, input_size=list(x.shape), **size)
    np.testing.assert_allclose(np.vdot(dx, x), np.vdot(y, dy), rtol=1e-9)


@pytest.mark.parametrize(("size", "places"), [({"output_size": [5]}, [0, 0, 1, 1, 2]), (
    {"output_size": [], "scales": [2.0]}, [0, 0, 1, 1, 2, 2])])  # fmt: skip
def test_lines_and_their_gradient(size, places):
    x = np.array([[[3, 5, 7]]], np.float32)
    assert run("UpsampleNearest1d", x, **size).tolist() == x[..., places].tolist()
    dy = np.arange(1, len(places) + 1, dtype=np.float32)[None, None]
    got = run("UpsampleNearest1dGrad", dy, input_size=[1, 1, 3], **size)
    assert got.ravel().tolist() == np.bincount(places, dy.ravel()).tolist()
    with pytest.raises(Refused, match="grad_output"):
        bind("UpsampleNearest1dGrad", [dy], input_size=[1, 1, 3], output_size=[9])


def test_what_does_not_fit_is_named():
    x = Spec(0, (1, 2, 3, 4, 5), 2)
    with pytest.raises(Refused, match="one of them"):
        bind("UpsampleNearest3d", [x])
    with pytest.raises(Refused, match="1 or more"):
        bind("UpsampleNearest3d", [x], scales=[0.1, 1.0, 1.0])
    with pytest.raises(Refused, match="grad_output"):
        bind("UpsampleNearest3dGrad", [x], input_size=[1, 2, 3, 4, 5], output_size=[3, 4, 6])
    call = bind("UpsampleNearest3d", [Spec(0, (-1, 2, 3, 4, 5), 2)], scales=[2.0, 2.0, 2.0])
    assert call.infer()[0].shape == (-1, 2, 6, 8, 10)
