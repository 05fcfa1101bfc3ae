"""Batch normalisation by given statistics: every layout and type, means far from zero, extreme parameters, in place."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.ops.calling import bind, inferred, run

NCHW, NHWC = 0, 1
SHAPES = [((2, 5, 3, 4), NCHW), ((2, 3, 4, 5), NHWC), ((2, 5, 1, 1), NCHW), ((0, 5, 2, 2), NCHW)]


def exact(x, scale, offset, mean, variance, epsilon, axis):
    shape = [-1 if at == axis else 1 for at in range(x.ndim)]
    scale, offset, mean, variance = (one.astype(np.float64).reshape(shape) for one in (scale, offset, mean, variance))
    return scale * (x.astype(np.float64) - mean) / np.sqrt(variance + epsilon) + offset


def parameters(channels, centre):
    random = np.random.default_rng(2)
    scale, offset = random.normal(size=(2, channels)).astype(np.float32)
    mean = (random.normal(size=channels) + centre).astype(np.float32)
    return scale, offset, mean, random.uniform(0.5, 2, channels).astype(np.float32)


@pytest.mark.parametrize("centre", [0, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("shape", "layout"), SHAPES)
def test_inference(shape, layout, dtype, centre):
    given = parameters(5, centre)
    x = (np.random.default_rng(4).normal(size=shape) + centre).astype(dtype)
    want = exact(x, *given, 1e-3, 1 if layout == NCHW else 3)
    eps = float(ml_dtypes.finfo(dtype).eps)
    for y in (
        run("BNInfer", x, *given, layout=layout, epsilon=1e-3),
        run("BatchNorm", x, *given, layout=layout, epsilon=1e-3, is_training=False)[0],
    ):
        np.testing.assert_allclose(y.astype(np.float64), want, rtol=eps, atol=1e-6)


def test_parameters_that_float32_does_not_hold():
    x = np.full((1, 2, 1, 2), 1e-3, np.float32)
    scale, zero = np.array([1e38, 1e-38], np.float32), np.zeros(2, np.float32)
    variance = np.array([1e-38, 1e38], np.float32)
    mean = np.full(2, 1e-3, np.float32)
    np.testing.assert_array_equal(run("BNInfer", x, scale, zero, mean, variance, epsilon=0.0), np.zeros((1, 2, 1, 2)))


def test_in_place():
    given = parameters(3, 0)
    x = np.random.default_rng(4).normal(size=(2, 3, 4, 4)).astype(np.float32)
    want = run("BNInfer", x, *given, layout=NCHW, epsilon=1e-3)
    call = bind("BNInfer", [x, *given], layout=NCHW, epsilon=1e-3)
    call = bind("BNInfer", [x, *given], inferred(call), layout=NCHW, epsilon=1e-3)
    memory = np.zeros(x.size + 5, np.float32)
    for start in (0, 5):  # y is x, then y overlaps x
        memory[5:] = x.ravel()
        target = memory[5 - start :][: x.size].reshape(x.shape)
        call.function()(memory[5:].reshape(x.shape), *given, target)
        np.testing.assert_array_equal(target, want)
