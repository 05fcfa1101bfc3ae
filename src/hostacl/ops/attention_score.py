"""FlashAttentionScore and its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.attention import (
    BANDS,
    LAYOUTS,
    Rules,
    Sizes,
    Terms,
    attended,
    block_of,
    blocks,
    check_pair,
    check_scores,
    heads_of,
    join_heads,
    shaped_like,
    sizes_of,
    soft,
    split_heads,
)
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.schema import AttrDecl, Generation, TensorDecl, prototype
from hostacl.ops.shapes import equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]

LANES = 8
"""How often softmax_max and softmax_sum hold each number."""

LATER = ("prefix", "actual_seq_qlen", "actual_seq_kvlen", "q_start_idx", "kv_start_idx")
MASKS = (dtypes.BOOL, dtypes.UINT8)


def with_lengths(op_type: str) -> Generation:
    """The operator with the inputs of sequences of different lengths, which may be left out."""
    known = prototype(op_type)
    assert known is not None
    more = tuple(TensorDecl(name, "optional", (dtypes.INT64,)) for name in LATER)
    wide = tuple(
        TensorDecl(one.name, one.kind, (*one.dtypes, *MASKS)) if one.name == "atten_mask" else one for one in known.inputs
    )
    attrs = {name: one for name, one in known.attrs.items() if name != "is_flash"}
    defaults = {"inner_precise": 0, "sparse_mode": 0, "pse_type": 1}
    numbers = {name: AttrDecl(name, "int", False, default) for name, default in defaults.items()}
    return Generation((*wide, *more), known.outputs, {**attrs, **numbers})


class Form(NamedTuple):
    """Layout and sizes of a call."""

    letters: str
    query: Sizes
    key: Sizes
    value: Sizes


def form_of(call: Call) -> Form:
    """The layout and sizes; refuses what is not done, and tensors that do not fit."""
    layout, heads = call.attr("input_layout"), call.attr("head_num")
    if layout not in LAYOUTS:
        raise call.refuse("HA508", f"input_layout = {layout!r}; allowed: {', '.join(map(repr, LAYOUTS))}.")
    check_attributes(call)
    query = sizes_of(call, "query", layout, heads)
    told = f"query = {dims.text(call.shape('query'))} ({layout}); allowed: head_num = {heads} heads."
    equal_dims(call, query.heads, heads, told)
    others: Any = query.heads
    if "H" in layout:
        known = dims.known(query.width, call.shape("key")[-1])
        others = call.shape("key")[-1] // max(query.width, 1) if known else dims.Between()  # type: ignore[operator, type-var]
    key, value = (sizes_of(call, name, layout, others) for name in ("key", "value"))
    check_pair(call, query, key, value)
    for name in ("real_shift", "pse_shift", "atten_mask"):
        if name != "atten_mask" or (call.attrs.get("sparse_mode") or 0) < 2:
            check_scores(call, name, query, key)
    return Form(layout, query, key, value)


def check_attributes(call: Call) -> None:
    """Refuses modes and inputs that are not done."""
    if not 0 < (keep := call.attr("keep_prob")) <= 1:
        raise call.refuse("HA508", f"keep_prob = {keep:g}; allowed: above 0 up to 1, it divides.")
    if call.attr("head_num") < 1:
        raise call.refuse("HA508", f"head_num = {call.attr('head_num')}; allowed: 1 or more.")
    if (mode := call.attrs.get("sparse_mode") or 0) not in BANDS:
        told = ", ".join(f"{key} ({text})" for key, text in BANDS.items())
        raise call.refuse("HA508", f"sparse_mode = {mode}; allowed: {told}.")
    kind = call.attrs.get("pse_type")
    if kind not in (None, 0, 1):
        raise call.refuse("HA508", f"pse_type = {kind}; allowed: 0 (added after scaling), 1 (before).")
    if call.has("padding_mask"):
        raise call.refuse("HA513", "padding_mask is given; what it does is not published: leave it out.")
    if call.attr("input_layout") != "TND":
        return
    if not (call.has("actual_seq_qlen") and call.has("actual_seq_kvlen")):
        raise call.refuse("HA513", "input_layout TND needs actual_seq_qlen and actual_seq_kvlen: where each sequence ends.")
    for name in ("real_shift", "pse_shift", "drop_mask", "atten_mask"):
        if call.has(name) and not (name == "atten_mask" and mode > 1):
            raise call.refuse("HA513", f"{name} is given with TND; leave it out (atten_mask: but with sparse_mode 2, 3, 4).")


def row_shape(form: Form) -> Shape:
    """(batch, heads, queries, 8), with TND (queries, heads, 8)."""
    if "T" in form.letters:
        return (form.query.steps, form.query.heads, LANES)
    return (form.query.batch, form.query.heads, form.query.steps, LANES)


def score_shape(call: Call) -> list[Shape]:
    """The largest scores and sums, an empty tensor, and the result as the query."""
    form = form_of(call)
    rows = row_shape(form)
    specs = call.outputs["softmax_out"].specs
    told = specs[0].shape if specs and not specs[0].absent else (0,)
    result = shaped_like(form.query._replace(width=form.value.width), form.letters)
    return [rows, rows, told, result]


def terms_of(call: Call, shift: Array | None, mask: Array | None) -> Terms:
    """How the scores of a call are made."""
    attrs = call.attrs
    rules = Rules(attrs.get("sparse_mode") or 0, attrs["pre_tockens"], attrs["next_tockens"], mask)
    kind = attrs.get("pse_type")
    return Terms(attrs["scale_value"], rules, shift, inside=kind is None or kind == 1)


def sequences(call: Call, ends: tuple[Any, Any], queries: int, keys: int) -> list[tuple[slice, slice]]:
    """The steps of each sequence; all at once without lengths."""
    if call.attr("input_layout") != "TND":
        return [(slice(0, queries), slice(0, keys))]
    found, start, other = [], 0, 0
    for end, last in zip(*(one.ravel().tolist() for one in ends), strict=True):
        if not (start <= end <= queries and other <= last <= keys):
            told = f"a sequence ends at query {end}, key {last}; allowed: growing ends up to {queries} and {keys}"
            raise Failed("HA510", f"{call.op_type}: {told}.")
        found.append((slice(start, end), slice(other, last)))
        start, other = end, last
    return found


def kept_of(call: Call, mask: Array | None, form: tuple[int, ...]) -> Array | None:
    """The mask of dropout for all scores, from one bit or one byte each."""
    if mask is None:
        return None
    count, flat = int(np.prod(form)), mask.ravel()
    if flat.size >= count:
        return (flat[:count] != 0).reshape(form)
    if flat.size * 8 < count:
        raise Failed("HA510", f"{call.op_type}: drop_mask has {flat.size} elements; needed: a bit for each of {count} scores.")
    return np.unpackbits(flat.astype(np.uint8), bitorder="little")[:count].astype(np.bool_).reshape(form)


class Parts(NamedTuple):
    """A call's tensors as (batch, heads, steps, features), and its scores' terms and dropout."""

    q: Array
    k: Array
    v: Array
    terms: Terms
    kept: Array | None
    sequences: list[tuple[slice, slice]]

    @staticmethod
    def of(call: Call, tensors: tuple[Array, Array, Array], terms: Terms, drop: Array | None, ends: tuple[Any, Any]) -> Parts:
        """Those of a call."""
        letters, heads, (query, key, value) = call.attr("input_layout"), call.attr("head_num"), tensors
        others = heads_of(key, query, letters, heads)
        q, k, v = split_heads(query, letters, heads), split_heads(key, letters, others), split_heads(value, letters, others)
        scores = (q.shape[0], heads, q.shape[2], k.shape[2])
        kept = kept_of(call, drop, scores) if call.attr("keep_prob") < 1 else None
        return Parts(q, k, v, terms, kept, sequences(call, ends, q.shape[2], k.shape[2]))

    def each(self) -> Iterator[tuple[slice, slice, Array, Array, Array, Array | None]]:
        """The steps of each sequence, its tensors and its dropout."""
        for own, others in self.sequences:
            kept = None if self.kept is None else self.kept[:, :, own, others]
            yield own, others, self.q[:, :, own], self.k[:, :, others], self.v[:, :, others], kept


@kernel("FlashAttentionScore", shape=score_shape, forms=(with_lengths("FlashAttentionScore"),), dtypes={"atten_mask": MASKS},
        mixed=("drop_mask", "atten_mask", "real_shift"))  # fmt: skip
def flash_attention_score(
    query: Array, key: Array, value: Array, real_shift: Array | None, drop_mask: Array | None, atten_mask: Array | None,
    actual_seq_qlen: Array | None, actual_seq_kvlen: Array | None, keep_prob: float, input_layout: str, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """softmax(scale_value·(query·keyᵀ + real_shift))·value, head by head; softmax_max and softmax_sum hold each row's 8 times.

    atten_mask (not 0: left out) and real_shift broadcast to the scores (batch, heads, queries, keys); with pse_type 0
    real_shift is added after scaling. sparse_mode: 0 the mask, and of it the band from pre_tockens before to next_tockens
    after a query; 1 the mask alone; 2 causal from the first key, 3 causal to the last key; 4 the band to the last key. A row
    of which nothing counts gives 0. drop_mask holds a bit (or a byte) for each score that stays; those are divided by
    keep_prob. Fewer heads of key and value serve several of query. TND: sequences one after the other, their ends in
    actual_seq_qlen and actual_seq_kvlen.
    """
    terms = terms_of(call, real_shift, atten_mask)
    parts = Parts.of(call, (query, key, value), terms, drop_mask, (actual_seq_qlen, actual_seq_kvlen))
    output = np.zeros((*parts.q.shape[:3], parts.v.shape[3]), np.float32)
    top, total = np.zeros((2, *parts.q.shape[:3]), np.float32)
    for own, _, q, k, v, kept in parts.each():
        output[:, :, own], top[:, :, own], total[:, :, own] = attended(q, k, v, terms, kept, keep_prob)
    rows = [np.repeat(one[..., None], LANES, -1) for one in (top, total)]
    rows = [np.swapaxes(one[0], 0, 1) for one in rows] if input_layout == "TND" else rows
    return rows[0], rows[1], None, join_heads(output, input_layout)


def gradient_shape(call: Call) -> list[Shape]:
    """Each gradient as its tensor, that of a shift that is not given empty."""
    form = form_of(call)
    want = shaped_like(form.query._replace(width=form.value.width), form.letters)
    for name in ("dy", "attention_in"):
        if call.has(name):
            given = call.shape(name)
            text = f"{name} = {dims.text(given)}; allowed: {dims.text(want)}, the shape of the attention."
            equal_dims(call, len(given), len(want), text)
            for one, other in zip(given, want, strict=True):
                equal_dims(call, one, other, text)
    for name in ("softmax_max", "softmax_sum"):
        if call.has(name):
            given, rows = call.shape(name), row_shape(form)
            text = f"{name} = {dims.text(given)}; allowed: {dims.text(rows)}."
            equal_dims(call, len(given), len(rows), text)
            for one, other in zip(given, rows, strict=True):
                equal_dims(call, one, other, text)
    shift: Shape = call.shape("pse_shift") if call.has("pse_shift") else (0,)
    return [*(call.shape(name) for name in ("query", "key", "value")), shift]


@kernel("FlashAttentionScoreGrad", shape=gradient_shape, forms=(with_lengths("FlashAttentionScoreGrad"),),
        dtypes={"atten_mask": MASKS}, mixed=("drop_mask", "atten_mask", "pse_shift"))  # fmt: skip
def flash_attention_score_grad(
    query: Array, key: Array, value: Array, dy: Array, pse_shift: Array | None, drop_mask: Array | None,
    atten_mask: Array | None, actual_seq_qlen: Array | None, actual_seq_kvlen: Array | None, keep_prob: float,
    input_layout: str, head_num: int, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of FlashAttentionScore by query, key, value and the shift, whose softmax is worked out anew.

    softmax_max, softmax_sum, softmax_in and attention_in hold nothing that is needed. Gradients of heads of key and value that
    serve several of query are added up, so is that of a shift that was broadcast; without a shift dpse is empty.
    """
    terms = terms_of(call, pse_shift, atten_mask)
    parts = Parts.of(call, (query, key, value), terms, drop_mask, (actual_seq_qlen, actual_seq_kvlen))
    grads = split_heads(dy, input_layout, head_num)
    dq, dk, dv = (np.zeros(one.shape, np.float32) for one in (parts.q, parts.k, parts.v))
    dpse = None if pse_shift is None else np.zeros((1,) * (4 - pse_shift.ndim) + pse_shift.shape)
    for own, others, q, k, v, kept in parts.each():
        found = dq[:, :, own], dk[:, :, others], dv[:, :, others], dpse
        gradients(q, k, v, grads[:, :, own], (terms, kept, keep_prob), found)
    shift = None if dpse is None or pse_shift is None else dpse.reshape(pse_shift.shape)
    return *(join_heads(one, input_layout) for one in (dq, dk, dv)), shift


