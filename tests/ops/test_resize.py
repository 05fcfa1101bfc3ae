"""Resizing: known small cases, adjoints, formats, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

NCHW, NHWC = 0, 1
FLAGS = [{}, {"align_corners": True}, {"half_pixel_centers": True}]
ROW = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)


def size(height, width):
    return np.array([height, width], np.int32)


def resized(op, x, new, layout=NCHW, **flags):
    return run(op, x, size(*new), const=[1], layout=layout, **flags)


@pytest.mark.parametrize(
    ("flags", "want"),
    [
        ({}, [0, 0, 1, 2, 2, 3]),
        ({"align_corners": True}, [0, 1, 1, 2, 2, 3]),
        ({"half_pixel_centers": True}, [0, 1, 1, 2, 3, 3]),
    ],
)
def test_nearest_places(flags, want):
    assert resized("ResizeNearestNeighborV2", ROW, (1, 6), **flags).ravel().tolist() == want


@pytest.mark.parametrize(
    ("flags", "want"),
    [
        ({}, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3]),
        ({"align_corners": True}, [k * 3 / 7 for k in range(8)]),
        ({"half_pixel_centers": True}, [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]),
    ],
)
def test_bilinear_positions(flags, want):
    np.testing.assert_allclose(resized("ResizeBilinearV2", ROW, (1, 8), **flags).ravel(), want, rtol=1e-6)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("new", [(5, 2), (1, 9), (3, 4)])
def test_gradients_are_adjoint(flags, new):
    rng = np.random.default_rng(2)
    x, dy = rng.normal(size=(2, 3, 3, 4)).astype(np.float32), rng.normal(size=(2, 3, *new)).astype(np.float32)
    for forward, back in (("ResizeNearestNeighborV2", size(3, 4)), ("ResizeBilinearV2", x)):
        y = resized(forward, x, new, **flags)
        dx = run(f"{forward}Grad", dy, back, const=[1] if back is not x else [], layout=NCHW, **flags)
        assert dx.shape == x.shape
        if back is not x:
            by_attribute = run(f"{forward}GradD", dy, layout=NCHW, size=[3, 4], **flags)
            np.testing.assert_array_equal(by_attribute, dx)
        np.testing.assert_allclose(np.vdot(y, dy), np.vdot(x, dx), rtol=1e-4)


def test_channels_last_and_integers():
    x = np.arange(2 * 2 * 3, dtype=np.int64).reshape(1, 2, 2, 3) + 2**60
    y = resized("ResizeNearestNeighborV2", x, (4, 4), NHWC)
    assert np.array_equal(y, x.repeat(2, 1).repeat(2, 2))
    back = resized("ResizeNearestNeighborV2Grad", y, (2, 2), NHWC)
    assert back.dtype == np.int64
    assert np.array_equal(back, 4 * x)


def test_infinities_stay_where_they_count():
    x = np.array([[[[1, np.inf, 3, 4]]]], np.float32)
    np.testing.assert_array_equal(resized("ResizeBilinearV2", x, (1, 8)).ravel(), [1, np.inf, np.inf, np.inf, 3, 3.5, 4, 4])


def test_what_does_not_fit_is_named():
    x = Spec(0, (1, 2, 3, 4), NCHW)
    with pytest.raises(Refused, match="one of them"):
        bind("ResizeBilinearV2", [x, size(2, 2)], const=[1], align_corners=True, half_pixel_centers=True)
    with pytest.raises(Refused, match=r"size = \[0, 2\]"):
        bind("ResizeNearestNeighborV2", [x, size(0, 2)], const=[1])
    with pytest.raises(Refused, match="original_image"):
        bind("ResizeBilinearV2Grad", [x, Spec(0, (2, 2, 3, 4), NCHW)])
    call = bind("ResizeNearestNeighborV2", [Spec(1, (1, 2, 3, 4), NHWC), Spec(3, (2,), 2)])
    assert call.infer()[0].shape == (1, -1, -1, 4)
