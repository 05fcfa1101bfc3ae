"""Convolutions whose images, filters and results each have a format of their own: the same numbers as in NCHW."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hostacl.config import override
from hostacl.ops import find
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import attr

CODES = {name: getattr(formats, name) for name in ("NCHW", "NHWC", "HWCN", "NCDHW", "NDHWC", "DHWCN")}
BY_AXIS = ("strides", "dilations", "output_padding")
FOUR, FIVE = ("NCHW", "NHWC", "HWCN"), ("NCDHW", "NDHWC", "DHWCN")


def ordered(array, letters, wanted):
    return np.ascontiguousarray(np.transpose(array, [letters.index(one) for one in wanted]))


def called(op, tensors, layouts, result, attrs, sizes=()):
    """The result in NCHW of a call with tensors of NCHW laid out otherwise; ``sizes``: attributes that are shapes."""
    standard = FOUR[0] if tensors[0].ndim == 4 else FIVE[0]
    order = [standard.index(one) for one in layouts[0]]
    given = {name: attr([value[at] for at in order] if name in BY_AXIS else value) for name, value in attrs.items()}
    given |= {name: attr([dict(zip(standard, shape, strict=True))[one] for one in result]) for name, shape in sizes}
    arrays = [ordered(one, standard, layout) if layout else one for one, layout in zip(tensors, layouts, strict=True)]
    codes = {np.dtype(np.int8): dtypes.INT8, np.dtype(np.int32): dtypes.INT32, np.dtype(np.float16): dtypes.FLOAT16}
    specs = [TensorSpec(codes[one.dtype], one.shape, CODES.get(layout, 2)) for one, layout in zip(arrays, layouts, strict=True)]
    blank = [TensorSpec(dtypes.INT32 if arrays[0].dtype == np.int8 else dtypes.FLOAT16, (-2,), CODES[result])]
    with override(dtypes="permissive"):
        (inferred,) = find(op).bind(specs, blank, given).infer()
        described = [TensorSpec(inferred.dtype, inferred.shape, CODES[result])]
        y = np.zeros(inferred.shape, dtypes.numpy_dtype(inferred.dtype))
        find(op).bind(specs, described, given).function()(*arrays, y)
    return ordered(y, result, standard)


def numbers(seed, *shape, dtype=np.float16):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def by_hand(x, weight, stride, dilation, pads, groups, bias=None):
    """The convolution of NCHW images in exact integers, tap by tap."""
    padded = np.pad(x.astype(np.int64), ((0, 0), (0, 0), pads[:2], pads[2:]))
    filters, each, high, wide = weight.shape
    rows = (padded.shape[2] - (high - 1) * dilation[0] - 1) // stride[0] + 1
    columns = (padded.shape[3] - (wide - 1) * dilation[1] - 1) // stride[1] + 1
    y = np.zeros((len(x), filters, rows, columns), np.int64)
    for one, tap, i, j in product(range(filters), range(each), range(high), range(wide)):
        channel = one // (filters // groups) * each + tap
        down = slice(i * dilation[0], i * dilation[0] + (rows - 1) * stride[0] + 1, stride[0])
        across = slice(j * dilation[1], j * dilation[1] + (columns - 1) * stride[1] + 1, stride[1])
        y[:, one] += padded[:, channel, down, across] * int(weight[one, tap, i, j])
    return y if bias is None else y + bias.astype(np.int64)[:, None, None]


UNEVEN = {"strides": [1, 1, 2, 1], "dilations": [1, 1, 1, 2], "pads": [1, 0, 2, 1]}


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
@pytest.mark.parametrize(("image", "weights", "result"), list(product(FOUR, FOUR, FOUR)))
def test_groups_dilations_and_uneven_pads(image, weights, result, dtype):
    x, weight = numbers(0, 2, 4, 6, 7, dtype=dtype), numbers(1, 6, 2, 3, 2, dtype=dtype)
    bias = numbers(2, 6, dtype=np.int32 if dtype == np.int8 else dtype)
    got = called("Conv2D", [x, weight, bias], [image, weights, ""], result, {**UNEVEN, "groups": 2})
    np.testing.assert_array_equal(got, by_hand(x, weight, (2, 1), (1, 2), (1, 0, 2, 1), 2, bias))


@pytest.mark.parametrize(("image", "weights"), list(product(FOUR, FOUR)))
def test_an_offset_of_x_is_what_means_zero(image, weights):
    x, weight = numbers(0, 1, 3, 5, 5, dtype=np.int8), numbers(1, 2, 3, 3, 3, dtype=np.int8)
    got = called("Conv2D", [x, weight], [image, weights], image, {"strides": [1] * 4, "pads": [1] * 4, "offset_x": 3})
    np.testing.assert_array_equal(got, by_hand(x.astype(np.int64) - 3, weight, (1, 1), (1, 1), (1, 1, 1, 1), 1))


@pytest.mark.parametrize("weights", FOUR)
@pytest.mark.parametrize("image", FOUR)
def test_depthwise(image, weights):
    x, weight = numbers(0, 2, 3, 6, 7), numbers(1, 2, 3, 3, 2)  # two filters for each of three channels
    got = called("DepthwiseConv2D", [x, weight], [image, weights], image, UNEVEN)
    grouped = weight.swapaxes(0, 1).reshape(6, 1, 3, 2)
    np.testing.assert_array_equal(got, by_hand(x, grouped, (2, 1), (1, 2), (1, 0, 2, 1), 3))


@pytest.mark.parametrize(("image", "weights"), list(product(FIVE, FIVE)))
def test_three_dims(image, weights):
    x, weight = numbers(0, 2, 4, 3, 4, 5), numbers(1, 6, 2, 2, 3, 2)
    attrs = {"strides": [1, 1, 1, 2, 1], "dilations": [1] * 5, "pads": [1, 0, 1, 0, 2, 1], "groups": 2}
    plain = called("Conv3D", [x, weight], [FIVE[0]] * 2, FIVE[0], attrs)
    np.testing.assert_array_equal(called("Conv3D", [x, weight], [image, weights], image, attrs), plain)
    geometry = ((2, 1), (1, 1), (1, 0, 2, 1), 2)
    here = [by_hand(x[:, :, at], weight[:, :, 1], *geometry) for at in range(3)]
    before = [np.zeros_like(here[0]), *(by_hand(x[:, :, at], weight[:, :, 0], *geometry) for at in (0, 1))]
    np.testing.assert_array_equal(plain, np.stack([one + other for one, other in zip(here, before, strict=True)], axis=2))


@pytest.mark.parametrize(("image", "weights", "result"), list(product(FOUR, FOUR, FOUR)))
def test_transposed(image, weights, result):
    x, weight = numbers(0, 2, 4, 3, 5), numbers(1, 4, 3, 3, 2)
    sizes = [("input_size", (2, 6, 5, 6))]
    attrs = {"strides": [1, 1, 2, 1], "dilations": [1] * 4, "pads": [1, 1, 0, 0], "groups": 2, "output_padding": [0] * 4}
    got = called("Conv2DTransposeD", [x, weight], [image, weights], result, attrs, sizes)
    wanted = np.zeros((2, 6, 7, 6), np.int64)
    for channel, tap, i, j in product(range(4), range(3), range(3), range(2)):
        term = x[:, channel].astype(np.int64) * int(weight[channel, tap, i, j])
        wanted[:, channel // 2 * 3 + tap, i : i + 5 : 2, j : j + 5] += term
    np.testing.assert_array_equal(got, wanted[:, :, 1:6])
