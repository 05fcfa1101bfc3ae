"""Three-dimensional, depthwise and transposed convolutions; large calls in parts of their batch."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import batches
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, values

NCHW, NHWC, ND, HWCN, NCDHW = 0, 1, 2, 16, 30


def test_conv3d_of_ones_counts_its_elements():
    x, weight = np.ones((1, 1, 2, 2, 2), np.float16), np.ones((1, 1, 2, 2, 2), np.float16)
    attrs = {"strides": [1] * 5, "pads": [1, 0, 0, 0, 0, 0], "data_format": "NCDHW"}
    np.testing.assert_array_equal(run("Conv3D", x, weight, layout=NCDHW, **attrs).ravel(), [4, 8])


def test_depthwise_orders_its_channels_by_input_channel():
    x = np.array([1, 10], np.float16).reshape(1, 2, 1, 1)
    weight = np.array([[1, 2], [3, 4], [5, 6]], np.float16).reshape(3, 2, 1, 1)  # (multiplier, C)
    y = run("DepthwiseConv2D", x, weight, layout=NCHW, strides=[1] * 4, pads=[0] * 4, data_format="NCHW")
    np.testing.assert_array_equal(y.ravel(), [1, 3, 5, 20, 40, 60])


def transposed_specs(size, const=True):
    array = np.array(size, np.int32)
    return [Spec(3, (4,), const=array.tobytes() if const else None), Spec(1, (1, 1, 2, 2), NCHW), Spec(1, (1, 1, 2, 2), NCHW)]


TRANSPOSED = {"strides": [1, 1, 2, 2], "pads": [0, 0, 0, 0], "data_format": "NCHW"}


@pytest.mark.parametrize(("size", "height"), [([1, 1, 4, 5], 4), ([1, 1, 5, 4], 5), ([0, 0, 0, 0], 4)])
def test_transposed_shape_is_input_size(size, height):
    (one,) = bind("Conv2DTranspose", transposed_specs(size), **TRANSPOSED).infer()
    assert one.shape[2] == height


def test_transposed_shape_before_input_size_is_known():
    (one,) = bind("Conv2DTranspose", transposed_specs([1, 1, 4, 5], const=False), **TRANSPOSED).infer()
    assert (one.shape, one.ranges) == ((1, 1, -1, -1), ((1, 1), (1, 1), (4, 5), (4, 5)))


def test_transposed_values():
    x = np.array([[1, 2], [3, 4]], np.float16).reshape(1, 1, 2, 2)
    attrs = {**TRANSPOSED, "output_padding": [0, 0, 1, 0], "input_size": [0, 0, 0, 0]}
    y = run("Conv2DTransposeD", x, np.ones((1, 1, 2, 2), np.float16), np.array([10], np.float16), layout=NCHW, **attrs)
    np.testing.assert_array_equal(y[0, 0], [[11, 11, 12, 12], [11, 11, 12, 12], [13, 13, 14, 14], [13, 13, 14, 14], [10] * 4])


@pytest.mark.parametrize(
    ("size", "attrs", "rule"),
    [
        ([1, 1, 6, 4], {}, "HA519"),
        ([1, 1, 4], {}, "HA519"),
        ([1, 2, 4, 4], {}, "HA519"),
        ([1, 1, 4, 4], {"output_padding": [0, 0, 1, 0]}, "HA519"),
        ([1, 1, 4, 4], {"output_padding": [0, -1]}, "HA508"),
        ([1, 1, 4, 4], {"groups": 2}, "HA504"),
    ],
)
def test_transposed_refusals(size, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind("Conv2DTranspose", transposed_specs(size), **{**TRANSPOSED, **attrs})
    assert caught.value.rule == rule


@pytest.mark.parametrize("code", [dtypes.FLOAT, dtypes.FLOAT16])
def test_large_batches_run_in_parts(code, monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (7, 3, 5, 5)).astype(dtypes.numpy_dtype(code))
    weight = rng.uniform(-1, 1, (4, 3, 3, 3)).astype(x.dtype)
    outputs = [Spec(code, (7, 4, 5, 5), NCHW)]
    attrs = {"strides": [1] * 4, "pads": [1] * 4}
    whole = run("Conv2D", x, weight, None, outputs=outputs, layout=NCHW, **attrs)
    monkeypatch.setattr(batches, "LARGE_BYTES", 500)
    monkeypatch.setattr(batches, "PART_BYTES", 900)
    seen = []
    original = batches.shorter
    monkeypatch.setattr(batches, "shorter", lambda *given: seen.append(original(*given).call.shape("x")[0]) or original(*given))
    parts = run("Conv2D", x, weight, None, outputs=outputs, layout=NCHW, **attrs)
    assert {2, 3} <= set(seen)
    np.testing.assert_array_equal(parts, whole)


def test_parts_give_way_to_an_output_in_the_inputs_memory(monkeypatch):
    monkeypatch.setattr(batches, "LARGE_BYTES", 8)
    monkeypatch.setattr(batches, "PART_BYTES", 8)
    memory = np.arange(12, dtype=np.float32)
    call = bind("Conv2D", [Spec(0, (4, 2, 1, 1), 0), Spec(0, (2, 2, 1, 1), 0)], [Spec(0, (4, 2, 1, 1), 0)],
                strides=[1] * 4, pads=[0] * 4)  # fmt: skip
    x, y = memory[:8].reshape(4, 2, 1, 1), memory[2:10].reshape(4, 2, 1, 1)
    call.function()(x, np.array([[0, 1], [1, 0]], np.float32).reshape(2, 2, 1, 1), y)
    np.testing.assert_array_equal(y.ravel(), [1, 0, 3, 2, 5, 4, 7, 6])


def test_five_dims_called_nchw_have_their_channels_first():
    x, weight = values(0, (1, 2, 3, 4, 5)), values(0, (3, 2, 2, 2, 2), 1)
    attrs = {"strides": [1] * 5, "pads": [0] * 6, "dilations": [1] * 5}
    named = run("Conv3D", x, weight, layout=NCDHW, **attrs)
    np.testing.assert_array_equal(run("Conv3D", x, weight, layout=0, dim_size=5, **attrs), named)
    exact = sum(
        weight[:, :, d, h, w].astype(np.float64) @ x[0, :, d : d + 2, h : h + 3, w : w + 4].reshape(2, -1)
        for d in range(2) for h in range(2) for w in range(2)
    )  # fmt: skip
    np.testing.assert_allclose(named.reshape(3, -1), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "op", ["Conv2D", "DepthwiseConv2D", "Conv2DBackpropFilterD", "Conv2DBackpropInputD", "Conv2DTransposeD"]
)
@pytest.mark.parametrize("name", ["strides", "dilations", "pads"])
def test_numbers_beyond_32_bits_are_refused_by_name(op, name):
    x, weight = np.ones((1, 2, 4, 4), np.float16), np.ones((1 if op.startswith("Depthwise") else 2, 2, 3, 3), np.float16)
    y = np.ones((1, 2, 2, 2), np.float16)
    inputs = {"Conv2DBackpropFilterD": (x, y), "Conv2DBackpropInputD": (weight, y), "Conv2DTransposeD": (y, weight)}
    sizes = {"Conv2DBackpropFilterD": {"filter_size": [2, 2, 3, 3]}, "Conv2DBackpropInputD": {"input_size": [1, 2, 4, 4]},
             "Conv2DTransposeD": {"input_size": [1, 2, 4, 4]}}  # fmt: skip
    attrs = {"strides": [1] * 4, "dilations": [1] * 4, "pads": [0] * 4, **sizes.get(op, {})}
    attrs[name] = [1, 1, 2**40, 2**40]
    with pytest.raises(Refused, match=rf"{name} = \[1, 1, {2**40}, {2**40}\]; allowed: 4 numbers from . to 2147483647"):
        bind(op, inputs.get(op, (x, weight)), layout=NCHW, **attrs)
