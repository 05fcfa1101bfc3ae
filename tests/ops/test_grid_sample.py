"""GridSampler2D and 3D: worked values, edges, what is no number, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import formats
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

X = np.array([[0, 1, 2], [10, 11, 12]], np.float32).reshape(1, 1, 2, 3)


def grid(*places):
    return np.array(places, np.float32).reshape(1, 1, len(places), 2)


def test_minus_one_and_one_are_the_edges():
    corners = grid((-1, -1), (1, 1), (0, 0))
    np.testing.assert_array_equal(run("GridSampler2D", X, corners, align_corners=True).ravel(), [0, 12, 6])
    np.testing.assert_array_equal(run("GridSampler2D", X, corners).ravel(), [0, 3, 6])  # a quarter of the corner pixel
    border = run("GridSampler2D", X, corners, padding_mode="border")
    np.testing.assert_array_equal(border.ravel(), [0, 12, 6])


def test_mirrored_at_the_outer_edge_or_at_the_middle_of_the_outer_pixel():
    beyond = grid((2, -0.5))  # 1.5 pixels right of the outer edge, in the first row
    assert run("GridSampler2D", X, beyond, padding_mode="reflection").item() == pytest.approx(1, abs=1e-5)
    beyond = grid((2, -1))
    assert run("GridSampler2D", X, beyond, padding_mode="reflection", align_corners=True).item() == 1


def test_nearest_rounds_halves_to_even():
    halves = grid((-0.5, -1), (0.5, -1))  # 0.5 and 1.5
    assert run("GridSampler2D", X, halves, interpolation_mode="nearest", align_corners=True).ravel().tolist() == [0, 2]


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_what_is_no_number_gives_zero_or_the_edge(mode, padding):
    ones = np.ones((1, 1, 2, 3), np.float32)
    y = run("GridSampler2D", ones, grid((np.nan, 0), (0, np.nan)), interpolation_mode=mode, padding_mode=padding)
    assert y.ravel().tolist() == ([1, 1] if mode == "bicubic" and padding != "zeros" else [0, 0])
    dx, dgrid = run("GridSampler2DGrad", y, ones, grid((np.nan, 0), (0, np.inf)), interpolation_mode=mode, padding_mode=padding)
    assert np.isfinite(dx).all()
    assert dgrid.shape == (1, 1, 2, 2)


def test_an_infinity_that_is_not_met_does_no_harm():
    x = X.copy()
    x[..., 2] = np.inf
    assert run("GridSampler2D", x, grid((-1, 0)), align_corners=True).item() == 5


def test_channels_last_and_half():
    x = np.stack([X[0, 0], -X[0, 0]], -1)[None].astype(np.float16)
    places = grid((0.25, -0.5), (-0.75, 0.5)).astype(np.float16)
    y = run("GridSampler2D", x, places, layout=formats.NHWC)
    assert y.shape == (1, 1, 2, 2)
    np.testing.assert_array_equal(y[..., 0], -y[..., 1])


def test_more_than_one_block():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 40, 8, 8)).astype(np.float32)
    places = rng.uniform(-1, 1, (1, 300, 300, 2)).astype(np.float32)
    y = run("GridSampler2D", x, places)
    np.testing.assert_array_equal(y[:, 30:], run("GridSampler2D", x[:, 30:], places))
    np.testing.assert_array_equal(y[:, :, 290:], run("GridSampler2D", x, places[:, 290:]))
    dx, dgrid = run("GridSampler2DGrad", y, x, places)
    one, _ = run("GridSampler2DGrad", y[:, :1], x[:, :1], places)
    np.testing.assert_allclose(dx[:, :1], one, rtol=1e-6)
    far, near = (run("GridSampler2DGrad", y[:, part], x[:, part], places)[1] for part in (slice(0, 20), slice(20, None)))
    np.testing.assert_allclose(dgrid, far + near, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("shapes", "attrs", "rule"),
    [
        (((1, 1, 2, 3), (1, 4, 4, 3)), {}, "HA504"),
        (((1, 1, 2, 3), (2, 4, 4, 2)), {}, "HA504"),
        (((1, 1, 0, 3), (1, 4, 4, 2)), {}, "HA504"),
        (((1, 1, 2, 3), (1, 4, 4)), {}, "HA516"),
        (((1, 1, 2, 3), (1, 4, 4, 2)), {"interpolation_mode": "linear"}, "HA508"),
        (((1, 1, 2, 3), (1, 4, 4, 2)), {"padding_mode": "wrap"}, "HA508"),
    ],
)
def test_refusals(shapes, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind("GridSampler2D", [np.zeros(shape, np.float32) for shape in shapes], **attrs)
    assert caught.value.rule == rule
    with pytest.raises(Refused) as caught:
        bind("GridSampler2DGrad", [np.zeros((1, 1, 4, 4), np.float32), *(np.zeros(one, np.float32) for one in shapes)], **attrs)
    assert caught.value.rule == rule


def test_a_volume_has_no_cubic_and_grad_must_fit():
    with pytest.raises(Refused, match="bicubic"):
        bind("GridSampler3D", [Spec(0, (1, 1, 2, 2, 2)), Spec(0, (1, 1, 1, 1, 3))], interpolation_mode="bicubic")
    with pytest.raises(Refused, match=r"grad = \[1,1,3,4\]"):
        bind("GridSampler2DGrad", [Spec(0, (1, 1, 3, 4)), Spec(0, (1, 1, 2, 2)), Spec(0, (1, 4, 4, 2))])


def test_unknown_dims():
    places = Spec(0, (2, -1, 5, 2), ranges=((2, 2), (1, 9), (5, 5), (2, 2)))
    (y,) = bind("GridSampler2D", [Spec(0, (-1, 3, 4, 4)), places]).infer()
    assert y.shape == (-1, 3, -1, 5)
