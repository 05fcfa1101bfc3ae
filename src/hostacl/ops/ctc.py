"""Connectionist temporal classification: the loss over all alignments, and its gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]

NEVER = -np.inf
"""The logarithm of what cannot be."""


def checked(call: Call) -> tuple[Shape, Dim]:
    """(steps, batch, classes), and the states of the longest target: two for each label, and one."""
    shape = rank_is(call, "log_probs", 3)
    targets = rank_is(call, "targets", 1, 2)
    if (mode := call.attr("reduction")) not in ("none", "mean", "sum"):
        raise call.refuse("HA508", f"reduction = {mode!r}; allowed: 'none', 'mean', 'sum'.")
    if (blank := call.attr("blank")) < 0:
        raise call.refuse("HA508", f"blank = {blank}; allowed: 0 or more.")
    for name in ("input_lengths", "target_lengths"):
        given = rank_is(call, name, 1)
        told = f"{name} = {dims.text(given)}, log_probs = {dims.text(shape)}; allowed: one for each batch."
        equal_dims(call, given[0], shape[1], told)
    if len(targets) == 1:
        return shape, Between(1, None)
    told = f"targets = {dims.text(targets)}, log_probs = {dims.text(shape)}; allowed: a row for each batch."
    equal_dims(call, targets[0], shape[1], told)
    return shape, targets[1] * 2 + 1


def loss_shape(call: Call) -> list[Shape]:
    """A loss for each of the batch, and (batch, steps, states); more states may be described."""
    (steps, batch, _), states = checked(call)
    specs = call.outputs["log_alpha"].specs
    told = specs[0].shape if specs and not specs[0].absent else ()
    least = dims.bounds(states)[0]
    if len(told) == 3 and told[2] >= least:
        states = told[2]
    return [(batch,), (batch, steps, states)]


class Lattice(NamedTuple):
    """The states of all targets: labels with blanks between them, and what may be skipped."""

    labels: Array
    skip: Array
    lengths: Array
    inputs: Array


def lattice(call: Call, shape: tuple[int, ...], targets: Array, inputs: Array, lengths: Array, states: int) -> Lattice:
    """The states of a call, (batch, states); refuses lengths and labels that are not there."""
    steps, batch, classes = shape
    room = targets.shape[1] if targets.ndim == 2 else targets.size
    for name, given, most in (("input_lengths", inputs, steps), ("target_lengths", lengths, min(room, (states - 1) // 2))):
        if given.size and not 0 <= given.min() <= given.max() <= most:
            raise Failed("HA510", f"{call.op_type}: {name} holds {given.min()} to {given.max()}; allowed: 0 to {most}.")
    blank = call.attr("blank") % max(classes, 1)
    labels = np.full((batch, states), blank, np.int64)
    starts = np.cumsum(lengths) - lengths
    if targets.ndim == 1 and lengths.sum() > targets.size:
        told = f"target_lengths add up to {lengths.sum()}, targets have {targets.size} elements; allowed: at most as many."
        raise Failed("HA510", f"{call.op_type}: {told}")
    for row, count in enumerate(lengths):
        own = targets[row, :count] if targets.ndim == 2 else targets[starts[row] : starts[row] + count]
        if own.size and not 0 <= own.min() <= own.max() < classes:
            raise Failed("HA510", f"{call.op_type}: targets hold {own.min()} to {own.max()}; allowed: 0 to {classes - 1}.")
        labels[row, 1 : 2 * count : 2] = own
    skip = np.zeros(labels.shape, np.bool_)
    skip[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return Lattice(labels, skip, lengths.astype(np.int64), inputs.astype(np.int64))


def added(*parts: Array) -> Array:
    """The logarithm of the sum of exponentials."""
    top = np.max(parts, axis=0)
    held = np.where(np.isfinite(top), top, 0)
    return np.asarray(held + np.log(sum(np.exp(part - held) for part in parts)))


def moved(x: Array, by: int) -> Array:
    """States moved to higher ones (lower ones: negative), those that enter never are."""
    result = np.full(x.shape, NEVER)
    if by > 0:
        result[:, by:] = x[:, :-by]
    else:
        result[:, :by] = x[:, -by:]
    return result


def forward(log_probs: Array, paths: Lattice) -> Array:
    """(steps, batch, states): the logarithm of all ways to be in a state after a step, that step included."""
    steps, batch = log_probs.shape[:2]
    alpha = np.full((steps, *paths.labels.shape), NEVER)
    state = np.arange(paths.labels.shape[1])
    real = state < 2 * paths.lengths[:, None] + 1
    for step in range(steps):
        here = np.take_along_axis(log_probs[step], paths.labels, 1)
        if step:
            before = alpha[step - 1]
            ways = added(before, moved(before, 1), np.where(paths.skip, moved(before, 2), NEVER))
        else:
            ways = np.where(state < 2, 0.0, np.full((batch, 1), NEVER))
        alpha[step] = np.where(real & (step < paths.inputs[:, None]), ways + here, NEVER)
    return alpha


def backward(log_probs: Array, paths: Lattice) -> Array:
    """(steps, batch, states): the logarithm of all ways from a state to the end, that step included."""
    steps = len(log_probs)
    beta = np.full((steps, *paths.labels.shape), NEVER)
    state, ends = np.arange(paths.labels.shape[1]), 2 * paths.lengths[:, None]
    skipped = np.zeros(paths.skip.shape, np.bool_)
    skipped[:, :-2] = paths.skip[:, 2:]
    for step in range(steps - 1, -1, -1):
        here = np.take_along_axis(log_probs[step], paths.labels, 1)
        last = np.where((state <= ends) & (state >= ends - 1), 0.0, NEVER)
        ways = last
        if step + 1 < steps:
            after = beta[step + 1]
            onward = added(after, moved(after, -1), np.where(skipped, moved(after, -2), NEVER))
            ways = np.where(step == paths.inputs[:, None] - 1, last, onward)
        beta[step] = np.where((state <= ends) & (step < paths.inputs[:, None]), ways + here, NEVER)
    return beta


def losses(alpha: Array, paths: Lattice) -> Array:
    """The loss of each of the batch."""
    rows = np.arange(len(paths.lengths))
    empty = np.where(paths.lengths == 0, 0.0, NEVER)
    if not len(alpha):
        return -empty
    last = alpha[np.maximum(paths.inputs - 1, 0), rows]
    end = last[rows, 2 * paths.lengths]
    label = np.where(paths.lengths > 0, last[rows, np.maximum(2 * paths.lengths - 1, 0)], NEVER)
    return -np.where(paths.inputs == 0, empty, added(end, label))


@kernel("CTCLossV2", shape=loss_shape, mixed=("targets", "input_lengths", "target_lengths"))
def ctc_loss_v2(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, zero_infinity: bool, call: Call, out: Any
) -> tuple[Array, Array]:
    """For each of the batch minus the logarithm of the probability of its target, over all ways to align it with the steps.

    log_probs are (steps, batch, classes); targets (batch, longest), or all labels one after the other. log_alpha (batch, steps,
    2·longest + 1, or as many as described) holds the logarithms of the ways up to each state, minus infinity where there is
    none. What cannot be aligned gives infinity, 0 with zero_infinity. reduction is the caller's: there is always one loss each.
    blank may carry the longest target too, as blank + longest·classes.
    """
    states = states_of(out[1].shape[2], targets, target_lengths)
    paths = lattice(call, log_probs.shape, targets, input_lengths, target_lengths, states)
    alpha = forward(log_probs.astype(np.float64), paths)
    found = losses(alpha, paths)
    return np.where(np.isinf(found), 0, found) if zero_infinity else found, np.moveaxis(alpha, 1, 0)


def states_of(described: Any, targets: Array, lengths: Array) -> int:
    """The states of the lattice: as described, else those of the longest target."""
    if isinstance(described, int) and described > 0:
        return described
    return 2 * (targets.shape[1] if targets.ndim == 2 else int(lengths.max(initial=0))) + 1


def gradient_shape(call: Call) -> Shape:
    """The shape of log_probs."""
    (steps, batch, classes), states = checked(call)
    for name in ("grad_out", "neg_log_likelihood"):
        told = f"{name} = {dims.text(call.shape(name))}; allowed: {dims.text((batch,))}."
        equal_dims(call, dims.count(call.shape(name)), batch, told)
    alpha = rank_is(call, "log_alpha", 3)
    told = f"log_alpha = {dims.text(alpha)}; allowed: {dims.text((batch, steps, states))}, or more states."
    equal_dims(call, alpha[0], batch, told)
    equal_dims(call, alpha[1], steps, told)
    if dims.known(alpha[2], states) and alpha[2] < states:  # type: ignore[operator]
        raise call.refuse("HA504", told)
    return (steps, batch, classes)


@kernel("CTCLossV2Grad", shape=gradient_shape, mixed=("targets", "input_lengths", "target_lengths"))
def ctc_loss_v2_grad(
    grad_out: Array, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, log_alpha: Array,
    zero_infinity: bool, call: Call,
) -> Array:  # fmt: skip
    """The gradient of CTCLossV2 by what log_probs are the log-softmax of: (e^log_probs - the share of each class)·grad_out.

    The share is the probability that an alignment of the target is in a state of this class at this step. Steps beyond
    input_lengths get 0; what could not be aligned NaN, with zero_infinity 0.
    """
    paths = lattice(call, log_probs.shape, targets, input_lengths, target_lengths, log_alpha.shape[2])
    wide, alpha = log_probs.astype(np.float64), np.moveaxis(log_alpha.astype(np.float64), 0, 1)
    steps, batch, classes = wide.shape
    together, loss = alpha + backward(wide, paths), losses(alpha, paths)
    place = np.arange(batch)[:, None] * classes + paths.labels
    result = np.zeros(wide.shape)
    for step in range(steps):
        top = np.max(together[step], axis=1, initial=NEVER)
        held = np.where(np.isfinite(top), top, 0)[:, None]
        weight = np.bincount(place.ravel(), np.exp(together[step] - held).ravel(), batch * classes).reshape(batch, classes)
        share = np.where(weight == 0, 0, weight * np.exp(held + loss[:, None] - wide[step]))
        share = np.where(np.isinf(loss)[:, None], np.nan, share)
        result[step] = np.where(step < paths.inputs[:, None], (np.exp(wide[step]) - share) * grad_out.reshape(-1, 1), 0)
    return np.where(np.isinf(loss)[:, None], 0, result) if zero_infinity else result