def gradients(q: Array, k: Array, v: Array, dy: Array, how: tuple[Terms, Any, float], found: tuple[Any, ...]) -> None:
    """Adds the gradients of one sequence to those of query, key, value and the shift."""
    (terms, kept, keep_prob), (dq, dk, dv, dpse) = how, found
    group, scale = q.shape[1] // max(k.shape[1], 1), np.float32(terms.scale)
    for image, head, rows in blocks(q, k.shape[2]):
        own = slice(head.start // group, head.start // group + 1)
        scores, _ = terms.scores(q[image, head, rows], k[image, own], image, head, rows, q.shape[2])
        share, _, _ = soft(scores)
        by_share = dy[image, head, rows] @ np.swapaxes(v[image, own], -1, -2)
        used = share
        if kept is not None:
            mask = kept[image, head, rows]
            used, by_share = (np.where(mask, one / np.float32(keep_prob), np.float32(0)) for one in (share, by_share))
        by_score = share * (by_share - np.sum(share * by_share, axis=-1, keepdims=True))
        dv[image, own] += np.swapaxes(used, -1, -2) @ dy[image, head, rows]
        dq[image, head, rows] = by_score @ k[image, own] * scale
        dk[image, own] += np.swapaxes(by_score, -1, -2) @ q[image, head, rows] * scale
        if dpse is not None:
            place, part = block_of(dpse, image, head, rows), by_score * scale if terms.inside else by_score
            over = tuple(axis for axis in range(3) if place.shape[axis] == 1 and part.shape[axis] != 1)
            place += np.sum(part, axis=over, keepdims=True, dtype=np.float64)
