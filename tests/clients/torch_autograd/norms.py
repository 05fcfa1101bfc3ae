"""Normalisation: whole, in split steps, in inference, and by the statistics that the forward operators leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hostacl.tensors import formats
from tests.clients.torch_autograd.convolutions import ordered
from tests.clients.torch_autograd.support import Array, Case, Draw, exact, gradient, leaf, numpy_of, pulled, torch

F = torch.nn.functional
EPS = 1e-3
SINGLE = np.float32


class Batch:
    """A batch norm: its input, parameters and statistics, and autograd's gradients."""

    def __init__(self, d: Draw, shape: Sequence[int], eps: float, weight: Any = SINGLE, training: bool = True) -> None:
        channels = shape[1]
        self.x, self.dy = d.normal(*shape), d.normal(*shape)
        self.scale = d.rng.uniform(0.5, 2, channels).astype(weight)
        axes = [axis for axis in range(len(shape)) if axis != 1]
        wide = self.x.astype(np.float64)
        if training and wide.size:
            mean, variance = wide.mean(axis=tuple(axes)), wide.var(axis=tuple(axes))
        else:
            mean, variance = d.rng.normal(size=channels), d.rng.uniform(0.5, 2, channels)
        self.mean, self.variance = mean.astype(SINGLE), variance.astype(SINGLE)
        self.rstd = (1 / np.sqrt(variance + eps)).astype(SINGLE)
        at, by_scale, by_offset = leaf(self.x), leaf(self.scale), leaf(np.zeros(channels))
        if training and wide.size == 0:
            found = (at, by_scale, by_offset)
            self.dx, self.dscale, self.doffset = (torch.zeros_like(one) for one in found)
            return
        running = (exact(self.mean), exact(self.variance))
        y = F.batch_norm(at, *([one.clone() for one in running]), by_scale, by_offset, training, 0.0, eps)
        self.dx, self.dscale, self.doffset = pulled(y, self.dy, at, by_scale, by_offset)


BATCHES = ((2, 3, 4, 5), (3, 2, 1, 7), (0, 2, 3, 3))
VOLUMES = ((2, 3, 2, 4, 3), (2, 1, 3, 1, 5))


def orders(*arrays: Any) -> Iterator[tuple[int, list[Any]]]:
    """Channels-first arrays and tensors in each order that has a format, and in none."""
    names = ("NCHW", "NHWC") if arrays[0].ndim == 4 else ("NCDHW", "NDHWC")
    for name in names:
        yield formats.CODES[name], [ordered(one, name) for one in arrays]


@gradient("BNTrainingUpdateGrad", "BN3DTrainingUpdateGrad")
def update(d: Draw) -> Iterator[Case]:
    for shape in VOLUMES if "3D" in d.op else BATCHES:
        one = Batch(d, shape, EPS)
        for layout, (dy, x) in orders(one.dy, one.x):
            yield Case([dy, x, one.mean, one.variance], [one.dscale, one.doffset], {"epsilon": EPS}, layout, times=16)


@gradient("BNTrainingReduceGrad", "BN3DTrainingReduceGrad")
def reduce(d: Draw) -> Iterator[Case]:
    for shape in VOLUMES if "3D" in d.op else BATCHES:
        one = Batch(d, shape, EPS)
        sums = [numpy_of(each).astype(SINGLE) for each in (one.dscale, one.doffset)]
        for layout, (dy, x, dx) in orders(one.dy, one.x, one.dx):
            yield Case([dy, x, *sums, one.scale, one.mean, one.variance], [dx], {"epsilon": EPS}, layout, times=16)


@gradient("BNInferGrad")
def infer(d: Draw) -> Iterator[Case]:
    for shape in BATCHES:
        one = Batch(d, shape, EPS, training=False)
        for layout, (dy, dx) in orders(one.dy, one.dx):
            yield Case([dy, one.scale, one.variance], [dx], {"epsilon": EPS}, layout)


