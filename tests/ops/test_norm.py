"""Norms of rows and groups: worked values, the forms clients call, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import norm_group, pooling
from hostacl.tensors import formats
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SIX = np.ones(6, np.float32)


def test_layer_norm_as_torch_npu_calls_it():
    y, mean, variance = run("LayerNorm", X, np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32),
                            begin_norm_axis=1, begin_params_axis=1, epsilon=1e-5)  # fmt: skip
    np.testing.assert_allclose(mean, X.mean(axis=(1, 2), keepdims=True))
    np.testing.assert_allclose(variance, X.var(axis=(1, 2), keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(y, (X - mean) / np.sqrt(variance + 1e-5), rtol=1e-5, atol=1e-6)


def test_group_norm_as_torch_npu_calls_it():
    x = np.arange(24, dtype=np.float32).reshape(2, 6, 2, 1)
    outputs = [Spec(0, x.shape, 0), Spec(0, (6,)), Spec(0, (6,))]
    y, mean, variance = run("GroupNorm", x, SIX, 0 * SIX, outputs=outputs, layout=0, num_groups=3, eps=1e-5, is_training=True)
    rows = x.reshape(6, 4)
    np.testing.assert_allclose(mean, rows.mean(axis=1))
    np.testing.assert_allclose(variance, rows.var(axis=1), rtol=1e-6)
    np.testing.assert_allclose(y.reshape(6, 4), (rows - rows.mean(axis=1)[:, None]) / np.sqrt(1.25 + 1e-5), rtol=1e-5)


def test_an_attribute_of_the_older_form_chooses_it():
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 4, 1)
    variance, root = (run("GroupNormSilu", x, num_groups=2, eps=0.0, **more)[2] for more in ({}, {"activate_silu": False}))
    np.testing.assert_allclose(variance, [[1.25, 1.25]])
    np.testing.assert_allclose(root, 1 / np.sqrt(variance))


def test_lp_norm_in_two_steps_as_torch_npu_calls_it():
    total = run("LpNormReduceV2", X, p=2.0, axes=[], keepdim=False, epsilon=0.0)
    assert run("LpNormUpdateV2", total, p=2.0, epsilon=0.0) == pytest.approx(np.sqrt((X * X).sum()))


@pytest.mark.parametrize(("p", "want"), [(2147483647, 11), (-2147483648, 0), (0, 11), (1, 66)])
def test_special_powers(p, want):
    x = np.arange(12, dtype=np.float32)
    assert run("LpNorm", x, p=p).item() == pytest.approx(max(want, 1e-12))
    assert run("LpNormV2", x, p=float(np.float32(p))).item() == pytest.approx(max(want, 1e-12))


def test_normalized_shape_in_device_memory():
    specs = [Spec(0, (2, 3, 4)), Spec(3, (2,))]
    assert [one.shape for one in bind("LayerNormV4", specs).infer()] == [(2, 3, 4), (2, 1, 1), (2, 1, 1)]
    with pytest.raises(Refused, match="normalized_shape"):
        bind("LayerNormV4", [X, np.array([3, 5], np.int32)], const=[1])


def test_statistics_of_halves_may_be_float32():
    outputs = [Spec(1, (2, 3, 4)), Spec(0, (2, 3, 1)), Spec(0, (2, 3, 1))]
    gamma = np.ones(4, np.float32)
    _, mean, _ = run("LayerNormV4", X.astype(np.float16), np.array([4], np.int32), gamma, gamma, outputs=outputs)
    np.testing.assert_array_equal(mean, X.mean(axis=2, keepdims=True))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("LayerNorm", [X, SIX, SIX], {"begin_norm_axis": 2, "begin_params_axis": 2}, "HA504"),
        ("LayerNorm", [X, SIX[:4], SIX[:4]], {"begin_norm_axis": 3}, "HA509"),
        ("RmsNorm", [X, SIX], {}, "HA504"),
        ("RmsNorm", [X[0, 0], np.ones((1, 4), np.float32)], {}, "HA516"),
        ("AddRmsNorm", [X, X[0], SIX[:4]], {}, "HA504"),
        ("GroupNorm", [X, SIX[:3], SIX[:3]], {"num_groups": 2}, "HA508"),
        ("LRN", [X], {}, "HA516"),
        ("LpNorm", [X], {"axes": [3]}, "HA509"),
        ("L2Normalize", [X], {"axis": [1, 1]}, "HA509"),
        ("NormalizeBatch", [X, np.ones(2, np.int32)], {"normalize_type": "all"}, "HA508"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule


@pytest.mark.parametrize("region", ["ACROSS_CHANNELS", "WITHIN_CHANNEL"])
@pytest.mark.parametrize("order", ["NCHW", "NHWC", "HWCN", "CHWN"])
def test_lrn_goes_by_the_letters_of_the_format(order, region, monkeypatch):
    monkeypatch.setattr(norm_group, "tiles", lambda x: pooling.tiles(x, 64))
    x = np.random.default_rng(9).normal(size=(2, 5, 4, 3)).astype(np.float32)
    wide, total = np.square(x.astype(np.float64)), np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        n, c, h, w = place
        near = [slice(max(at - 1, 0), at + 2) for at in (c, h, w)]
        own = wide[n, near[0], h, w] if region == "ACROSS_CHANNELS" else wide[n, c, near[1], near[2]]
        total[place] = own.sum()
    wanted = x / (2 + 0.5 * total) ** 0.75
    moved = x.transpose(["NCHW".index(letter) for letter in order])
    y = run("LRN", np.ascontiguousarray(moved), layout=formats.CODES[order], depth_radius=1, bias=2.0, alpha=0.5, beta=0.75,
            norm_region=region)  # fmt: skip
    np.testing.assert_allclose(y.transpose([order.index(letter) for letter in "NCHW"]), wanted, rtol=1e-6)
