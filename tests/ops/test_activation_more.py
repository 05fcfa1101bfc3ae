"""Activations beyond the first few: worked values, NaN, refusals, inference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run


def test_gelu_keeps_float32s_digits_everywhere():
    x = np.concatenate([np.linspace(-14, 14, 20001), np.geomspace(1e-30, 1, 500)]).astype(np.float32)
    exact = np.array([0.5 * float(one) * math.erfc(-float(one) / math.sqrt(2)) for one in x])
    by_tanh = []
    for one in map(float, x):
        twice = 2 * math.sqrt(2 / math.pi) * (one + 0.044715 * one**3)
        by_tanh.append(one / (1 + math.exp(-twice)))
    for got, want in (
        (run("GeluV2", x), exact),
        (run("GeluV2", x, approximate="tanh"), np.array(by_tanh)),
        (run("Gelu", x), np.array(by_tanh)),
    ):
        ulp = np.spacing(np.maximum(np.abs(want), 1e-45).astype(np.float32)).astype(np.float64)
        assert np.max(np.abs(got.astype(np.float64) - want) / ulp) <= 2


@pytest.mark.parametrize(
    ("op", "attrs"),
    [("Relu6", {}), ("HardShrink", {}), ("SoftShrink", {}), ("LeakyRelu", {}), ("Elu", {}), ("Mish", {}),
     ("ThresholdV2D", {"threshold": 1.0, "value": 2.0}),
     ("GeluV2", {}), ("Softplus", {}), ("HardSwish", {}), ("Swish", {}), ("Selu", {}), ("CeluV2", {})],
)  # fmt: skip
def test_nan_stays(op, attrs):
    got = run(op, np.array([np.nan, 1], np.float32), **attrs)
    assert np.isnan(got[0])
    assert not np.isnan(got[1])


def test_large_arguments_do_not_overflow():
    x = np.array([-1000, -90, 0, 90, 1000], np.float32)
    np.testing.assert_allclose(run("Softplus", x), [0, 0, math.log(2), 90, 1000], rtol=1e-6, atol=1e-38)
    np.testing.assert_allclose(run("LogSigmoid", x), [-1000, -90, -math.log(2), 0, 0], rtol=1e-6, atol=1e-38)
    np.testing.assert_array_equal(run("Mish", x)[[0, 2, 3, 4]], np.array([0, 0, 90, 1000], np.float32))


def test_threshold_gives_one_and_zero():
    np.testing.assert_array_equal(run("Threshold", np.array([1, 2, 3], np.float32), threshold=2.0), [0, 0, 1])


def test_threshold_of_integers_outside_their_type():
    x = np.array([0, 100, 255], np.uint8)
    np.testing.assert_array_equal(run("ThresholdV2D", x, threshold=-5.0, value=7.0), x)
    np.testing.assert_array_equal(run("ThresholdV2D", x, threshold=1e9, value=7.0), [7, 7, 7])
    np.testing.assert_array_equal(run("ThresholdV2D", x, threshold=99.5, value=7.0), [7, 100, 255])


def test_selu_cuts_integers_off():
    np.testing.assert_array_equal(run("Selu", np.array([-3, -1, 0, 2], np.int8)), [-1, -1, 0, 2])


def test_hard_sigmoid_of_integers_is_a_float():
    np.testing.assert_allclose(run("HardSigmoid", np.array([-9, 0, 1, 9], np.int32)), [0, 0.5, 4 / 6, 1], rtol=1e-6)


def test_prelu_takes_its_channels_from_the_format():
    x = -np.ones((1, 2, 1, 3), np.float32)
    slopes = np.array([2, 3, 4], np.float32)
    np.testing.assert_array_equal(run("PRelu", x, slopes, layout=1)[0, 0, 0], [-2, -3, -4])
    np.testing.assert_array_equal(run("PRelu", x, slopes[:2])[0, :, 0, 0], [-2, -3])
    with pytest.raises(Refused, match="HA504"):
        bind("PRelu", [x, slopes])


def test_gates():
    x = np.array([[1, 2, 3, 4]], np.float32)
    s = 1 / (1 + np.exp(-np.array([1, 2, 3, 4.0])))
    np.testing.assert_allclose(run("GLU", x), [[1 * s[2], 2 * s[3]]], rtol=1e-6)
    np.testing.assert_allclose(run("SwiGlu", x), [[s[0] * 3, 2 * s[1] * 4]], rtol=1e-6)
    y, gelu = run("GeGluV2", x, approximate=0)
    phi = [0.5 * (1 + math.erf(one / math.sqrt(2))) for one in (1, 2, 3, 4)]
    np.testing.assert_allclose(gelu, [[3 * phi[2], 4 * phi[3]]], rtol=1e-6)
    np.testing.assert_allclose(y, [[3 * phi[2], 8 * phi[3]]], rtol=1e-6)
    clipped = run("ClippedSwiglu", x, alpha=1.0, limit=2.5)
    gate = 2.5 / (1 + math.exp(-2.5))
    np.testing.assert_allclose(clipped, [[s[0] * 3, gate * 3.5]], rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "attrs", "rule", "text"),
    [
        ("GeluV2", {"approximate": "erf"}, "HA508", "approximate = 'erf'"),
        ("CeluV2", {"alpha": 0.0}, "HA508", "alpha = 0"),
        ("SoftplusV2", {"beta": 0.0}, "HA508", "beta = 0"),
        ("GLU", {"dim": 2}, "HA509", "dim = 2"),
        ("GLU", {"dim": 0}, "HA504", "even"),
    ],
)
def test_refusals(op, attrs, rule, text):
    with pytest.raises(Refused) as caught:
        bind(op, [np.zeros((3, 4), np.float32)], **attrs)
    assert caught.value.rule == rule
    assert text in caught.value.text


def test_halves_of_unknown_dims():
    (one,) = bind("GLU", [Spec(0, (-1, 6), ranges=((2, 8), (6, 6)))], dim=0).infer()
    assert (one.shape, one.ranges) == ((-1, 6), ((1, 4), (6, 6)))