@gradient("BatchNormGrad", "BatchNormGradExt2", "BatchNorm3DGrad")
def whole(d: Draw) -> Iterator[Case]:
    """The last two outputs hold nothing."""
    for shape in VOLUMES if "3D" in d.op else BATCHES:
        for training in (True, False):
            one = Batch(d, shape, EPS, training=training)
            for layout, (dy, x, dx) in orders(one.dy, one.x, one.dx):
                attrs = {"epsilon": EPS, "is_training": training, "data_format": formats.NAMES[layout]}
                inputs = [dy, x, one.scale, one.mean, one.variance, *([None] if d.op == "BatchNormGrad" else [])]
                yield Case(inputs, [dx, one.dscale, one.doffset, None, None], attrs, layout, times=16)


@gradient("BatchNormGradV3")
def whole_v3(d: Draw) -> Iterator[Case]:
    """save_mean and save_rstd count in training, the running statistics else; weights may be wider than x."""
    for shape in (*BATCHES, (6, 4), (3, 2, 5), VOLUMES[0]):
        for weight in (d.dtype, SINGLE):
            for training in (True, False):
                one = Batch(d, shape, EPS, weight, training)
                other = np.full(shape[1], 9, SINGLE)  # what does not count
                running = [each.astype(weight) for each in ((other, other) if training else (one.mean, one.variance))]
                saved = (one.mean, one.rstd) if training else (other, other)
                attrs = {"epsilon": EPS, "is_training": training}
                yield Case([one.dy, one.x, one.scale, *running, *saved], [one.dx, one.dscale, one.doffset], attrs,
                           formats.NCHW if len(shape) == 4 else formats.ND, rounded=not training, times=16)  # fmt: skip


@gradient("SyncBatchNormBackwardReduce", "SyncBatchNormBackwardElemt")
def across_processes(d: Draw) -> Iterator[Case]:
    """Whole numbers, whose sums and means every type holds."""
    for shape in ((2, 3, 2, 2), (8, 5), (4, 1, 2)):
        channels, axes = shape[1], tuple(axis for axis in range(len(shape)) if axis != 1)
        x, dy = d.typed(d.whole(-4, 5, *shape)), d.typed(d.whole(-2, 3, *shape))
        at, by_scale = leaf(x), leaf(scale := d.between(0.5, 2, channels))
        dx, dscale = pulled(F.batch_norm(at, None, None, by_scale, None, True, 0.0, EPS), dy, at, by_scale)
        wide = x.astype(np.float64)
        mean, rstd = wide.mean(axis=axes), 1 / np.sqrt(wide.var(axis=axes) + EPS)
        sums = np.sum(dy.astype(np.float64), axis=axes), np.sum(dy.astype(np.float64) * wide, axis=axes)
        xmu = numpy_of(dscale) / rstd
        if d.op.endswith("Reduce"):
            inputs = [d.typed(one) for one in (*sums, mean, rstd)]
            yield Case(inputs, [exact(xmu), dscale], rounded=True)
        else:
            count = x.size // channels
            inputs = [dy, x, *(d.typed(one) for one in (mean, rstd, scale, sums[0] / count, xmu / count))]
            yield Case(inputs, [dx], rounded=True, times=2)


ROWS = (((4, 6), 1), ((2, 3, 8), 1), ((2, 3, 2, 5), 2), ((3, 7), 2), ((0, 4), 1), ((5,), 1))
"""Shapes, and how many of the last dims are normalised."""


def statistics(wide: Array, tail: int, eps: float) -> tuple[Array, Array, Array]:
    """Mean, variance and reciprocal deviation of each row, the normalised dims kept as 1."""
    axes = tuple(range(-tail, 0))
    mean, variance = wide.mean(axis=axes, keepdims=True), wide.var(axis=axes, keepdims=True)
    return mean, variance, 1 / np.sqrt(variance + eps)


@gradient("LayerNormGrad", "LayerNormGradV3")
def layer(d: Draw) -> Iterator[Case]:
    """Statistics of x's type or of float32."""
    older = d.op == "LayerNormGrad"
    eps = 1e-12 if older else 1e-5
    for shape, tail in ROWS:
        x, dy, gamma = d.normal(*shape), d.normal(*shape), d.between(0.5, 2, *shape[-tail:])
        at, weight, bias = leaf(x), leaf(gamma), leaf(np.zeros(shape[-tail:]))
        want = pulled(F.layer_norm(at, shape[-tail:], weight, bias, eps), dy, at, weight, bias)
        mean, variance, rstd = statistics(x.astype(np.float64), tail, eps)
        for kind in {d.dtype, np.dtype(SINGLE)}:
            given = [(variance if older else rstd).astype(kind), mean.astype(kind), gamma.astype(kind)]
            yield Case([dy, x, *given], want, rounded=kind == d.dtype, times=8 if kind == d.dtype else 16)


