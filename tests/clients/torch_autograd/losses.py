"""Softmax and losses: by their outputs, by what is predicted, in each reduction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.clients.torch_autograd.support import Array, Case, Draw, exact, gradient, leaf, numpy_of, pulled, torch

F = torch.nn.functional
REDUCTIONS = ("none", "mean", "sum")
SHAPES = ((7,), (3, 5), (2, 3, 4), (0, 3))


def over(function: Any, x: Any, axes: Sequence[int]) -> Any:
    """A function of one dim over several dims together."""
    moved = x.movedim(list(axes), list(range(-len(axes), 0)))
    flat = function(moved.flatten(-len(axes)), -1)
    return flat.reshape(moved.shape).movedim(list(range(-len(axes), 0)), list(axes))


ROWS = (((6,), [-1]), ((3, 5), [1]), ((3, 5), [0]), ((2, 3, 4), [-2]), ((2, 3, 4), [0, 2]), ((2, 0), [-1]), ((0, 4), [-1]))


def shares(d: Draw, shape: Sequence[int], axes: Sequence[int], counted: Any = None) -> Any:
    """A softmax that every type holds exactly: positive multiples of 1/64 whose sums over the axes are 1, 0 if not counted."""
    if 0 in shape:
        return exact(np.zeros(shape))
    shape, drawn = tuple(shape), np.ones(shape) if counted is None else np.broadcast_to(counted, shape) * 1.0
    moved = np.moveaxis(drawn, axes, range(-len(axes), 0))
    rows = moved.reshape(-1, int(np.prod([shape[axis] for axis in axes])))
    rows = np.array([row + d.rng.multinomial(64 - int(row.sum()), row / row.sum()) for row in rows]).reshape(moved.shape)
    return exact(np.moveaxis(rows, range(-len(axes), 0), axes) / 64)


@gradient("SoftmaxGrad")
def softmax(d: Draw) -> Iterator[Case]:
    for shape, axes in ROWS:
        at, dy = torch.log(shares(d, shape, axes)).requires_grad_(), d.normal(*shape)
        y = over(torch.softmax, at, axes)
        yield Case([d.typed(numpy_of(y)), dy], pulled(y, dy, at), {"axes": axes})


@gradient("LogSoftmaxGrad")
def log_softmax(d: Draw) -> Iterator[Case]:
    for shape, axes in ROWS:
        at, dy = leaf(d.normal(*shape)), d.normal(*shape)
        y = over(torch.log_softmax, at, axes)
        yield Case([dy, d.typed(numpy_of(y))], pulled(y, dy, at), {"axis": axes}, rounded=True, times=1)


@gradient("ScaledMaskedSoftmaxGrad")
def masked_softmax(d: Draw) -> Iterator[Case]:
    """What is masked gets nothing; the rest is scaled. A mask broadcasts, or is the triangle above the diagonal."""
    for shape, masked in (((2, 3, 4, 5), (2, 1, 4, 5)), ((3, 6), (3, 6)), ((2, 4, 4), None), ((2, 2, 4, 4), ())):
        for scale in (1.0, 0.25):
            mask = d.rng.random(masked) < 0.3 if masked else None
            if mask is not None:
                mask[..., 0] = False  # something counts in each row
            hidden = exact(mask) if masked else torch.ones(shape[-2:], dtype=torch.bool).triu(1) if masked == () else None
            counted = None if hidden is None else ~numpy_of(hidden)
            soft, dy = shares(d, shape, [-1], counted), d.normal(*shape)
            at = (torch.log(soft.clamp(min=1e-3)) / scale).requires_grad_()
            scores = at * scale
            y = torch.softmax(scores if hidden is None else scores.masked_fill(hidden, -10000), -1)
            attrs = {"scale": scale, "fixed_triu_mask": masked == ()}
            yield Case([dy, d.typed(numpy_of(y)), mask], pulled(y, dy, at), attrs)


@gradient("DropoutWithMulsAndSoftmaxGrad")
def dropped_softmax(d: Draw) -> Iterator[Case]:
    for shape, axes in (((3, 8), [-1]), ((2, 3, 4), [1]), ((2, 3, 4), [1, 2])):
        for keep, alpha in ((0.5, 1.0), (0.8, 0.25)):
            at, dy = (torch.log(shares(d, shape, axes)) / alpha).requires_grad_(), d.normal(*shape)
            mask = (d.rng.random(shape) < keep).astype(np.uint8)
            soft = over(torch.softmax, at * alpha, axes)
            attrs = {"input_keep_prob": keep, "alpha": alpha, "axes": axes}
            want = pulled(soft * exact(mask) / keep, dy, at)
            yield Case([dy, mask, d.typed(numpy_of(soft))], want, attrs)


def incoming(d: Draw, shape: Sequence[int], reduction: str) -> Array:
    """The gradient of a loss: one element, or one for each where nothing is reduced."""
    return d.normal(*shape) if reduction == "none" else d.normal(1)


@gradient("BinaryCrossEntropyGrad")
def binary_cross_entropy(d: Draw) -> Iterator[Case]:
    for shape in SHAPES:
        for reduction in REDUCTIONS:
            for weighted in (False, True):
                x, y, dout = d.between(0.02, 0.98, *shape), d.between(0, 1, *shape), incoming(d, shape, reduction)
                x.reshape(-1)[:2], y.reshape(-1)[:2] = [0, 1][: x.size], [0, 1][: x.size]  # at their ends, and right there
                weight = d.between(0.5, 2, *shape) if weighted else None
                at, share = leaf(x), exact(weight) if weighted else None
                loss = F.binary_cross_entropy(at, exact(y), share, reduction=reduction)
                yield Case([x, y, dout, weight], pulled(loss, dout, at), {"reduction": reduction})


@gradient("KlDivLossGrad")
def kl_divergence(d: Draw) -> Iterator[Case]:
    for shape in SHAPES:
        for reduction in (*REDUCTIONS, "batchmean"):
            for logarithms in (False, True):
                x, dout = d.normal(*shape), incoming(d, shape, reduction)
                target = d.between(-3, 0, *shape) if logarithms else d.between(0, 1, *shape)
                at = leaf(x)
                kind = "none" if reduction == "mean" else reduction  # torch warns of mean
                loss = F.kl_div(at, exact(target), reduction=kind, log_target=logarithms)
                loss = loss.mean() if reduction == "mean" else loss
                yield Case([dout, x, target], pulled(loss, dout, at), {"reduction": reduction, "log_target": logarithms})


@gradient("L1LossGrad", "MseLossGrad", "SmoothL1LossGradV2", "SoftMarginLossGrad")
def of_two(d: Draw) -> Iterator[Case]:
    """Whole numbers among them, so that some predictions are just right."""
    functions = {"L1LossGrad": F.l1_loss, "MseLossGrad": F.mse_loss, "SoftMarginLossGrad": F.soft_margin_loss}
    for shape in SHAPES:
        for reduction in REDUCTIONS:
            for sigma in (1.0, 0.5, 0.0) if d.op == "SmoothL1LossGradV2" else (None,):
                x, label = d.typed(d.whole(-8, 9, *shape) / 4), d.typed(d.whole(-8, 9, *shape) / 4)
                dout, at, extra = incoming(d, shape, reduction), leaf(x), {}
                if sigma is None:
                    loss = functions[d.op](at, exact(label), reduction=reduction)
                else:
                    loss, extra = F.smooth_l1_loss(at, exact(label), reduction=reduction, beta=sigma), {"sigma": sigma}
                inputs = [dout, x, label] if d.op == "L1LossGrad" else [x, label, dout]
                yield Case(inputs, pulled(loss, dout, at), {"reduction": reduction, **extra})


@gradient("SmoothL1LossGrad")
def smooth(d: Draw) -> Iterator[Case]:
    for shape in SHAPES:
        for sigma in (1.0, 2.5, 0.25):
            x, label, dout = d.normal(*shape), d.normal(*shape), d.normal(*shape)
            at = leaf(x)
            loss = F.smooth_l1_loss(at, exact(label), reduction="none", beta=sigma)
            yield Case([x, label, dout], pulled(loss, dout, at), {"sigma": sigma})


@gradient("SigmoidCrossEntropyWithLogitsGrad")
def sigmoid_cross_entropy(d: Draw) -> Iterator[Case]:
    for shape in SHAPES:
        x, target, dout = d.normal(*shape, spread=6), d.between(0, 1, *shape), d.normal(*shape)
        at = leaf(x)
        loss = F.binary_cross_entropy_with_logits(at, exact(target), reduction="none")
        yield Case([x, target, dout], pulled(loss, dout, at))


@gradient("SigmoidCrossEntropyWithLogitsGradV2")
def sigmoid_cross_entropy_v2(d: Draw) -> Iterator[Case]:
    for shape in SHAPES:
        for reduction in REDUCTIONS:
            for weighted, positive in ((False, False), (True, False), (False, True), (True, True)):
                x, target, dout = d.normal(*shape, spread=6), d.between(0, 1, *shape), incoming(d, shape, reduction)
                weight = d.between(0.5, 2, *shape) if weighted else None
                raised = d.between(0.5, 3, *shape[-1:]) if positive else None
                at = leaf(x)
                loss = F.binary_cross_entropy_with_logits(
                    at, exact(target), exact(weight) if weighted else None, reduction=reduction,
                    pos_weight=exact(raised) if positive else None,
                )  # fmt: skip
                yield Case([x, target, dout, weight, raised], pulled(loss, dout, at), {"reduction": reduction})


@gradient("NLLLossGrad")
def negative_log_likelihood(d: Draw) -> Iterator[Case]:
    for shape, kind in (((5, 4), np.int32), ((3, 4, 2, 3), np.int64), ((6,), np.int32), ((0, 4), np.int32)):
        for reduction in REDUCTIONS:
            for ignored in (-100, 1):
                classes = shape[min(len(shape) - 1, 1)]
                x, weight = d.normal(*shape), d.between(0.5, 2, classes)
                target = d.whole(0, classes, *(shape[:1] + shape[2:] if len(shape) > 1 else ()), dtype=kind)
                at = leaf(x)
                to = exact(target).long()
                loss = F.nll_loss(at, to, exact(weight), ignore_index=ignored, reduction=reduction)
                counted = target[target != ignored]
                total = d.typed([np.sum(weight.astype(np.float64)[counted])])
                if reduction == "mean" and not counted.size:
                    continue  # 0 / 0 in torch, whose gradient is NaN
                dout = d.normal(*target.shape) if reduction == "none" else d.normal(1)
                inputs = [x, dout, target if target.ndim else target.reshape(1), weight, total]
                want = pulled(loss, dout, at)
                yield Case(inputs, want, {"reduction": reduction, "ignore_index": ignored})


@gradient("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
def with_its_gradient(d: Draw) -> Iterator[Case]:
    """The second output is the loss's gradient by the logits."""
    for shape in ((3, 5), (1, 7), (0, 4)):
        x = d.normal(*shape)
        at = leaf(x)
        if d.op.startswith("Sparse"):
            labels = d.whole(0, shape[1], shape[0])
            goal = F.one_hot(exact(labels).long(), shape[1]).double()
        else:
            labels = d.typed(numpy_of(torch.softmax(exact(d.normal(*shape)), -1)))
            goal = exact(labels)
        loss = torch.sum(-goal * torch.log_softmax(at, -1), -1)
        want = pulled(loss, np.ones(shape[0]), at)
        yield Case([x, labels], [loss, *want], rounded=not d.op.startswith("Sparse"))
