"""Attention: softmax(scores of queries and keys)·values, with masks; the layouts its tensors come in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.shapes import broadcast_shapes, equal_dims, rank_is

Array = NDArray[Any]

LAYOUTS = {"BSH": "BSH", "SBH": "SBH", "BNSD": "BNSD", "BSND": "BSND", "TND": "TND"}
"""Axis letters: batch, steps, heads, features; H is heads times features, T the steps of all sequences."""

BLOCK = 1 << 22
"""Scores of one block."""

BANDS = {
    0: "what pre and next tokens leave", 1: "the mask alone", 2: "causal, from the first key", 3: "causal, to the last key",
    4: "a band, to the last key",
}  # fmt: skip
"""What sparse_mode leaves of the scores."""


class Sizes(NamedTuple):
    """Batch, heads, steps and features of a tensor."""

    batch: Dim
    heads: Dim
    steps: Dim
    width: Dim


def sizes_of(call: Call, name: str, letters: str, heads: Dim) -> Sizes:
    """The sizes of a tensor; H is cut into heads."""
    shape = rank_is(call, name, len(letters))
    at = dict(zip(letters, shape, strict=True))
    if "H" in at:
        total = at["H"]
        if dims.known(total, heads) and (heads < 1 or total % heads):  # type: ignore[operator]
            raise call.refuse("HA504", f"{name} = {dims.text(shape)} ({letters}); allowed: H a multiple of {heads} heads.")
        at["N"], at["D"] = heads, total // heads if isinstance(heads, int) else dims.Between()
    return Sizes(at.get("B", 1), at["N"], at.get("S", at.get("T", 0)), at["D"])


def split_heads(x: Array, letters: str, heads: int) -> Array:
    """The tensor as (batch, heads, steps, features); steps of all sequences are one batch."""
    if "H" in letters:
        x, letters = x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads), letters[:-1] + "ND"
    if "T" in letters:
        x, letters = x[None], "BSND"
    return np.transpose(x, [letters.index(letter) for letter in "BNSD"])


def join_heads(x: Array, letters: str) -> Array:
    """The way back."""
    plain, known = letters.replace("H", "ND").replace("T", "S"), "BNSD" if "T" not in letters else "NSD"
    order = np.transpose(x[0] if "T" in letters else x, [known.index(letter) for letter in plain])
    return order.reshape(*order.shape[:-2], order.shape[-2] * order.shape[-1]) if "H" in letters else order


def heads_of(x: Array, other: Array, letters: str, heads: int) -> int:
    """How many heads x has when another tensor of as many features has ``heads``."""
    return x.shape[-1] * heads // max(other.shape[-1], 1) if "H" in letters else x.shape[letters.index("N")]


def shaped_like(sizes: Sizes, letters: str) -> Shape:
    """A shape in a layout."""
    at = {"B": sizes.batch, "N": sizes.heads, "S": sizes.steps, "T": sizes.steps, "D": sizes.width}
    return tuple(sizes.heads * sizes.width if letter == "H" else at[letter] for letter in letters)


def check_pair(call: Call, query: Sizes, key: Sizes, value: Sizes) -> None:
    """Refuses keys and values that do not fit the queries."""
    told = f"query has {dims.text(query)}, key {dims.text(key)}, value {dims.text(value)} as (batch, heads, steps, features)"
    for one, other, what in (
        (query.batch, key.batch, "the batches"), (key.batch, value.batch, "the batches"), (key.heads, value.heads, "the heads"),
        (key.steps, value.steps, "the steps of key and value"), (query.width, key.width, "the features of query and key"),
    ):  # fmt: skip
        equal_dims(call, one, other, f"{told}: {what} must be equal.")
    if dims.known(query.heads, key.heads) and (key.heads == 0 or query.heads % key.heads):  # type: ignore[operator]
        raise call.refuse("HA504", f"{told}: the heads of query must be a multiple of those of key.")


def check_scores(call: Call, name: str, query: Sizes, key: Sizes) -> None:
    """Refuses a mask or shift that does not broadcast to the scores (batch, heads, queries, keys)."""
    if not call.has(name):
        return
    scores, given = (query.batch, query.heads, query.steps, key.steps), call.shape(name)
    joined = broadcast_shapes(scores, given)
    if joined is None or len(joined) != 4 or (dims.known(*joined, *scores) and joined != scores):
        raise call.refuse("HA504", f"{name} = {dims.text(given)}; allowed: what broadcasts to the scores, {dims.text(scores)}.")


class Rules(NamedTuple):
    """Which scores count: a band by the places of query and key, and a mask whose elements other than 0 are left out."""

    mode: int
    before: int
    after: int
    mask: Array | None

    def hidden(self, image: int, heads: slice, rows: slice, queries: int, keys: int) -> Array | None:
        """Scores that do not count, for some rows of some heads; None: all count."""
        row, column = np.arange(queries)[rows, None], np.arange(keys)
        away = column - row - (keys - queries if self.mode in (3, 4) else 0)
        if self.mode in (2, 3):
            return np.asarray(away > 0)
        part = None if self.mask is None or self.mode == 4 else block_of(self.mask, image, heads, rows) != 0
        limited = self.mode == 4 or (self.mode == 0 and self.mask is not None)
        if not limited or (self.before >= queries + keys and self.after >= queries + keys):
            return part
        band = (away > self.after) | (-away > self.before)
        return band if part is None else part | band


def block_of(x: Array, image: int, heads: slice, rows: slice) -> Array:
    """A part of what broadcasts to the scores."""
    full: Any = x.reshape((1,) * (4 - x.ndim) + x.shape)
    chosen: Array = full[image if full.shape[0] > 1 else 0]
    chosen = chosen[heads] if chosen.shape[0] > 1 else chosen
    return chosen[:, rows] if chosen.shape[1] > 1 else chosen


class Terms(NamedTuple):
    """How scores are made: times ``scale``, a shift before or after that, and what counts."""

    scale: float
    rules: Rules
    shift: Array | None = None
    inside: bool = False

    def scores(self, q: Array, k: Array, image: int, heads: slice, rows: slice, queries: int) -> tuple[Array, Array | None]:
        """Scores of a block, (heads, rows, keys) in float32, and which of them do not count (they are minus infinity)."""
        found = q @ np.swapaxes(k, -1, -2)
        shift = None if self.shift is None else block_of(self.shift, image, heads, rows).astype(np.float32)
        found = found + shift if shift is not None and self.inside else found
        found = found * np.float32(self.scale)
        found = found + shift if shift is not None and not self.inside else found
        hidden = self.rules.hidden(image, heads, rows, queries, k.shape[-2])
        return (found if hidden is None else np.where(hidden, np.float32(-np.inf), found)), hidden


def blocks(q: Array, keys: int) -> Iterator[tuple[int, slice, slice]]:
    """(image, one head, rows) of blocks that are not too large."""
    images, heads, queries, _ = q.shape
    step = max(1, BLOCK // max(keys, 1))
    for image in range(images):
        for head in range(heads):
            for start in range(0, queries, step):
                yield image, slice(head, head + 1), slice(start, start + step)


def soft(scores: Array) -> tuple[Array, Array, Array]:
    """Exponentials over their sum, the largest score, and the sum; a row of which nothing counts is 0."""
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isneginf(top), np.float32(0), top))
    total = np.sum(powers, axis=-1, keepdims=True)
    return powers / np.where(total == 0, np.float32(1), total), top, total


class Result(NamedTuple):
    """What attention gives: values (batch, heads, steps, features), and of each row the largest score and the sum."""

    output: Array
    top: Array
    total: Array


def attended(q: Array, k: Array, v: Array, terms: Terms, kept: Array | None = None, keep_prob: float = 1.0) -> Result:
    """Attention of (batch, heads, steps, features); heads of k and v serve several of q. ``kept``: the mask of dropout."""
    images, heads, queries, _ = q.shape
    group = heads // max(k.shape[1], 1)
    output = np.zeros((images, heads, queries, v.shape[3]), np.float32)
    top, total = np.zeros((2, images, heads, queries), np.float32)
    for image, head, rows in blocks(q, k.shape[2]):
        own = slice(head.start // group, head.start // group + 1)
        scores, _ = terms.scores(q[image, head, rows], k[image, own], image, head, rows, queries)
        share, most, whole = soft(scores)
        if kept is not None:
            share = np.where(kept[image, head, rows], share / np.float32(keep_prob), np.float32(0))
        output[image, head, rows] = share @ v[image, own]
        top[image, head, rows], total[image, head, rows] = most[..., 0], whole[..., 0]
    return Result(output, top, total)