@gradient("LayerNormXBackprop", "LayerNormXBackpropV2", "LayerNormXBackpropV3")
def layer_by_x(d: Draw) -> Iterator[Case]:
    """The second output is x normalised."""
    with_rstd = d.op.endswith("V3")
    eps = 1e-5 if with_rstd else 1e-12
    for shape, tail in ROWS:
        x, dy, gamma = d.normal(*shape), d.normal(*shape), d.between(0.5, 2, *shape[-tail:])
        at = leaf(x)
        want = pulled(F.layer_norm(at, shape[-tail:], exact(gamma), None, eps), dy, at)
        normal = [F.layer_norm(exact(x), shape[-tail:], None, None, eps)] if d.op != "LayerNormXBackprop" else []
        mean, variance, rstd = statistics(x.astype(np.float64), tail, eps)
        for kind in {d.dtype, np.dtype(SINGLE)}:
            given = [(rstd if with_rstd else variance).astype(kind), mean.astype(kind), gamma.astype(kind)]
            yield Case([dy, x, *given], [*want, *normal], rounded=kind == d.dtype, times=8 if kind == d.dtype else 16)


@gradient("LayerNormBetaGammaBackprop", "LayerNormBetaGammaBackpropV2")
def layer_by_parameters(d: Draw) -> Iterator[Case]:
    """By x and its statistics, or by x normalised, in float32."""
    for shape, tail in ROWS:
        x, dy = d.normal(*shape), d.normal(*shape)
        weight, bias = leaf(np.ones(shape[-tail:])), leaf(np.zeros(shape[-tail:]))
        want = pulled(F.layer_norm(exact(x), shape[-tail:], weight, bias, 1e-12), dy, weight, bias)
        mean, variance, _ = (one.astype(SINGLE) for one in statistics(x.astype(np.float64), tail, 1e-12))
        normal = numpy_of(F.layer_norm(exact(x), shape[-tail:], None, None, 1e-12)).astype(SINGLE)
        inputs = [dy, normal] if d.op.endswith("V2") else [dy, x, variance, mean]
        yield Case(inputs, want, {"shape_gamma": list(shape[-tail:])}, times=16)


