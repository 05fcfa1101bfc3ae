"""Drawing categories by their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import philox
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.random_values import next_draw, one_element, whole
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import rank_is, sizes

Array = NDArray[Any]


def sampled_shape(call: Call) -> Shape:
    """The rows of x, with numsamples in the place of the categories."""
    shape = rank_is(call, "x", 1, 2)
    one_element(call, "seed", "offset")
    count = call.attr("numsamples")
    if count < 0 or 0 in shape[-1:]:
        told = f"numsamples = {count}" if count < 0 else "x has no categories"
        raise call.refuse("HA508", f"{told}; allowed: numsamples 0 or more, one category or more.")
    return (*shape[:-1], count)


@kernel("MultinomialWithReplacement", shape=sampled_shape, attrs={"replacement": None})
def multinomial_with_replacement(x: Array, seed: Array, offset: Array, numsamples: int, replacement: bool | None) -> Array:
    """For each row of weights, ``numsamples`` categories, each drawn with its share of the row's sum.

    replacement false draws each at most once; absent means true, as the name says. Weights that are negative, not finite or
    all 0 fail, as does drawing more without replacement than have a weight.
    """
    weights = x.reshape(-1, x.shape[-1]).astype(np.float64)
    check_weights(weights, numsamples, replacement is not False)
    key, counter = philox.key_of(whole(seed)), philox.counter_of(whole(offset))
    draw = with_replacement if replacement is not False else without_replacement
    return draw(weights, numsamples, key, counter).reshape(*x.shape[:-1], numsamples)


def check_weights(weights: Array, count: int, replacement: bool) -> None:
    """Fails for rows that cannot be drawn from."""
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row, place = (int(one) for one in np.argwhere(wrong)[0])
        text = f"x[{row},{place}] = {weights[row, place]:g}; allowed: finite, 0 or more."
        raise Failed("HA519", f"MultinomialWithReplacement: {text}")
    least = 1 if replacement else count
    few = (weights > 0).sum(axis=1) < least
    if few.any() and count:
        text = f"row {int(np.argmax(few))} of x has fewer than {least} weights above 0; draw fewer, or with replacement."
        raise Failed("HA519", f"MultinomialWithReplacement: {text}")


def uniforms(rows: int, columns: int, key: int, counter: int) -> Array:
    """Numbers in [0, 1) with 52 bits, row by row."""
    return philox.uniform(philox.words(2 * rows * columns, key, counter), 52).reshape(rows, columns)


def with_replacement(weights: Array, count: int, key: int, counter: int) -> Array:
    """Categories by the running sum: the first whose sum exceeds a random share of the total."""
    sums = np.cumsum(weights, axis=1)
    shares = sums / sums[:, -1:]
    rows, categories = weights.shape
    level = np.arange(rows, dtype=np.float64)[:, None]
    found = np.searchsorted((shares + level).ravel(), (uniforms(rows, count, key, counter) + level).ravel(), side="right")
    last = categories - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    inside: Array = np.minimum(found.reshape(rows, count) - (np.arange(rows) * categories)[:, None], last[:, None])
    return inside


def without_replacement(weights: Array, count: int, key: int, counter: int) -> Array:
    """Different categories: those whose exponential waiting times at these rates end first."""
    rows, columns = weights.shape
    waiting = -np.log1p(-uniforms(rows, columns, key, counter)) / np.where(weights > 0, weights, np.nan)
    return np.argsort(waiting, axis=1, kind="stable")[:, :count]


def multinomial_shape(call: Call) -> Shape:
    """(batch, num_samples)."""
    batch, _ = rank_is(call, "logits", 2)
    one_element(call, "num_samples")
    if not call.known("num_samples"):
        return (batch, Between())
    return (batch, *sizes(call, "num_samples"))


@kernel("Multinomial", shape=multinomial_shape, values=("num_samples",))
def multinomial(logits: Array, num_samples: Array, seed: int, seed2: int) -> Array:
    """For each row of log-weights, ``num_samples`` categories, drawn with replacement.

    Each call goes on with the seeds' numbers. A row without a finite logit fails; -Inf is never drawn.
    """
    wide = logits.astype(np.float64)
    top = wide.max(axis=1, keepdims=True, initial=-np.inf)
    if not np.isfinite(top).all():
        row = int(np.argmin(np.isfinite(top)))
        text = f"row {row} of logits has the largest value {float(top[row, 0]):g}; it must be finite."
        raise Failed("HA519", f"Multinomial: {text}")
    key, counter = philox.key_of(seed, seed2), philox.counter_of(0, next_draw())
    return with_replacement(np.exp(wide - top), whole(num_samples), key, counter)
