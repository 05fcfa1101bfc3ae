"""Pooling: worked values, the forms clients call, inference and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
TWO = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2]}


def test_as_onnxruntime_calls_them():
    common = {**TWO, "padding_mode": "CALCULATED", "pads": [0, 0, 0, 0], "data_format": "NCHW", "ceil_mode": False}
    np.testing.assert_array_equal(run("MaxPoolV3", X, global_pooling=False, **common)[0, 0], [[5, 7], [13, 15]])
    got = run("AvgPoolV2", X, global_pooling=False, exclusive=False, **common)
    np.testing.assert_array_equal(got[0, 0], [[2.5, 4.5], [10.5, 12.5]])
    eight = {**common, "ksize": [1, 1, 8, 8], "strides": [1, 1, 1, 1], "padding_mode": "VALID"}
    assert run("AvgPoolV2", X, global_pooling=True, exclusive=False, **eight).item() == 7.5
    assert run("MaxPoolV3", X, global_pooling=True, **eight).item() == 15


def test_ceil_mode_adds_no_window_that_starts_in_the_padding():
    x = np.ones((1, 1, 5, 5), np.float32)
    attrs = {**TWO, "pads": [1, 1, 1, 1], "ceil_mode": True}
    assert run("MaxPoolV3", x, **attrs).shape == (1, 1, 3, 3)
    assert run("MaxPoolV3", x, **{**attrs, "pads": [0, 0, 0, 0]}).shape == (1, 1, 3, 3)
    np.testing.assert_array_equal(run("AvgPoolV2", x, exclusive=False, **attrs)[0, 0, 0], [0.25, 0.5, 0.5])
    np.testing.assert_array_equal(run("AvgPoolV2", x, exclusive=True, **attrs), np.ones((1, 1, 3, 3)))
    np.testing.assert_array_equal(run("AvgPoolV2", x, divisor_override=2, **attrs)[0, 0, 1], [1, 2, 2])


def test_nan_wins():
    x = X.copy()
    x[0, 0, 1, 0] = np.nan
    y, places = run("MaxPoolWithArgmaxV1", x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], pads=[1, 0, 0, 1])
    np.testing.assert_array_equal(np.isnan(y[0, 0]), [[True, False], [False, False]])
    np.testing.assert_array_equal(places[0, 0], [[4, 7], [13, 15]])


def test_masks_hold_sixteen_windows_a_word():
    outputs = [Spec(0, (1, 1, 2, 2), 0), Spec(dtypes.UINT16, (1, 1, 4, 2), 0)]
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "pads": [1, 0, 0, 1], "dilation": [1, 1, 1, 1], "ceil_mode": False}
    _, masks = run("MaxPoolWithArgmaxV1", X, outputs=outputs, layout=0, **attrs)
    np.testing.assert_array_equal(masks[0, 0], [[0, 0], [0, 0], [0, 0], [15, 0]])


def test_first_of_equal_elements_is_named():
    x = np.ones((1, 3, 3), np.float32)
    _, places = run("AdaptiveMaxPool2d", x, output_size=[2, 2])
    np.testing.assert_array_equal(places[0], [[0, 1], [3, 4]])


def test_sizes_in_device_memory_are_bounded_before_the_call():
    specs = [Spec(1, (2, 7, 5, 3), 1), Spec(3, (4,)), Spec(3, (4,))]
    (one,) = bind("MaxPoolV2", specs, padding="SAME").infer()
    assert one.shape == (2, -1, -1, 3)
    assert one.ranges[1:3] == ((0, 7), (0, 5))


def test_unknown_height():
    x = Spec(0, (1, 1, -1, 4), 0, ranges=((1, 1), (1, 1), (4, 9), (4, 4)))
    (one,) = bind("MaxPoolV3", [x], **TWO).infer()
    assert (one.shape, one.ranges[2]) == ((1, 1, -1, 2), (2, 4))


@pytest.mark.parametrize(
    ("op", "attrs", "rule"),
    [
        ("MaxPoolV3", {**TWO, "ksize": [1, 2, 2, 2]}, "HA508"),
        ("MaxPoolV3", {**TWO, "padding_mode": "HALF"}, "HA508"),
        ("MaxPoolV3", {**TWO, "pads": [2, 0, 0, 0]}, "HA508"),
        ("MaxPoolV3", {**TWO, "ksize": [1, 1, 5, 2]}, "HA504"),
        ("MaxPoolV3", {**TWO, "strides": [1, 1, 0, 2]}, "HA508"),
        ("AvgPoolV2", {**TWO, "data_format": "NHW"}, "HA508"),
        ("AvgPool", {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "CALCULATED"}, "HA508"),
        ("MaxPool3D", {"ksize": [1] * 5, "strides": [1] * 5, "padding": "SAME"}, "HA516"),
        ("AdaptiveAvgPool2d", {"output_size": [1, 2, 3]}, "HA508"),
    ],
)
def test_refusals(op, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, [X], layout=0 if op == "MaxPoolV3" else 2, **attrs)
    assert caught.value.rule == rule
    assert op in caught.value.text


def test_blocked_layout_gives_the_same():
    x = np.arange(2 * 3 * 4 * 4, dtype=np.float16).reshape(2, 3, 4, 4)
    stored = np.zeros((2, 1, 4, 4, 16), np.float16)
    stored[:, 0, :, :, :3] = x.transpose(0, 2, 3, 1)
    spec = Spec(1, x.shape, 0, storage_format=3, storage_shape=stored.shape)
    out = Spec(1, (2, 3, 2, 2), 0, storage_format=3, storage_shape=(2, 1, 2, 2, 16))
    y = np.ones((2, 1, 2, 2, 16), np.float16)
    bind("MaxPoolV3", [spec], [out], **TWO).function()(stored, y)
    np.testing.assert_array_equal(y[:, 0, :, :, :3], x[:, :, 1::2, 1::2].transpose(0, 2, 3, 1))
    assert not y[..., 3:].any()
