"""ResizeGrad: clients' call forms, scales, regions, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import find
from hostacl.tensors import formats
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

LINEAR = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}


def test_doubling_by_linear_weights():
    grads = np.zeros((1, 1, 1, 4), np.float32)
    grads[..., 1] = 8
    y = run("ResizeGradD", grads, original_size=[1, 1, 1, 2], scales=[0.0, 0.0], roi=[], **LINEAR)
    assert y.ravel().tolist() == [6, 2]
    y = run("ResizeGrad", grads, None, None, np.array([1, 1, 1, 2], np.int64), const=[3], **LINEAR)
    assert y.ravel().tolist() == [6, 2]


def test_a_scale_that_does_not_fit_the_sizes_is_used():
    grads = np.ones((1, 1, 1, 3), np.float32)
    by_size = run("ResizeGradD", grads, original_size=[1, 1, 1, 2], mode="nearest", nearest_mode="floor",
                  coordinate_transformation_mode="asymmetric")  # fmt: skip
    by_scale = run("ResizeGradD", grads, original_size=[1, 1, 1, 2], mode="nearest", nearest_mode="floor",
                   coordinate_transformation_mode="asymmetric", scales=[1.0, 2.0])  # fmt: skip
    assert by_size.ravel().tolist() == [2, 1]
    assert by_scale.ravel().tolist() == [2, 1]
    by_scale = run("ResizeGradD", grads, original_size=[1, 1, 1, 2], mode="nearest", nearest_mode="floor",
                   coordinate_transformation_mode="asymmetric", scales=[1.0, 3.0])  # fmt: skip
    assert by_scale.ravel().tolist() == [3, 0]


def test_height_and_width_lie_where_the_format_says():
    grads = np.ones((1, 4, 6, 3), np.float32)
    y = run("ResizeGradD", grads, original_size=[2, 3], layout=formats.NHWC)
    np.testing.assert_array_equal(y, np.full((1, 2, 3, 3), 4))


def test_cubic_weights_sum_to_one():
    grads = np.random.default_rng(0).normal(size=(2, 3, 7, 5)).astype(np.float32)
    for outside in (0, 1):
        y = run("ResizeGradD", grads, original_size=[2, 3, 4, 9], mode="cubic", exclude_outside=outside)
        np.testing.assert_allclose(y.sum((2, 3)), grads.sum((2, 3)), rtol=1e-4)


def test_what_was_extrapolated_gives_nothing():
    grads = np.ones((1, 1, 1, 3), np.float32)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    y = run("ResizeGradD", grads, original_size=[1, 1, 1, 3], roi=[0, 0, 0, 0, 1, 1, 1, 2], **crop)  # places 0, 2 and 4
    assert y.ravel().tolist() == [1, 0, 1]


def test_wide_integers_stay_exact():
    grads = np.array([2**53 + 1, 1], np.int64).reshape(1, 1, 1, 2)
    y = run("ResizeGrad", grads, None, None, np.array([1, 1, 1, 1], np.int32), const=[3])
    assert y.item() == 2**53 + 2


def test_cubic_gradients_as_torch_npu_sends_them():
    grads = np.random.default_rng(0).normal(size=(1, 2, 7, 3)).astype(np.float32)
    attrs = {"original_size": [1, 2, 4, 5], "mode": "cubic", "scales": [0.0, 0.0]}
    turned = np.ascontiguousarray(np.transpose(grads, (2, 3, 0, 1)))
    call = bind("ResizeGradD", [turned], [Spec(0, (1, 2, 4, 5))], data_format="HWNC", **attrs)
    y = np.zeros((1, 2, 4, 5), np.float32)
    call.function()(turned, y)
    want = np.transpose(run("ResizeGradD", grads, **attrs), (2, 3, 0, 1))
    np.testing.assert_array_equal(y.ravel(), want.ravel())  # its shape says NCHW, its elements lie as HWNC
    with pytest.raises(Refused, match="data_format"):
        bind("ResizeGradD", [turned], data_format="CHWN", **attrs)


def test_roi_may_be_a_list_of_floats():
    attrs = {"original_size": ("list_int", [1, 1, 1, 2]), "roi": ("list_float", []), "mode": ("string", "linear")}
    operator = find("ResizeGradD")
    assert operator is not None
    assert operator.bind([Spec(0, (1, 1, 1, 4))], [], attrs).infer()[0].shape == (1, 1, 1, 2)


def test_lines_without_their_height():
    grads = np.ones((1, 2, 1, 7), np.float32)
    attrs = {"mode": "linear", "scales": [1.4]}
    y = run("ResizeGradD", grads, outputs=[Spec(0, (1, 2, 5))], original_size=[1, 2, 5], **attrs)
    np.testing.assert_array_equal(y, run("ResizeGradD", grads, original_size=[1, 2, 1, 5], **attrs)[:, :, 0])
    x = np.arange(10, dtype=np.float32).reshape(1, 2, 1, 5)
    y = run("ResizeD", x, outputs=[Spec(0, (1, 2, 7))], sizes=[7], **attrs)
    np.testing.assert_array_equal(y, run("ResizeD", x, sizes=[1, 7], scales=[1.0, 1.4], mode="linear")[:, :, 0])


@pytest.mark.parametrize(
    ("attrs", "rule"),
    [
        ({"mode": "area"}, "HA508"),
        ({"coordinate_transformation_mode": "middle"}, "HA508"),
        ({"nearest_mode": "even"}, "HA508"),
        ({"original_size": [1, 1, 2, 2, 2]}, "HA519"),
        ({"original_size": [1, 1, 0, 2]}, "HA519"),
    ],
)
def test_refusals(attrs, rule):
    with pytest.raises(Refused) as caught:
        bind("ResizeGradD", [Spec(0, (1, 1, 4, 4))], **{"original_size": [1, 1, 2, 2], **attrs})
    assert caught.value.rule == rule


def test_inference():
    assert bind("ResizeGradD", [Spec(0, (2, 3, -1, -1))], original_size=[4, 5]).infer()[0].shape == (2, 3, 4, 5)
    (y,) = bind("ResizeGrad", [Spec(0, (2, 3, 8, 8)), Spec(-1, (), -1), Spec(-1, (), -1), Spec(9, (4,))]).infer()
    assert len(y.shape) == 4
