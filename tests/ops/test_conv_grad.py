"""Gradients of convolutions: against finite differences, what is refused and what is inferred."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import conv_adjoint
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, values

NCHW, NHWC, ND, HWCN = 0, 1, 2, 16
WINDOW = {"strides": [1, 1, 2, 1], "dilations": [1, 1, 1, 2], "pads": [1, 0, 2, 1], "data_format": "NCHW"}


def forward(x, weight):
    return run("Conv2D", x, weight, layout=NCHW, groups=2, **WINDOW)


def test_both_gradients_are_the_derivatives_of_conv2d():
    rng = np.random.default_rng(3)
    x, weight = rng.normal(size=(2, 4, 6, 5)), rng.normal(size=(6, 2, 3, 2))
    x, weight = x.astype(np.float32), weight.astype(np.float32)
    dy = rng.normal(size=forward(x, weight).shape).astype(np.float32)
    size = [np.array(one.shape, np.int32) for one in (weight, x)]
    by_filter = run("Conv2DBackpropFilter", x, size[0], dy, const=[1], layout=NCHW, groups=2, **WINDOW)
    by_input = run("Conv2DBackpropInput", size[1], weight, dy, const=[0], layout=NCHW, groups=2, **WINDOW,
                   outputs=[Spec(0, x.shape, NCHW)])  # fmt: skip
    # the convolution is linear in each: <conv(e, w), dy> for unit inputs e is the gradient's element
    for gradient, unit in ((by_input, lambda e: forward(e, weight)), (by_filter, lambda e: forward(x, e))):
        for place in rng.permutation(gradient.size)[:12]:
            one = np.zeros(gradient.shape, np.float32)
            one.flat[place] = 1
            want = np.sum(unit(one).astype(np.float64) * dy)
            np.testing.assert_allclose(gradient.flat[place], want, rtol=1e-4, atol=1e-4)


def test_tiles_give_what_one_piece_gives(monkeypatch):
    x, dy = values(11, (2, 3, 9, 8), 1), values(11, (2, 4, 7, 7), 2)
    attrs = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "data_format": "NCHW"}
    size = np.array([4, 3, 3, 2], np.int32)
    whole = run("Conv2DBackpropFilter", x, size, dy, const=[1], layout=NCHW, **attrs)
    monkeypatch.setattr(conv_adjoint, "TILE_BYTES", 1)
    np.testing.assert_allclose(run("Conv2DBackpropFilter", x, size, dy, const=[1], layout=NCHW, **attrs), whole, rtol=1e-12)


def test_formats_of_x_and_filter_are_their_own():
    x, dy = values(0, (1, 5, 6, 2), 1), values(0, (1, 4, 4, 3), 2)
    attrs = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "data_format": "NHWC"}
    hwcn = run("Conv2DBackpropFilter", x, np.array([2, 3, 2, 3], np.int32), dy, const=[1], layout=NHWC, **attrs,
               outputs=[Spec(0, (2, 3, 2, 3), HWCN)])  # fmt: skip
    nhwc = run("Conv2DBackpropFilter", x, np.array([3, 2, 3, 2], np.int32), dy, const=[1], layout=NHWC, **attrs,
               outputs=[Spec(0, (3, 2, 3, 2), NHWC)])  # fmt: skip
    assert np.array_equal(hwcn.transpose(3, 0, 1, 2), nhwc)


def test_filter_d_of_float16_gives_float32():
    call = bind("Conv2DBackpropFilterD", [Spec(1, (1, 2, 5, 5), NCHW), Spec(1, (1, 3, 3, 3), NCHW)],
                filter_size=[3, 2, 3, 3], strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])  # fmt: skip
    assert (call.infer()[0].dtype, call.infer()[0].shape) == (dtypes.FLOAT, (3, 2, 3, 3))


def test_unknown_filter_size_leaves_the_rank_and_the_filters():
    call = bind("Conv2DBackpropFilter", [Spec(0, (1, 2, 5, 5), NCHW), Spec(3, (4,), ND), Spec(0, (1, 3, 3, 3), NCHW)],
                strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])  # fmt: skip
    assert call.infer()[0].shape == (3, -1, -1, -1)
    assert call.value_inputs == (("filter_size", 1),)


def test_channels_last_int8_counts_exactly():
    filter_, dy = np.full((3, 3, 2, 4), 127, np.int8), np.full((1, 3, 3, 4), -128, np.int8)
    call = {"input_size": [1, 5, 5, 2], "strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
    y = run_d(filter_, dy, call)
    assert y[0, 2, 2, 0] == 9 * 4 * 127 * -128
    assert y.dtype == np.int32


def run_d(weight, dy, attrs):
    specs = [Spec(2, weight.shape, HWCN), Spec(2, dy.shape, NHWC)]
    call = bind("Conv2DBackpropInputD", specs, [Spec(3, (1, 5, 5, 2), NHWC)], **attrs)
    y = np.zeros((1, 5, 5, 2), np.int32)
    call.function()(weight, dy, y)
    return y


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"pads": [0, 0, 0]}, "pads"),
        ({"strides": [1, 2, 1, 1]}, "N and C"),
        ({"groups": 3}, "groups 3"),
        ({"pads": [1, 0, 0, 0]}, "4 along H"),
        ({"filter_size": [3, 2, 9, 3]}, "fits"),
        ({"filter_size": [3, 2, 3]}, "4 numbers"),
    ],
)
def test_what_does_not_fit_is_named(change, text):
    attrs = {"filter_size": [3, 2, 3, 3], "strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], **change}
    with pytest.raises(Refused, match=text):
        bind("Conv2DBackpropFilterD", [Spec(1, (1, 2, 5, 5), NCHW), Spec(1, (1, 3, 3, 3), NCHW)], **attrs)


@pytest.mark.parametrize(("groups", "dilation", "pads"), [(1, 1, (1, 1)), (2, 2, (2, 1)), (1, 1, (0, 2))])
def test_many_filters_over_several_images(groups, dilation, pads):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 16, 1, 7, 8)).astype(np.float32)
    weight = rng.normal(size=(64, 16 // groups, 1, 3, 3)).astype(np.float32)
    geometry = conv_adjoint.Geometry((1, 1, 1), (1, dilation, dilation), ((0, 0), pads, pads))
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *geometry.pads))[:, :, 0]
    reach = 2 * dilation + 1
    windows = np.lib.stride_tricks.sliding_window_view(padded, (reach, reach), (2, 3))[..., ::dilation, ::dilation]
    windows = windows.reshape(5, groups, 16 // groups, *windows.shape[2:])
    dy = rng.normal(size=(5, 64, 1, *windows.shape[3:5])).astype(np.float32)
    apart = dy.reshape(5, groups, 64 // groups, *windows.shape[3:5]).astype(np.float64)
    want = np.einsum("ngchwij,ngohw->gocij", windows, apart).reshape(weight.shape)
    got = conv_adjoint.filter_gradient(x, dy, (1, 3, 3), geometry, groups)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)

    back = np.zeros(padded.shape)
    split = weight.reshape(groups, 64 // groups, 16 // groups, 3, 3).astype(np.float64)
    for i, j in np.ndindex(3, 3):
        part = np.einsum("ngohw,goc->ngchw", apart, split[..., i, j]).reshape(5, 16, *windows.shape[3:5])
        back[:, :, i * dilation :, j * dilation :][:, :, : part.shape[2], : part.shape[3]] += part
    inner = back[:, :, pads[0] : pads[0] + 7, pads[0] : pads[0] + 8]
    got = conv_adjoint.input_gradient(dy, weight, (1, 7, 8), geometry, groups)
    np.testing.assert_allclose(got[:, :, 0], inner, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("op", ["Conv2DBackpropInputD", "Conv2DTransposeD"])
def test_padding_makes_no_nan_of_an_infinite_filter(op):
    dy, weight = np.ones((1, 1, 3, 3), np.float16), np.ones((1, 1, 3, 3), np.float16)
    weight[0, 0, 0, 0] = np.inf
    tensors = (weight, dy) if op == "Conv2DBackpropInputD" else (dy, weight)
    y = run(op, *tensors, layout=0, input_size=[1, 1, 3, 3], strides=[1] * 4, pads=[1] * 4)[0, 0]
    assert np.all(np.isinf(y[:2, :2]))  # what the infinite element reaches
    assert y[2].tolist() == [4, 6, 4]
    assert y[:, 2].tolist() == [4, 6, 4]
