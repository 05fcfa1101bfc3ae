"""ROIAlign: exact means of planes, gradients as derivatives, modes, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.ops import roi_align
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

SIZE = {"spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3}
ROIS = np.array([[0, 3, 5, 15, 13], [1, 1, 2, 9, 12.5]], np.float32)


def plane(shape, down, across):
    y, x = np.arange(shape[2])[:, None], np.arange(shape[3])
    return np.broadcast_to(1 + down * y + across * x, shape).astype(np.float32)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_a_plane_is_sampled_at_the_middle_of_each_bin(mode):
    """Bilinear samples of a plane are exact, and points lie evenly: the mean is the plane at the bin's middle."""
    y = run("ROIAlign", plane((2, 1, 9, 9), 10, 3), ROIS, layout=0, sample_num=2, roi_end_mode=mode, **SIZE)
    shift, longer = (0.5, 0) if mode == 2 else (0, mode in (1, 3))
    for k, (_, x0, y0, x1, y1) in enumerate(ROIS):
        top, left = y0 / 2 - shift, x0 / 2 - shift
        height, width = (y1 + longer) / 2 - shift - top, (x1 + longer) / 2 - shift - left
        middle_y = top + (np.arange(2)[:, None] + 0.5) * height / 2
        middle_x = left + (np.arange(3) + 0.5) * width / 3
        np.testing.assert_allclose(y[k, 0], 1 + 10 * middle_y + 3 * middle_x, rtol=1e-5)


def test_the_gradient_is_the_derivative():
    rng = np.random.default_rng(1)
    shape, dy = (2, 2, 7, 8), rng.normal(size=(2, 2, 2, 3)).astype(np.float32)
    xdiff = run("ROIAlignGrad", dy, ROIS, layout=0, xdiff_shape=list(shape), sample_num=0, **SIZE)
    for place in rng.permutation(xdiff.size)[:20]:
        unit = np.zeros(shape, np.float32)
        unit.flat[place] = 1
        want = np.sum(run("ROIAlign", unit, ROIS, layout=0, sample_num=0, **SIZE).astype(np.float64) * dy)
        np.testing.assert_allclose(xdiff.flat[place], want, rtol=1e-5, atol=1e-6)


def test_blocks_give_what_one_piece_gives(monkeypatch):
    x = np.random.default_rng(2).normal(size=(2, 5, 9, 9)).astype(np.float32)
    whole = run("ROIAlign", x, ROIS, layout=0, **SIZE)
    monkeypatch.setattr(roi_align, "TILE_BYTES", 100)
    np.testing.assert_allclose(run("ROIAlign", x, ROIS, layout=0, **SIZE), whole, rtol=1e-5, atol=1e-6)


def test_max_takes_the_largest_point():
    x = plane((2, 1, 9, 9), 10, 3)
    most = run("ROIAlign", x, ROIS, layout=0, sample_num=2, pool_mode="max", **SIZE)
    mean = run("ROIAlign", x, ROIS, layout=0, sample_num=2, **SIZE)
    bins = (np.array([[5, 13], [2, 12.5]]), np.array([[3, 15], [1, 9]]))
    step = [(box[:, 1] + 1 - box[:, 0]) / 2 / size / 4 for box, size in zip(bins, (2, 3), strict=True)]
    np.testing.assert_allclose(most - mean, np.broadcast_to((10 * step[0] + 3 * step[1])[:, None, None, None], most.shape),
                               rtol=1e-4)  # fmt: skip


def test_points_outside_count_0():
    box = np.array([[0, 100, 100, 120, 120]], np.float32)
    assert not run("ROIAlign", np.full((1, 2, 4, 4), np.inf, np.float32), box, layout=0, **SIZE).any()


def test_an_image_that_is_not_there_fails():
    with pytest.raises(Failed, match=r"rois\[1,0\] = 1; allowed: an image from 0 to 0"):
        run("ROIAlign", plane((1, 1, 4, 4), 1, 1), ROIS, layout=0, **SIZE)


@pytest.mark.parametrize(
    ("change", "text"),
    [({"roi_end_mode": 4}, "roi_end_mode"), ({"pooled_width": 0}, "pooled_width"), ({"pool_mode": "sum"}, "pool_mode")],
)
def test_attributes_that_say_nothing_are_refused(change, text):
    with pytest.raises(Refused, match=text):
        bind("ROIAlign", [Spec(0, (1, 2, 4, 4), 0), Spec(0, (3, 5), 2)], **{**SIZE, **change})


def test_inference_knows_the_regions_when_they_are_known():
    call = bind("ROIAlign", [Spec(1, (1, 8, -1, -1), 0), Spec(1, (-1, 5), 2)], **SIZE)
    assert call.infer()[0].shape == (-1, 8, 2, 3)
    with pytest.raises(Refused, match="rois"):
        bind("ROIAlign", [Spec(1, (1, 8, 4, 4), 0), Spec(1, (2, 4), 2)], **SIZE)
