"""Gradients of pooling: adjoints of the forward operators, ties, NaN, indices, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

NCHW, NHWC, NCDHW = 0, 1, 30
RNG = np.random.default_rng(6)
X = RNG.normal(size=(2, 3, 7, 6)).astype(np.float32)
WINDOW = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "pads": [1, 1, 0, 1]}


def derivative(forward, x, dy):
    """<forward(x), dy> by central differences."""
    want = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-3
        want[place] = np.sum((forward(x + step).astype(np.float64) - forward(x - step)) * dy) / 2e-3
    return want


@pytest.mark.parametrize("attrs", [{}, {"exclusive": False}, {"ceil_mode": True}, {"padding_mode": "SAME"},
                                   {"padding_mode": "VALID"}, {"global_pooling": True}])  # fmt: skip
def test_average_gradients_are_derivatives(attrs):
    def forward(x):
        return run("AvgPoolV2", x, layout=NCHW, **WINDOW, **attrs)

    dy = RNG.normal(size=forward(X).shape).astype(np.float32)
    got = run("AvgPoolV2Grad", np.array(X.shape, np.int32), dy, const=[0], layout=NCHW, **WINDOW, **attrs,
              outputs=[Spec(0, X.shape, NCHW)])  # fmt: skip
    np.testing.assert_allclose(got, derivative(forward, X, dy), atol=2e-3)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_plain_average_gradients_are_derivatives(padding):
    attrs = {"ksize": WINDOW["ksize"], "strides": WINDOW["strides"], "padding": padding, "data_format": "NCHW"}

    def forward(x):
        return run("AvgPool", x, layout=NCHW, **attrs)

    dy = RNG.normal(size=forward(X).shape).astype(np.float32)
    got = run("AvgPoolGrad", np.array(X.shape, np.int32), dy, const=[0], layout=NCHW, **attrs)
    np.testing.assert_allclose(got, derivative(forward, X, dy), atol=2e-3)
    half, ones = dy.astype(np.float16), np.ones(1, np.float16)
    by_attribute = run("AvgPoolGradD", half, ones, ones, layout=NCHW, orig_input_shape=list(X.shape), **attrs)
    np.testing.assert_allclose(by_attribute, got, atol=2e-2)
    with pytest.raises(Refused, match="padding"):
        bind("AvgPoolGrad", [np.array(X.shape, np.int32), dy], (), [0], NCHW, **{**attrs, "padding": "CALCULATED"})


@pytest.mark.parametrize("attrs", [{}, {"ceil_mode": True}, {"padding_mode": "SAME"}, {"padding_mode": "VALID"}])
def test_max_gradients_are_derivatives(attrs):
    def forward(x):
        return run("MaxPoolV3", x, layout=NCHW, **WINDOW, **attrs)

    x = RNG.permutation(np.arange(X.size, dtype=np.float32)).reshape(X.shape)  # no ties within a step
    y = forward(x)
    dy = RNG.normal(size=y.shape).astype(np.float32)
    want = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 0.25
        want[place] = np.sum((forward(x + step).astype(np.float64) - forward(x - step)) * dy) / 0.5
    np.testing.assert_allclose(run("MaxPoolV3Grad", x, y, dy, layout=NCHW, **WINDOW, **attrs), want, atol=1e-6)


def argmax_attrs(ceil):
    return {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "pads": [1, 1, 0, 1], "ceil_mode": ceil}


@pytest.mark.parametrize("code", [3, 7])
@pytest.mark.parametrize("ceil", [False, True])
def test_both_argmax_forms_round_trip(code, ceil):
    attrs = argmax_attrs(ceil)
    shape = (2, 3, 4, 3)
    masks = (2, 3, 6, 2) if code == 7 else shape
    y, argmax = run("MaxPoolWithArgmaxV1", X, layout=NCHW, **attrs, outputs=[Spec(0, shape, NCHW), Spec(code, masks, NCHW)])
    dy = RNG.normal(size=y.shape).astype(np.float32)
    pads = {"pads": [1, 1, 0, 0], "ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "ceil_mode": ceil}
    want = run("MaxPoolV3Grad", X, y, dy, layout=NCHW, **{**pads, "pads": [1, 1, 0, 0]})
    got = run("MaxPoolGradWithArgmaxV1", X, dy, argmax, layout=NCHW, dilations=[1, 1, 1, 1], **attrs)
    assert argmax.dtype == (np.int32 if code == 3 else np.uint16)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_an_index_outside_the_plane_fails():
    argmax = np.zeros((2, 3, 4, 3), np.int32)
    argmax[1, 2, 3, 0] = 42
    with pytest.raises(Failed, match=r"argmax\[1,2,3,0\] = 42|argmax\[1, 2, 3, 0\] = 42"):
        run("MaxPoolGradWithArgmaxV1", X, argmax.astype(np.float32), argmax, layout=NCHW, **argmax_attrs(False))


def test_of_equal_elements_the_first_gets_the_gradient_and_nan_is_the_largest():
    x = np.array([[[[3, 3], [3, 3]]], [[[1, np.nan], [5, np.nan]]]], np.float32)
    attrs = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2]}
    y = run("MaxPoolV3", x, layout=NCHW, **attrs)
    got = run("MaxPoolV3Grad", x, y, np.full((2, 1, 1, 1), 7, np.float32), layout=NCHW, **attrs)
    assert got.tolist() == [[[[7, 0], [0, 0]]], [[[0, 7], [0, 0]]]]


def test_integers_add_up_exactly():
    x = np.zeros((1, 1, 1, 3), np.int64)
    x[..., 1] = 1
    dy = np.full((1, 1, 1, 2), 2**61 + 1, np.int64)
    attrs = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 1]}
    got = run("MaxPoolV3Grad", x, np.ones_like(dy), dy, layout=NCHW, **attrs)
    assert got.ravel().tolist() == [0, 2**62 + 2, 0]


def test_three_dims_and_adaptive_bins():
    x = RNG.normal(size=(1, 2, 4, 5, 3)).astype(np.float32)
    attrs = {"ksize": [1, 1, 2, 3, 2], "strides": [1, 1, 2, 1, 1], "pads": [0, 0, 1, 1, 0, 1], "data_format": "NCDHW"}

    def forward(at):
        return run("AvgPool3D", at, layout=NCDHW, **attrs)

    dy = RNG.normal(size=forward(x).shape).astype(np.float32)
    got = run("AvgPool3DGrad", np.array(x.shape, np.int32), dy, const=[0], layout=NCDHW, **attrs,
              outputs=[Spec(0, x.shape, NCDHW)])  # fmt: skip
    np.testing.assert_allclose(got, derivative(forward, x, dy), atol=2e-3)
    dy = RNG.normal(size=(2, 3, 3, 4)).astype(np.float32)
    got = run("AdaptiveAvgPool2dGrad", dy, orig_input_shape=list(X.shape))
    want = derivative(lambda at: run("AdaptiveAvgPool2d", at, output_size=[3, 4]), X, dy)
    np.testing.assert_allclose(got, want, atol=2e-3)


def test_what_does_not_fit_is_named():
    x, dy = Spec(0, (1, 1, 4, 4), NCHW), Spec(0, (1, 1, 3, 2), NCHW)
    attrs = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2]}
    with pytest.raises(Refused, match=r"grad = \[1,1,3,2\]; pooling gives \[1,1,2,2\]"):
        bind("MaxPoolV3Grad", [x, dy, dy], **attrs)
    with pytest.raises(Refused, match="orig_input_shape"):
        bind("AvgPoolV2GradD", [Spec(1, (1, 1, 2, 2), NCHW)], orig_input_shape=[1, 1, 4], **attrs)
    call = bind("AvgPoolV2Grad", [Spec(3, (4,), 2), Spec(0, (1, 1, 2, 2), NCHW)], **attrs)
    assert call.infer()[0].shape == (-1, -1, -1, -1)
    assert call.value_inputs == (("orig_input_shape", 0),)


def test_the_shape_of_avg_pool_v2_grad_may_be_int64():
    """torch-npu sends it so; the prototype has int32."""
    window = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding_mode": "CALCULATED", "pads": [0] * 4}
    shape = np.array([1, 1, 2, 4], np.int64)
    got = run("AvgPoolV2Grad", shape, np.array([[[[4, 8]]]], np.float32), const=[0], data_format="NCHW", **window)
    assert got.tolist() == [[[[1, 1, 2, 2], [1, 1, 2, 2]]]]


@pytest.mark.parametrize("size", [9, 2**40, 2**63 - 1])
def test_windows_far_larger_than_the_image_take_no_longer(size):
    """Only the elements of a window that meet the image are walked; with SAME there is one window, which has it all."""
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    attrs = {"ksize": [1, 1, size, size], "strides": [1, 1, size, size], "padding": "SAME"}
    largest = run("MaxPool", x, layout=0, data_format="NCHW", **attrs)
    mean = run("AvgPool", x, layout=0, data_format="NCHW", **attrs)
    dy = np.float32([[[[3]]]])
    of_largest = run("MaxPoolGrad", x, largest, dy, layout=0, data_format="NCHW", **attrs)
    of_mean = run("AvgPoolGrad", np.array(x.shape, np.int32), dy, const=[0], layout=0, data_format="NCHW", **attrs)
    assert (largest.item(), mean.item()) == (15.0, 7.5)
    np.testing.assert_array_equal(of_largest, np.where(x == 15, 3, 0))
    np.testing.assert_array_equal(of_mean, np.full_like(x, 3 / 16))
