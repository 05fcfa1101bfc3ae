"""Boxes: published examples, ties and empty boxes, suppression, anchors, pooled regions, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F32, I32 = 0, 3


def f32(values):
    return np.array(values, np.float32)


def test_boxes_as_differences_and_back():
    anchors, boxes = f32([[1, 2, 3, 4], [3, 4, 5, 6]]), f32([[5, 6, 7, 8], [7, 8, 9, 6]])
    deltas = run("BoundingBoxEncode", anchors, boxes, means=[0.0] * 4, stds=[0.1, 0.1, 0.2, 0.2])
    np.testing.assert_allclose(deltas, [[13.3281, 13.3281, 0, 0], [13.3281, 6.6641, 0, -5.4922]], rtol=1e-3, atol=1e-6)
    back = run("BoundingBoxDecode", anchors, boxes, means=[0.0] * 4, stds=[1.0] * 4, max_shape=[10, 10], wh_ratio_clip=0.1)
    np.testing.assert_allclose(back, [[2.5, 6.5, 9, 9], [9, 9, 9, 9]], rtol=1e-6)


def test_rotated_boxes_as_differences_and_back():
    boxes = f32([[30.69, 32.6, 45.94, 59.88, -44.53], [30.44, 18.72, 33.22, 45.56, 8.5]])
    anchor, box = boxes[0].reshape(1, 5, 1), boxes[1].reshape(1, 5, 1)
    deltas = run("RotatedBoxEncode", anchor, box)
    np.testing.assert_allclose(deltas.ravel(), [-0.4253, -0.5166, -1.7021, -0.0162, 1.1328], rtol=6e-3)
    np.testing.assert_allclose(run("RotatedBoxDecode", anchor, deltas), box, rtol=1e-4)


def test_a_width_has_one_more_pixel_by_eps():
    bboxes, gtboxes = f32([[0, 0, 9, 9], [20, 20, 30, 30]]), f32([[0, 0, 9, 4]])
    assert run("Iou", bboxes, gtboxes).tolist() == [[0.5, 0]]
    np.testing.assert_allclose(run("Iou", bboxes, gtboxes, eps=0.0), [[36 / 81, 0]], rtol=1e-6)
    assert run("Iou", bboxes, gtboxes, mode="iof").tolist() == [[1, 0]]


def test_boxes_without_an_area_cover_nothing():
    point = f32([[1, 1, 1, 1]])
    assert run("Iou", point, point, eps=0.0).tolist() == [[0]]
    assert run("GIoU", point.T.copy(), point.T.copy()).tolist() == [[0]]


def test_the_same_box_and_boxes_far_apart():
    box, far = f32([[0], [0], [2], [2]]), f32([[8], [0], [10], [2]])
    for name in ("GIoU", "DIoU"):
        assert run(name, box, box).item() == pytest.approx(1)
    assert run("GIoU", box, far).item() == pytest.approx(-12 / 20)
    assert run("DIoU", box, far).item() == pytest.approx(-64 / 104)
    overlap, turn = run("CIoU", box, f32([[8], [0], [12], [2]]), atan_sub_flag=True)
    assert turn.item() == pytest.approx(np.arctan(2) - np.arctan(1), rel=1e-6)
    v = 4 / np.pi**2 * turn.item() ** 2
    assert overlap.item() == pytest.approx(-81 / 148 - v * v / (1 + v), rel=1e-5)


def test_rows_are_gtboxes_when_all_meet_all():
    boxes = f32([[0, 1], [0, 1], [2, 3], [2, 3]])
    crossed = run("GIoU", boxes, boxes[:, :1].copy())
    assert crossed.shape == (1, 2)
    np.testing.assert_array_equal(run("GIoU", boxes, boxes, is_cross=False), [[crossed[0, 0]] * 2])


def test_shared_bounds_share_their_gradient():
    box = f32([[0], [0], [2], [2]])
    one, other = run("GIoUGrad", f32([1]), box, box, is_cross=False)
    np.testing.assert_allclose(one, other, atol=1e-9)


BOXES = f32([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 9]])
SCORES = f32([0.9, 0.8, 0.7, 0.6])


def v4(most, iou, score, **attrs):
    given = BOXES, SCORES, np.array(most, np.int32), np.array(iou, np.float32), np.array(score, np.float32)
    return run("NonMaxSuppressionV4", *given, const=[2], **attrs)


def test_better_boxes_hide_worse_ones():
    places, count = v4(3, 0.5, 0.1)
    assert (places.tolist(), count.tolist()) == ([0, 2], 2)
    assert v4(1, 0.5, 0.1)[0].tolist() == [0]
    assert v4(4, 1.0, 0.65)[0].tolist() == [0, 1, 2]
    padded, count = v4(3, 0.5, 0.1, pad_to_max_output_size=True)
    assert (padded.tolist(), count.tolist()) == ([0, 2, 0], 2)
    with pytest.raises(Failed, match=r"iou_threshold = 1.5"):
        v4(3, 1.5, 0.1)


def test_a_mask_of_what_stays():
    rows = np.concatenate([BOXES, SCORES[:, None]], axis=1)
    boxes, numbers, mask = run("NMSWithMask", rows)
    np.testing.assert_array_equal(boxes, rows)
    assert (numbers.tolist(), mask.tolist()) == ([0, 1, 2, 3], [1, 0, 1, 0])
    assert mask.dtype == np.uint8


def test_two_classes_of_one_image():
    boxes = np.array(BOXES, np.float16)[None, :, None]
    scores = np.array([[0.9, 0], [0.8, 0.95], [0.7, 0.3], [0.6, 0]], np.float16)[None]
    limits = {"score_threshold": 0.4, "iou_threshold": 0.5, "max_size_per_class": 4, "max_total_size": 4}
    found, best, labels, count = run("BatchMultiClassNonMaxSuppression", boxes, scores, **limits)
    np.testing.assert_array_equal(best[0], np.array([0.95, 0.9, 0.7, 0], np.float16))
    assert (labels[0].tolist(), count.tolist()) == ([1, 0, 0, 0], [3])
    np.testing.assert_array_equal(found[0], [BOXES[1], BOXES[0], BOXES[2], [0] * 4])
    turned = np.ascontiguousarray(np.transpose(boxes, (0, 2, 3, 1)))
    for one, other in zip(
        run("BatchMultiClassNonMaxSuppression", turned, scores, transpose_box=True, **limits), (found, best, labels, count),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(one, other)


def test_windows_cut_boxes_and_measure_them():
    boxes = np.array([[0, 0, 10, 10], [20, 20, 30, 30]], np.float16)[None, :, None]
    scores, window = np.array([[[0.9], [0.8]]], np.float16), np.array([[5, 5, 15, 25]], np.float16)
    limits = {"score_threshold": 0.1, "iou_threshold": 0.5, "max_size_per_class": 2, "max_total_size": 2}
    found, _, _, count = run("BatchMultiClassNonMaxSuppression", boxes, scores, window, **limits)
    assert (found[0].tolist(), count.tolist()) == ([[5, 5, 10, 10], [0] * 4], [1])
    found, *_ = run("BatchMultiClassNonMaxSuppression", boxes, scores, window, change_coordinate_frame=True, **limits)
    assert found[0, 0].tolist() == [0, 0, 0.5, 0.25]


def test_measuring_in_the_window_does_not_change_which_boxes_stay():
    """Many of these cover each other by exactly the threshold, which rounding would move either way."""
    rng = np.random.default_rng(2)
    boxes = np.sort(rng.integers(0, 16, (8, 40, 3, 2, 2)), 3).reshape(8, 40, 3, 4).astype(np.float16) / 2
    scores = (rng.integers(0, 8, (8, 40, 3)) / 8).astype(np.float16)
    window = np.array([[1, 1, 6, 7], [0, 0, 4, 8]] * 4, np.float16)
    limits = {"score_threshold": 0.2, "iou_threshold": 0.5, "max_size_per_class": 20, "max_total_size": 60}
    plain, *chosen = run("BatchMultiClassNonMaxSuppression", boxes, scores, window, **limits)
    shares, *same = run("BatchMultiClassNonMaxSuppression", boxes, scores, window, change_coordinate_frame=True, **limits)
    for one, other in zip(chosen, same, strict=True):
        np.testing.assert_array_equal(one, other)
    low, size = np.tile(window[:, :2], 2), np.tile(window[:, 2:] - window[:, :2], 2)
    there = np.arange(60) < chosen[-1][:, None]
    want = np.where(there[..., None], (plain - low[:, None].astype(float)) / size[:, None], 0)
    np.testing.assert_allclose(shares.astype(float), want, atol=1e-3)


@pytest.mark.parametrize("op", ["PSROIPoolingV2", "PSROIPoolingGradV2D", "ROIAlign", "ROIAlignGrad"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", range(5))
def test_regions_that_are_no_place_fail_by_name_or_count_nothing(op, bad, place):
    rois = np.array([0, 1, 1, 3, 3], np.float32)
    rois[place] = bad
    if op.startswith("PS"):
        rest = {"spatial_scale": 1.0, "output_dim": 1, "group_size": 2}
        x, rois = np.ones((1, 4, 5, 5) if op == "PSROIPoolingV2" else (1, 1, 2, 2), np.float32), rois[None, :, None]
        rest |= {} if op == "PSROIPoolingV2" else {"input_size": [5, 5]}
    else:
        rest = {"spatial_scale": 1.0, "pooled_height": 2, "pooled_width": 2, "sample_num": 2}
        x, rois = np.ones((1, 1, 5, 5) if op == "ROIAlign" else (1, 1, 2, 2), np.float32), rois[None]
        rest |= {} if op == "ROIAlign" else {"xdiff_shape": [1, 1, 5, 5]}
    if op.startswith("PS") or place == 0:
        with pytest.raises(Failed, match="rois"):
            run(op, x, rois, **rest)
    else:
        assert np.isfinite(run(op, x, rois, **rest)).all()


def test_cells_that_hold_a_center():
    given = {"featmap_size": [2, 3], "strides": [10, 20], "num_base_anchors": 2}
    flags = run("AnchorResponseFlags", f32([[20, 0, 28, 10]]), **given)
    assert flags.tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    with pytest.raises(Failed, match=r"gt_bboxes\[0\]"):
        run("AnchorResponseFlags", f32([[30, 0, 38, 10]]), **given)


def test_samples_differ_from_call_to_call():
    labels = np.zeros(200, np.int32)
    one, other = (run("SubSample", labels, batch_size_per_images=50, positive_fraction=0.5) for _ in range(2))
    assert (one == 0).sum() == (other == 0).sum() == 50
    assert (one != other).any()


def test_priors_of_one_cell():
    x = img = np.zeros((1, 1, 10, 10), np.float32)
    sizes = {"min_size": [2.0], "max_size": [8.0], "aspect_ratio": [4.0], "variance": [0.5], "flip": False}
    y = run("PriorBox", x[..., :1, :1].copy(), img, **sizes)
    want = [[0.4, 0.4, 0.6, 0.6], [0.3, 0.3, 0.7, 0.7], [0.3, 0.45, 0.7, 0.55]]
    np.testing.assert_allclose(y[0, 0, :, 0].reshape(3, 4), want, rtol=1e-6)
    assert (y[0, 1] == 0.5).all()


def test_a_region_of_one_pixel_and_one_outside():
    x = np.arange(8, dtype=np.float32).reshape(1, 4, 1, 2)
    rois = f32([[0, 0], [0, 9], [0, 0], [0, 9], [0, 0]])[None]
    given = {"spatial_scale": 1.0, "output_dim": 1, "group_size": 2}
    y = run("PSROIPoolingV2", x, rois, **given)
    assert y[0, 0].tolist() == [[0, 2], [4, 6]]
    assert not y[1].any()
    wrong = rois.copy()
    wrong[0, 0] = 1
    with pytest.raises(Failed, match="image 1"):
        run("PSROIPoolingV2", x, wrong, **given)


LIMITS = {"score_threshold": 0.1, "iou_threshold": 0.5, "max_size_per_class": 2, "max_total_size": 2}
PAIR = [Spec(F32, (4, 3)), Spec(F32, (4, 3))]


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("BoundingBoxEncode", [Spec(F32, (2, 5)), Spec(F32, (2, 5))], {}, "HA504"),
        ("BoundingBoxEncode", [Spec(F32, (2, 4)), Spec(F32, (3, 4))], {}, "HA504"),
        ("BoundingBoxEncode", [Spec(F32, (2, 4)), Spec(F32, (2, 4))], {"stds": [1.0, 1.0, 0.0, 1.0]}, "HA508"),
        ("BoundingBoxDecode", [Spec(F32, (2, 4)), Spec(F32, (2, 4))], {"max_shape": [3]}, "HA508"),
        ("YoloBoxesEncode", [Spec(F32, (2, 4)), Spec(F32, (2, 4)), Spec(I32, (3,))], {}, "HA504"),
        ("RotatedBoxEncode", [Spec(F32, (2, 4, 1)), Spec(F32, (2, 4, 1))], {}, "HA504"),
        ("Iou", [Spec(F32, (2, 4)), Spec(F32, (2, 4))], {"mode": "giou"}, "HA508"),
        ("Iou", [Spec(F32, (2, 4)), Spec(F32, (2, 4))], {"aligned": True}, "HA508"),
        ("GIoU", [Spec(F32, (3, 4)), Spec(F32, (4, 4))], {}, "HA504"),
        ("GIoU", PAIR, {"mode": "iof"}, "HA508"),
        ("DIoU", [PAIR[0], Spec(F32, (4, 2))], {"is_cross": False}, "HA504"),
        ("CIoUGrad", [Spec(F32, (3,)), *PAIR, Spec(F32, (1, 3))], {}, "HA508"),
        ("CIoUGrad", [Spec(F32, (2,)), *PAIR, Spec(F32, (1, 3))], {"is_cross": False}, "HA504"),
        ("NMSWithMask", [Spec(F32, (2, 4))], {}, "HA504"),
        ("NMSWithMask", [Spec(F32, (2, 5))], {"iou_threshold": 0.0}, "HA508"),
        ("BatchMultiClassNonMaxSuppression", [Spec(1, (1, 5, 2, 4)), Spec(1, (1, 5, 3))], LIMITS, "HA504"),
        ("BatchMultiClassNonMaxSuppression", [Spec(1, (1, 5, 1, 4)), Spec(1, (1, 5, 3))],
         {**LIMITS, "image_size": [3]}, "HA508"),
        ("BatchMultiClassNonMaxSuppression", [Spec(1, (1, 5, 1, 4)), Spec(1, (1, 5, 3))],
         {**LIMITS, "change_coordinate_frame": True}, "HA513"),
        ("SubSample", [Spec(I32, (5,))], {"batch_size_per_images": 2, "positive_fraction": 1.5}, "HA508"),
        ("PriorBox", [Spec(F32, (1, 1, 2, 2)), Spec(F32, (1, 1, 9, 9))],
         {"min_size": [4.0], "max_size": [3.0], "aspect_ratio": [2.0]}, "HA508"),
        ("PSROIPoolingV2", [Spec(F32, (1, 7, 2, 2)), Spec(F32, (1, 5, 3))],
         {"spatial_scale": 1.0, "output_dim": 2, "group_size": 2}, "HA504"),
    ],
)  # fmt: skip
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule


def test_inference():
    (overlap,) = bind("Iou", [Spec(F32, (-1, 4)), Spec(F32, (3, 4))]).infer()
    assert overlap.shape == (3, -1)
    scalars = [Spec(I32, ()), Spec(F32, ()), Spec(F32, ())]
    places, count = bind("NonMaxSuppressionV4", [Spec(F32, (9, 4)), Spec(F32, (9,)), *scalars]).infer()
    assert (places.shape, count.shape) == ((-1,), ())