@gradient("LRNGrad")
def local_response(d: Draw) -> Iterator[Case]:
    """TensorFlow's: a sum instead of torch's mean, so its alpha is multiplied by the number of channels nearby."""
    for shape in ((2, 6, 3, 2), (1, 3, 1, 4), (0, 2, 3, 3)):
        for radius, bias, alpha, beta in ((1, 1.0, 1.0, 0.5), (2, 2.0, 0.25, 0.75)):
            x, dy, size = d.normal(*shape), d.normal(*shape), 2 * radius + 1
            at = leaf(x)
            squares = at.square().unsqueeze(1)
            near = F.avg_pool3d(F.pad(squares, (0, 0, 0, 0, radius, radius)), (size, 1, 1), stride=1, divisor_override=1)
            y = at / (bias + alpha * near.squeeze(1)) ** beta
            attrs = {"depth_radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
            yield Case([dy, x, d.typed(numpy_of(y))], pulled(y, dy, at), attrs, formats.NCHW, rounded=True)


@gradient("DeepNormGrad")
def deep(d: Draw) -> Iterator[Case]:
    for shape, tail in ROWS:
        for alpha in (0.3, 1.5):
            x, gx, dy, gamma = d.normal(*shape), d.normal(*shape), d.normal(*shape), d.between(0.5, 2, *shape[-tail:])
            at, other, weight, bias = leaf(x), leaf(gx), leaf(gamma), leaf(np.zeros(shape[-tail:]))
            total = alpha * at + other
            dx, dgx, dgamma, dbeta = pulled(F.layer_norm(total, shape[-tail:], weight, bias), dy, at, other, weight, bias)
            mean, _, rstd = (one.astype(SINGLE) for one in statistics(numpy_of(total), tail, 1e-5))
            yield Case([dy, x, gx, gamma, mean, rstd], [dx, dgx, dbeta, dgamma], {"alpha": alpha}, times=16)


@gradient("AddLayerNormGrad")
def added(d: Draw) -> Iterator[Case]:
    """With dsum, the gradient of the sum that the forward operator gives, too."""
    for shape, tail in ROWS:
        for with_sum in (False, True):
            x1, x2, dy, gamma = d.normal(*shape), d.normal(*shape), d.normal(*shape), d.between(0.5, 2, *shape[-tail:])
            dsum = d.normal(*shape) if with_sum else None
            at, weight, bias = leaf(x1), leaf(gamma), leaf(np.zeros(shape[-tail:]))
            total = at + exact(x2)
            y = F.layer_norm(total, shape[-tail:], weight, bias)
            want = pulled((y, total), (dy, dsum), at, weight, bias) if with_sum else pulled(y, dy, at, weight, bias)
            mean, _, rstd = (one.astype(SINGLE) for one in statistics(numpy_of(total), tail, 1e-5))
            yield Case([dy, x1, x2, rstd, mean, gamma, dsum], want, times=16)


@gradient("RmsNormGrad")
def rms(d: Draw) -> Iterator[Case]:
    for shape, tail in ROWS:
        x, dy, gamma = d.normal(*shape), d.normal(*shape), d.between(0.5, 2, *shape[-tail:])
        at, weight = leaf(x), leaf(gamma)
        want = pulled(F.rms_norm(at, shape[-tail:], weight, 1e-6), dy, at, weight)
        square = np.mean(x.astype(np.float64) ** 2, axis=tuple(range(-tail, 0)), keepdims=True)
        for kind in {d.dtype, np.dtype(SINGLE)}:
            yield Case([dy, x, (1 / np.sqrt(square + 1e-6)).astype(SINGLE), gamma.astype(kind)], want, times=16)


@gradient("GroupNormGrad")
def group(d: Draw) -> Iterator[Case]:
    """With one group for each channel it is the gradient of instance norm."""
    for shape, groups in (((2, 6, 3, 4), 3), ((2, 4, 5), 4), ((3, 12), 2), ((1, 6, 2, 3, 2), 1), ((2, 3, 4, 4), 3)):
        x, dy, gamma = d.normal(*shape), d.normal(*shape), d.between(0.5, 2, shape[1])
        at, weight, bias = leaf(x), leaf(gamma), leaf(np.zeros(shape[1]))
        want = pulled(F.group_norm(at, groups, weight, bias, 1e-5), dy, at, weight, bias)
        mean, _, rstd = statistics(x.astype(np.float64).reshape(shape[0], groups, -1), 1, 1e-5)
        for kind in {d.dtype, np.dtype(SINGLE)}:
            given, slope = [mean[..., 0].astype(kind), rstd[..., 0].astype(kind)], gamma.astype(kind)
            exactness: dict[str, Any] = {"rounded": kind == d.dtype, "times": 8 if kind == d.dtype else 16}
            yield Case([dy, *given, x, slope], want, {"num_groups": groups}, **exactness)
            last = {"num_groups": groups, "data_format": "NHWC"}
            if len(shape) == 4:
                turned = [ordered(one, "NHWC") for one in (dy, x)]
                wanted = [ordered(want[0], "NHWC"), *want[1:]]
                yield Case([turned[0], *given, turned[1], slope], wanted, last, **exactness)


@gradient("L2NormalizeGrad")
def euclidean(d: Draw) -> Iterator[Case]:
    for shape, dim in (((4, 6), [1]), ((2, 3, 4), [0, 2]), ((5,), []), ((2, 3, 4), []), ((3, 0), [1])):
        x, dy = d.normal(*shape), d.normal(*shape)
        at = leaf(x)
        length = torch.linalg.vector_norm(at, dim=dim or tuple(range(len(shape))), keepdim=True)
        y = at / torch.clamp(length, min=1e-4)
        yield Case([x, d.typed(numpy_of(y)), dy], pulled(y, dy, at), {"dim": dim, "eps": 1e-4}, rounded=True)
