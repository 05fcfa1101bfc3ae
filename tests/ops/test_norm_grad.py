"""Gradients of normalisation: finite differences in float64 of the forward formula, split steps, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import parts
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run
from tests.ops.differences import derivative

RNG = np.random.default_rng(8)
X = RNG.normal(size=(3, 4, 2, 3)).astype(np.float32)
DY = RNG.normal(size=X.shape).astype(np.float32)
CHANNELS, TAIL = RNG.uniform(0.5, 2, 4).astype(np.float32), RNG.uniform(0.5, 2, (2, 3)).astype(np.float32)
EPS = 1e-3


def normalised(x, axes, centred=True):
    mean = x.mean(axis=axes, keepdims=True) if centred else 0.0
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + EPS)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


def channel(parameter):
    return parameter.reshape(1, -1, 1, 1)


def batch(x, scale=CHANNELS):
    return normalised(x, (0, 2, 3)) * channel(scale)


def statistics(x, axes):
    wide = x.astype(np.float64)
    return wide.mean(axis=axes).astype(np.float32), wide.var(axis=axes).astype(np.float32)


def test_the_split_steps_of_batch_norm_make_the_whole_gradient():
    mean, variance = statistics(X, (0, 2, 3))
    by_scale, by_offset = run("BNTrainingUpdateGrad", DY, X, mean, variance, layout=0, epsilon=EPS)
    close(by_scale, derivative(lambda scale: np.sum(batch(X.astype(np.float64), scale) * DY), CHANNELS))
    close(by_offset, DY.sum(axis=(0, 2, 3)))
    dx = run("BNTrainingReduceGrad", DY, X, by_scale, by_offset, CHANNELS, mean, variance, layout=0, epsilon=EPS)
    close(dx, derivative(lambda x: np.sum(batch(x) * DY), X))
    whole = run("BatchNormGrad", DY, X, CHANNELS, mean, variance, layout=0, epsilon=EPS, data_format="NCHW")
    for one, other in zip(whole, (dx, by_scale, by_offset), strict=False):
        close(one, other)
    rstd = (1 / np.sqrt(variance + EPS)).astype(np.float32)
    for op, layout, source in (("BatchNormGradExt2", 0, (DY, X)), ("BatchNorm3DGrad", 30, (DY[..., None], X[..., None]))):
        found = run(op, *source, CHANNELS, mean, variance, layout=layout, epsilon=EPS)
        for one, other in zip(found, (dx, by_scale, by_offset), strict=False):
            close(one.reshape(other.shape), other)
    third = run("BatchNormGradV3", DY, X, CHANNELS, mean, variance, mean, rstd, layout=0)
    for one, other in zip(third, (dx, by_scale, by_offset), strict=True):
        close(one, other)


def test_channels_last_is_the_same_by_another_order():
    mean, variance = statistics(X, (0, 2, 3))
    want = run("BNTrainingUpdateGrad", DY, X, mean, variance, layout=0)
    got = run("BNTrainingUpdateGrad", DY.transpose(0, 2, 3, 1).copy(), X.transpose(0, 2, 3, 1).copy(), mean, variance, layout=1)
    for one, other in zip(got, want, strict=True):
        close(one, other)


def test_in_inference_the_statistics_are_constants():
    mean, variance = RNG.normal(size=4).astype(np.float32), RNG.uniform(0.5, 2, 4).astype(np.float32)

    def forward(x):
        return (x - channel(mean)) / np.sqrt(channel(variance) + EPS) * channel(CHANNELS)

    want = derivative(lambda x: np.sum(forward(x) * DY), X)
    close(run("BNInferGrad", DY, CHANNELS, variance, layout=0, epsilon=EPS), want)
    third = run("BatchNormGradV3", DY, X, CHANNELS, mean, variance, mean, mean, layout=0, epsilon=EPS, is_training=False)
    close(third[0], want)


def test_the_processes_of_sync_batch_norm_add_up_to_batch_norm():
    mean, variance = statistics(X, (0, 2, 3))
    rstd = (1 / np.sqrt(variance + EPS)).astype(np.float32)
    sum_dy = DY.sum(axis=(0, 2, 3))
    padded = (DY * X).sum(axis=(0, 2, 3))
    xmu, by_scale = run("SyncBatchNormBackwardReduce", sum_dy, padded, mean, rstd)
    count = np.float32(X.size / 4)
    dx = run("SyncBatchNormBackwardElemt", DY, X, mean, rstd, CHANNELS, sum_dy / count, xmu / count)
    close(dx, derivative(lambda x: np.sum(batch(x) * DY), X))
    close(by_scale, derivative(lambda scale: np.sum(batch(X.astype(np.float64), scale) * DY), CHANNELS))


@pytest.mark.parametrize("size", [1 << 20, 5])
def test_layer_norm_and_its_kin(size, monkeypatch):
    monkeypatch.setattr(parts, "ELEMENTS", size)
    mean, variance = (one.reshape(3, 4, 1, 1) for one in statistics(X, (2, 3)))
    rstd = (1 / np.sqrt(variance.astype(np.float64) + EPS)).astype(np.float32)

    def forward(x, gamma=TAIL):
        return normalised(x, (2, 3)) * gamma

    dx, dgamma, dbeta = run("LayerNormGradV3", DY, X, rstd, mean, TAIL)
    close(dx, derivative(lambda x: np.sum(forward(x) * DY), X))
    close(dgamma, derivative(lambda gamma: np.sum(forward(X.astype(np.float64), gamma) * DY), TAIL))
    close(dbeta, DY.sum(axis=(0, 1)))
    older = run("LayerNormGrad", DY, X, variance + np.float32(EPS), mean, TAIL)
    for one, other in zip(older, (dx, dgamma, dbeta), strict=True):
        close(one, other)
    half = np.float32(0.5)
    deep = run("DeepNormGrad", DY, X * half, X * half, TAIL, mean, rstd, alpha=1.0)
    for one, other in zip(deep, (dx, dx, dbeta, dgamma), strict=True):
        close(one, other)
    added = run("AddLayerNormGrad", DY, X * half, X * half, rstd, mean, TAIL, DY)
    for one, other in zip(added, (dx + DY, dgamma, dbeta), strict=True):
        close(one, other)


def test_rms_group_and_l2():
    root = (1 / np.sqrt((X.astype(np.float64) ** 2).mean(axis=(2, 3), keepdims=True) + EPS)).astype(np.float32)
    dx, dgamma = run("RmsNormGrad", DY, X, root, TAIL)
    close(dx, derivative(lambda x: np.sum(normalised(x, (2, 3), False) * TAIL * DY), X))
    close(dgamma, derivative(lambda gamma: np.sum(normalised(X.astype(np.float64), (2, 3), False) * gamma * DY), TAIL))

    def grouped(x, gamma=CHANNELS):
        return normalised(x.reshape(3, 2, -1), (2,)).reshape(X.shape) * channel(gamma)

    mean, variance = statistics(X.reshape(3, 2, -1), 2)
    rstd = (1 / np.sqrt(variance.astype(np.float64) + EPS)).astype(np.float32)
    dx, dgamma, dbeta = run("GroupNormGrad", DY, mean, rstd, X, CHANNELS, num_groups=2)
    close(dx, derivative(lambda x: np.sum(grouped(x) * DY), X))
    close(dgamma, derivative(lambda gamma: np.sum(grouped(X.astype(np.float64), gamma) * DY), CHANNELS))
    close(dbeta, DY.sum(axis=(0, 2, 3)))

    def unit(x):
        return x / np.sqrt((x**2).sum(axis=1, keepdims=True))

    dx = run("L2NormalizeGrad", X, unit(X), DY, dim=[1])
    close(dx, derivative(lambda x: np.sum(unit(x) * DY), X))


def test_local_response_normalisation():
    attrs = {"depth_radius": 1, "bias": 1.5, "alpha": 0.5, "beta": 0.75}

    def responses(x):
        near = np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
        return x / (1.5 + 0.5 * (near[:, :-2] + near[:, 1:-1] + near[:, 2:])) ** 0.75

    y, want = responses(X.astype(np.float64)).astype(np.float32), derivative(lambda x: np.sum(responses(x) * DY), X)
    close(run("LRNGrad", DY, X, y, layout=0, **attrs), want)
    last = [one.transpose(0, 2, 3, 1).copy() for one in (DY, X, y)]
    close(run("LRNGrad", *last, layout=1, **attrs), want.transpose(0, 2, 3, 1))
    with pytest.raises(Refused, match="depth_radius"):
        bind("LRNGrad", [DY, X, y], depth_radius=-1)


def test_a_gradient_that_is_not_required_is_not_written():
    statistics_ = np.ones((3, 2), np.float32)
    dx, dgamma, _ = run("GroupNormGrad", DY, statistics_, statistics_, X, CHANNELS, num_groups=2, dx_is_require=False)
    assert (dx == 77).all()  # what was there before
    assert not (dgamma == 77).any()


def test_what_does_not_fit_is_named():
    x = Spec(0, (2, 4, 3), 2)
    with pytest.raises(Refused, match="num_groups = 3"):
        bind("GroupNormGrad", [x, Spec(0, (2, 3), 2), Spec(0, (2, 3), 2), x, Spec(0, (4,), 2)], num_groups=3)
    with pytest.raises(Refused, match="rstd"):
        bind("RmsNormGrad", [x, x, Spec(0, (5,), 2), Spec(0, (3,), 2)])
    with pytest.raises(Refused, match="batch_mean"):
        bind("BNTrainingUpdateGrad", [x, x, Spec(0, (3,), 2), Spec(0, (4,), 2)])
    inferred = bind("LayerNormGradV3", [Spec(1, (-1, 3), 2)] * 2 + [Spec(0, (-1, 1), 2)] * 2 + [Spec(0, (3,), 2)]).infer()
    assert [one.shape for one in inferred] == [(-1, 3), (3,), (3,)]
