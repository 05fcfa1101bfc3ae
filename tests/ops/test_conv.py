"""Conv2D against a loop over output places in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import correlation
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, eps, run, values

NCHW, NHWC, ND, HWCN = 0, 1, 2, 16


def reference(x, weight, strides, pads, dilations, groups):
    """Correlation by a loop over places; x NCHW, weight OIHW, (h, w) pairs, pads top, bottom, left, right."""
    filters, channels, kh, kw = weight.shape
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pads[:2], pads[2:]))
    oh, ow = ((padded.shape[2 + n] - (k - 1) * dilations[n] - 1) // strides[n] + 1 for n, k in enumerate((kh, kw)))
    y = np.zeros((x.shape[0], filters, oh, ow))
    for f, i, j in itertools.product(range(filters), range(oh), range(ow)):
        group = f // (filters // groups)
        rows = slice(i * strides[0], i * strides[0] + (kh - 1) * dilations[0] + 1, dilations[0])
        columns = slice(j * strides[1], j * strides[1] + (kw - 1) * dilations[1] + 1, dilations[1])
        patch = padded[:, group * channels : (group + 1) * channels, rows, columns]
        y[:, f, i, j] = (patch * weight[f].astype(np.float64)).sum(axis=(1, 2, 3))
    return y


GEOMETRY = [
    ((1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((2, 1), (1, 0, 2, 1), (1, 2), 1),
    ((1, 2), (0, 2, 1, 0), (2, 1), 2),
    ((1, 1), (1, 1, 1, 1), (1, 1), 4),
]


def attributes(order, strides, dilations):
    h, w = order.index("H"), order.index("W")
    lists = []
    for pair in (strides, dilations):
        values = [1, 1, 1, 1]
        values[h], values[w] = pair
        lists.append(values)
    return {"strides": lists[0], "dilations": lists[1]}


@pytest.mark.parametrize(("strides", "pads", "dilations", "groups"), GEOMETRY)
@pytest.mark.parametrize("code", [0, 1, 27])
@pytest.mark.parametrize(("data", "letters"), [(NCHW, "NCHW"), (NHWC, "HWCN"), (NHWC, "NHWC"), (NCHW, "HWCN")])
def test_geometry_and_formats(strides, pads, dilations, groups, code, data, letters):
    order = "NCHW" if data == NCHW else "NHWC"
    x, weight, bias = (
        values(code, (2, 4, 7, 6), low=-1, high=1),
        values(code, (8, 4 // groups, 3, 2), 1, -1, 1),
        values(0, (8,), 2),
    )
    exact = reference(x, weight, strides, pads, dilations, groups) + bias.astype(np.float64)[:, None, None]
    stored_x = np.ascontiguousarray(x.transpose(["NCHW".index(letter) for letter in order]))
    stored_w = np.ascontiguousarray(weight.transpose(["NCHW".index(letter) for letter in letters]))
    specs = [
        Spec(code, stored_x.shape, data),
        Spec(code, stored_w.shape, {"NCHW": 0, "NHWC": 1, "HWCN": 16}[letters]),
        Spec(0, (8,)),
    ]
    attrs = {**attributes(order, strides, dilations), "pads": list(pads), "groups": groups, "data_format": order}
    shape = tuple(exact.shape["NCHW".index(letter)] for letter in order)
    (one,) = bind("Conv2D", specs, **attrs).infer()
    assert (one.shape, one.format) == (shape, data)
    y = np.zeros(shape, dtypes.numpy_dtype(code))
    bind("Conv2D", specs, [Spec(code, shape, data)], **attrs).function()(stored_x, stored_w, bias, y)
    got = y.transpose([order.index(letter) for letter in "NCHW"]).astype(np.float64)
    np.testing.assert_allclose(got, exact, rtol=2 * eps(code), atol=1e-5 if code == 0 else eps(code))


def test_int8_is_exact_and_loses_its_offsets():
    x, weight = values(2, (1, 3, 5, 5), low=-128, high=127), values(2, (4, 3, 3, 3), 1, -128, 127)
    attrs = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1], "layout": NCHW}
    result = run("Conv2D", x, weight, **attrs)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, reference(x, weight, (1, 1), (1, 1, 1, 1), (1, 1), 1))
    bias, offset_w = np.arange(4, dtype=np.int32), np.array([1, 2, 3, 4], np.int8)
    shifted = reference(x.astype(int) - 7, weight.astype(int) - offset_w[:, None, None, None], (1, 1), (1, 1, 1, 1), (1, 1), 1)
    np.testing.assert_array_equal(run("Conv2D", x, weight, bias, offset_w, offset_x=7, **attrs), shifted + bias[:, None, None])


def test_half_may_give_float32():
    x, weight = values(1, (1, 2, 4, 4)), values(1, (3, 2, 2, 2), 1)
    y = run("Conv2D", x, weight, outputs=[Spec(0, (1, 3, 3, 3), NCHW)], layout=NCHW, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])
    np.testing.assert_allclose(y, reference(x, weight, (1, 1), (0, 0, 0, 0), (1, 1), 1), rtol=1e-4, atol=1e-4)


def test_unknown_attributes_and_no_groups_as_a_real_client_sends_it():
    x, weight = values(0, (1, 4, 4, 4)), values(0, (4, 1, 3, 3), 1)
    attrs = {"auto_pad": "NOTSET", "dim_size": 4, "group": 4, "trans_2d": True}
    y = run("Conv2D", x, weight, None, layout=NCHW, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0], **attrs)
    np.testing.assert_allclose(y, reference(x, weight, (1, 1), (0, 0, 0, 0), (1, 1), 4), rtol=1e-5, atol=1e-5)


def test_small_tiles_give_the_same(monkeypatch):
    x, weight = values(2, (2, 3, 9, 8), low=-128, high=127), values(2, (2, 3, 3, 3), 1, -128, 127)
    attrs = {"layout": NCHW, "strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1]}
    whole = run("Conv2D", x, weight, **attrs)
    monkeypatch.setattr(correlation, "TILE_BYTES", 500)
    np.testing.assert_array_equal(run("Conv2D", x, weight, **attrs), whole)
    np.testing.assert_array_equal(whole, reference(x, weight, (1, 1), (1, 1, 1, 1), (1, 1), 1))


def channels_last(array):
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("code", [0, 1, 27])
def test_channels_last_in_parts_of_the_batch_and_in_the_memory_of_x(code, monkeypatch):
    monkeypatch.setattr(correlation, "PART_BYTES", 1)
    x, weight = values(code, (5, 3, 6, 7), low=-1, high=1), values(code, (3, 3, 3, 3), 1, -1, 1)
    bias = values(0, (3,), 2)
    exact = reference(x, weight, (1, 1), (1, 1, 1, 1), (1, 1), 1) + bias.astype(np.float64)[:, None, None]
    stored, filters = channels_last(x), np.ascontiguousarray(weight.transpose(2, 3, 1, 0))
    specs = [Spec(code, stored.shape, NHWC), Spec(code, filters.shape, HWCN), Spec(0, (3,), ND)]
    attrs = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1], "data_format": "NHWC"}
    bind("Conv2D", specs, [Spec(code, stored.shape, NHWC)], **attrs).function()(stored, filters, bias, stored)
    got = stored.transpose(0, 3, 1, 2).astype(np.float64)
    np.testing.assert_allclose(got, exact, rtol=2 * eps(code), atol=1e-5 if code == 0 else eps(code))


def test_an_empty_batch_and_empty_channels():
    attrs = {"layout": NCHW, "strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1]}
    for code in (0, 1, 2):
        assert run("Conv2D", values(code, (0, 3, 4, 4)), values(code, (5, 3, 3, 3), 1), **attrs).shape == (0, 5, 4, 4)
        empty = run("Conv2D", values(code, (2, 0, 4, 4)), values(code, (5, 0, 3, 3), 1), groups=1, **attrs)
        np.testing.assert_array_equal(empty, np.zeros((2, 5, 4, 4)))


@pytest.mark.parametrize(("data", "letters"), [(NCHW, "NCHW"), (NHWC, "HWCN")])
@pytest.mark.parametrize("multiplier", [1, 2, 6])
def test_depthwise_straight_into_y(data, letters, multiplier):
    code, order = 1, "NCHW" if data == NCHW else "NHWC"
    x, weight = values(code, (2, 5, 9, 8), low=-1, high=1), values(code, (multiplier, 5, 3, 3), 1, -1, 1)
    bias, flat = values(0, (5 * multiplier,), 2), weight.swapaxes(0, 1).reshape(5 * multiplier, 1, 3, 3)
    exact = reference(x, flat, (2, 1), (1, 0, 0, 1), (1, 2), 5) + bias.astype(np.float64)[:, None, None]
    stored = [np.ascontiguousarray(one.transpose(["NCHW".index(letter) for letter in axes]))
              for one, axes in ((x, order), (weight, letters), (exact, order))]  # fmt: skip
    layout = {"NCHW": NCHW, "HWCN": HWCN}[letters]
    specs = [Spec(code, stored[0].shape, data), Spec(code, stored[1].shape, layout), Spec(0, bias.shape)]
    attrs = {**attributes(order, (2, 1), (1, 2)), "pads": [1, 0, 0, 1], "data_format": order}
    y = np.zeros(stored[2].shape, dtypes.numpy_dtype(code))
    bind("DepthwiseConv2D", specs, [Spec(code, y.shape, data)], **attrs).function()(*stored[:2], bias, y)
    np.testing.assert_allclose(y.astype(np.float64), stored[2], rtol=2 * eps(code), atol=eps(code))


@pytest.mark.parametrize(
    ("x", "weight", "attrs", "text"),
    [
        ((1, 3, 4, 4), (2, 2, 1, 1), {"groups": 2}, "HA504: Conv2D: x has 3 channels, the filter 2 for 2 outputs, groups is 2"),
        ((1, 3, 4, 4), (2, 2, 1, 1), {}, "HA504: Conv2D: x has 3 channels, the filter 2 for 2 outputs, groups is absent"),
        ((1, 2, 4, 4), (2, 2, 5, 1), {}, "HA504: Conv2D: the filter reaches over 5 along H, the padded x has 4"),
        ((1, 2, 4, 4), (2, 2, 1, 1), {"strides": [1, 1, 0, 1]}, r"HA508: Conv2D: strides = \[1, 1, 0, 1\]"),
        ((1, 2, 4, 4), (2, 2, 1, 1), {"strides": [1, 2, 1, 1]}, "HA508: Conv2D: strides .*entries for N and C must be 1"),
        ((1, 2, 4), (2, 2, 1, 1), {}, "HA516: Conv2D: x"),
    ],
)
def test_refusals(x, weight, attrs, text):
    specs = [Spec(0, x, NCHW), Spec(0, weight, NCHW)]
    with pytest.raises(Refused, match=text):
        bind("Conv2D", specs, **{"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], **attrs})


def test_unknown_dims_stay_unknown_with_ranges():
    specs = [Spec(0, (-1, 4, -1, 7), NCHW, ranges=((1, 8), (4, 4), (3, 64), (7, 7))), Spec(0, (6, 2, 3, 2), NCHW)]
    (one,) = bind("Conv2D", specs, strides=[1, 1, 2, 1], pads=[1, 0, 2, 1]).infer()
    assert one.shape == (-1, 6, -1, 9)
    assert one.ranges == ((1, 8), (6, 6), (1, 32), (9, 9))


@pytest.mark.parametrize("groups", [1, 2])
def test_the_result_may_lie_in_the_memory_of_x(groups):
    x, weight, bias = values(0, (3, 2, 5, 5)), values(0, (2, 2 // groups, 3, 3), 1), values(0, (2,), 2)
    attrs = {"layout": NCHW, "strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1]}
    expected = reference(x, weight, (1, 1), (1, 1, 1, 1), (1, 1), groups) + bias.reshape(-1, 1, 1)
    bind("Conv2D", (x, weight, bias), [Spec(0, x.shape, NCHW)], **attrs).function()(x, weight, bias, x)
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [(1, 1), (3, 2)])
def test_columns_of_one_call_are_not_those_of_the_next(size):
    x, one, other = values(0, (1, 2, 6, 6)), values(0, (3, 2, *size), 1), values(0, (3, 2, *size), 2)
    attrs = {"layout": NCHW, "strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
    first, second = run("Conv2D", x, one, **attrs), run("Conv2D", x * 2, other, **attrs)
    np.testing.assert_allclose(first, reference(x, one, (1, 1), (0,) * 4, (1, 1), 1), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(second, reference(x * 2, other, (1, 1), (0,) * 4, (1, 1), 1), rtol=1e-5, atol=1e-4)
