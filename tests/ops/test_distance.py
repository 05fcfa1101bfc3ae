"""Cross products, distances, renorm: small exact cases, both forms of renorm, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import distance
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

A, B = np.array([[0, 0], [3, 4]], np.float32), np.array([[0, 4], [3, 4], [6, 8]], np.float32)


def test_cross_takes_the_first_axis_of_three():
    x, y = np.array([[1, 0, 0]] * 3, np.int32), np.array([[0, 1, 0]] * 3, np.int32)
    assert run("Cross", x, y, dim=1).tolist() == [[0, 0, 1]] * 3
    assert run("Cross", x, y).tolist() == np.cross(x, y, axis=0).tolist()
    with pytest.raises(Refused, match="no dim has 3"):
        bind("Cross", [Spec(0, (2, 4), 2)] * 2)


@pytest.mark.parametrize(
    ("p", "want"),
    [
        (2.0, [[4, 5, 10], [3, 0, 5]]),
        (1.0, [[4, 7, 14], [3, 0, 7]]),
        (np.inf, [[4, 4, 8], [3, 0, 4]]),
        (0.0, [[1, 2, 2], [1, 0, 2]]),
    ],
)
def test_distances(p, want, monkeypatch):
    assert run("Cdist", A, B, p=p).tolist() == want
    monkeypatch.setattr(distance, "BLOCK", 1)
    assert run("Cdist", A, B, p=p).tolist() == want
    assert run("Pdist", np.concatenate([A[:1], B]), p=p)[:3].tolist() == want[0]


def test_renorm_scales_or_gives_the_factors():
    x = np.array([[3, 4], [0.3, 0.4]], np.float32)
    np.testing.assert_allclose(run("Renorm", x, p=2.0, dim=0, maxnorm=1.0), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    factors = run("Renorm", x, p=2.0, dim=0, maxnorm=1.0, outputs=[Spec(0, (2, 1), 2)])
    np.testing.assert_allclose(factors, [[0.2], [1]], rtol=1e-5)


def test_what_does_not_fit_is_named():
    with pytest.raises(Refused, match="p = -2"):
        bind("Cdist", [A, B], p=-2.0)
    with pytest.raises(Refused, match="last dims"):
        bind("Cdist", [Spec(0, (2, 3), 2), Spec(0, (2, 2), 2)])
    with pytest.raises(Refused, match="dim"):
        bind("Renorm", [A], p=2.0, dim=2, maxnorm=1.0)
