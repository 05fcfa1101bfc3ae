"""Gradients of activations: finite differences of the forward formula in float64, edges, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

X = np.array([-9.5, -4.1, -2.9, -1.2, -0.45, -0.03, 0.07, 0.6, 0.99, 1.8, 2.9, 3.2, 5.7, 6.4, 20.0], np.float32)
G = np.linspace(-2, 3, X.size).astype(np.float32)


def gelu(x):
    return x * special.ndtr(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


BY_INPUT = {
    "ReluGrad": (("g", "x"), {}, lambda x: np.maximum(x, 0)),
    "Relu6Grad": (("g", "x"), {}, lambda x: np.clip(x, 0, 6)),
    "LeakyReluGrad": (("g", "x"), {"negative_slope": 0.2}, lambda x: np.where(x > 0, x, 0.2 * x)),
    "HardtanhGrad": (("x", "g"), {"min_val": -2.0, "max_val": 3.0}, lambda x: np.clip(x, -2, 3)),
    "HardSigmoidGrad": (("g", "x"), {"alpha": 0.2, "beta": 0.4}, lambda x: np.clip(0.2 * x + 0.4, 0, 1)),
    "HardSwishGrad": (("g", "x"), {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "HardShrinkGrad": (("g", "x"), {"lambd": 0.5}, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "SoftShrinkGrad": (("g", "x"), {"lambd": 0.5}, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "GeluGrad": (("g", "x", "x"), {}, gelu_tanh),
    "GeluGradV2": (("g", "x"), {}, gelu),
    "FastGeluGrad": (("g", "x"), {}, lambda x: x * special.expit(1.702 * x)),
    "SiluGrad": (("g", "x"), {}, lambda x: x * special.expit(x)),
    "SwishGrad": (("g", "x", "x"), {"scale": 0.7}, lambda x: x * special.expit(0.7 * x)),
    "MishGrad": (("g", "x"), {}, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "LogSigmoidGrad": (("g", "x"), {}, lambda x: -np.logaddexp(0, -x)),
    "SoftplusGrad": (("g", "x"), {}, lambda x: np.logaddexp(0, x)),
    "SoftplusV2Grad": (("g", "x"), {"beta": 2.0}, lambda x: np.logaddexp(0, 2 * x) / 2),
    "SoftsignGrad": (("g", "x"), {}, lambda x: x / (1 + np.abs(x))),
    "EluGradV2": (
        ("g", "x"),
        {"alpha": 0.7, "scale": 1.3, "input_scale": 1.5, "is_result": False},
        lambda x: 1.3 * np.where(x > 0, x, 0.7 * np.expm1(1.5 * x)),
    ),
}


@pytest.mark.parametrize("op", BY_INPUT)
def test_it_is_the_slope_of_the_forward_function(op):
    order, attrs, function = BY_INPUT[op]
    x = X.astype(np.float64)
    slope = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(run(op, *({"g": G, "x": X}[one] for one in order), **attrs), G * slope, rtol=2e-5, atol=1e-8)


BY_OUTPUT = {
    "SigmoidGrad": (("y", "g"), {}, special.expit),
    "TanhGrad": (("y", "g"), {}, np.tanh),
    "EluGradV2": (("g", "y"), {"alpha": 0.7}, lambda x: np.where(x > 0, x, 0.7 * np.expm1(x))),
    "EluGrad": (("g", "y"), {}, lambda x: np.where(x > 0, x, np.expm1(x))),
    "SeluGrad": (("g", "y"), {}, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
}


@pytest.mark.parametrize("op", BY_OUTPUT)
def test_it_is_the_slope_given_the_output(op):
    order, attrs, function = BY_OUTPUT[op]
    x = X.astype(np.float64)[np.abs(X) < 5]
    given = {"g": G[: x.size], "y": function(x).astype(np.float32)}
    slope = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    got = run(op, *(given[one] for one in order), **attrs)
    np.testing.assert_allclose(got, given["g"] * slope, rtol=1e-4, atol=1e-6)  # y was rounded


@pytest.mark.parametrize("op", ["GLUGrad", "SwiGluGrad"])
def test_gates_by_finite_differences(op):
    rng = np.random.default_rng(4)
    x, g = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 3, 3))

    def loss(at):
        first, second = at[:, :3], at[:, 3:]
        gate = first * special.expit(second) if op == "GLUGrad" else first * special.expit(first) * second
        return np.sum(gate * g)

    want = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        want[place] = (loss(x + step) - loss(x - step)) / 2e-6
    np.testing.assert_allclose(run(op, g.astype(np.float32), x.astype(np.float32), dim=1), want, rtol=1e-4, atol=1e-5)


def test_prelu_sums_over_all_but_the_channels():
    x = np.array([[[1.0, -2], [-3, 4]], [[-5, 6], [7, -8]]], np.float32)
    g = np.array([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]], np.float32)
    dx, da = run("PReluGrad", g, x, np.array([0.5, 0.25], np.float32))
    assert dx.tolist() == [[[1, 1], [0.75, 4]], [[2.5, 6], [7, 2]]]
    assert da.tolist() == [-2 * 2 - 5 * 5, -3 * 3 - 8 * 8]
    assert run("PReluGrad", g, x, np.array([0.5], np.float32))[1].tolist() == [-102]


@pytest.mark.parametrize("op", ["ReluGrad", "GeluGradV2", "SiluGrad", "MishGrad", "FastGeluGrad"])
def test_far_out_the_gradient_passes_or_is_0(op):
    x = np.array([np.inf, 3e38, 300, -300, -3e38, -np.inf], np.float32)
    np.testing.assert_allclose(run(op, np.ones(6, np.float32), x), [1, 1, 1, 0, 0, 0], atol=1e-6)


KINKS = {  # where the slope jumps: torch takes that of the flat side, Relu6 and Hardtanh at both of their ends
    "ReluGrad": (("g", "x"), {}, {0: 0}),
    "Relu6Grad": (("g", "x"), {}, {0: 0, 6: 0}),
    "LeakyReluGrad": (("g", "x"), {"negative_slope": 0.25}, {0: 0.25}),
    "HardtanhGrad": (("x", "g"), {}, {-1: 0, 1: 0}),
    "HardSigmoidGrad": (("g", "x"), {"alpha": 0.25, "beta": 0.5}, {-2: 0, 2: 0}),
    "HardSwishGrad": (("g", "x"), {}, {-3: 0, 3: 1}),
    "HardShrinkGrad": (("g", "x"), {}, {-0.5: 0, 0.5: 0}),
    "SoftShrinkGrad": (("g", "x"), {}, {-0.5: 0, 0.5: 0}),
    "AbsGrad": (("x", "g"), {}, {0: 0}),
}


@pytest.mark.parametrize("op", KINKS)
def test_at_a_kink_it_is_the_slope_that_torch_takes(op):
    order, attrs, slopes = KINKS[op]
    given = {"g": np.full(len(slopes), 2, np.float32), "x": np.array(list(slopes), np.float32)}
    assert run(op, *(given[one] for one in order), **attrs).tolist() == [2 * slope for slope in slopes.values()]


def test_what_does_not_fit_is_named():
    with pytest.raises(Refused, match="approximate"):
        bind("GeluGradV2", [Spec(0, (2,), 2)] * 2, approximate="erf")
    with pytest.raises(Refused, match="y_grad"):
        bind("SwiGluGrad", [Spec(0, (2, 3), 2), Spec(0, (2, 4), 2)])
    with pytest.raises(Refused, match="channels"):
        bind("PReluGrad", [Spec(0, (2, 3), 2), Spec(0, (2, 3), 2), Spec(0, (2,), 2)])
    assert bind("SwiGluGrad", [Spec(0, (2, 2), 2), Spec(0, (-1, 4), 2)]).infer()[0].shape == (-1, 4)


def test_the_channels_of_prelu_are_those_of_the_common_shape():
    grads, features, weights = np.ones((2, 3, 2), np.float32), np.full((3, 2), -2, np.float32), np.array([1, 2, 3], np.float32)
    dx, dw = run("PReluGrad", grads, features, weights)
    assert dx[0].tolist() == [[1, 1], [2, 2], [3, 3]]
    assert dw.tolist() == [-8, -8, -8]
