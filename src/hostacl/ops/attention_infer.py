"""Attention for inference: sequences of different lengths, keys and values in lists or pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.attention import (
    BANDS,
    Rules,
    Sizes,
    Terms,
    attended,
    check_pair,
    check_scores,
    heads_of,
    join_heads,
    shaped_like,
    sizes_of,
    split_heads,
)
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

LAYOUTS = {"BSH": "BSH", "BNSD": "BNSD", "BSND": "BSND", "BNSD_BSND": "BSND"}
"""The layout of the result by that of the inputs."""

LENGTHS = ("actual_seq_lengths", "actual_seq_lengths_kv")
DONE = frozenset({"query", "key", "value", "pse_shift", "atten_mask", "block_table", *LENGTHS})
"""Inputs that count; all others belong to quantisation, prefixes and separate rotary parts."""


def letters_of(call: Call) -> str:
    """The axis letters of query, key and value; refuses attributes and inputs that are not done."""
    layout, heads = call.attr("input_layout"), call.attr("num_heads")
    if layout not in LAYOUTS:
        raise call.refuse("HA508", f"input_layout = {layout!r}; allowed: {', '.join(map(repr, LAYOUTS))}.")
    if heads < 1:
        raise call.refuse("HA508", f"num_heads = {heads}; allowed: 1 or more.")
    if (mode := call.attrs.get("sparse_mode", 0)) not in BANDS:
        told = ", ".join(f"{key} ({text})" for key, text in BANDS.items())
        raise call.refuse("HA508", f"sparse_mode = {mode}; allowed: {told}.")
    for name, bound in call.inputs.items():
        if bound.given and name not in DONE:
            told = "quantised tensors, prefixes, padding on the left and separate rotary parts are not done: leave it out"
            raise call.refuse("HA513", f"{name} is given; {told}.")
    return layout.split("_")[0]


def infer_form(call: Call) -> tuple[str, Sizes, Sizes]:
    """The letters, and the sizes of query and value; refuses tensors that do not fit."""
    letters, heads = letters_of(call), call.attr("num_heads")
    query = sizes_of(call, "query", letters, heads)
    told = f"query = {dims.text(call.shape('query'))} ({letters}); allowed: num_heads = {heads} heads."
    equal_dims(call, query.heads, heads, told)
    keys, values = call.shapes("key"), call.shapes("value")
    if len(keys) != len(values):
        raise call.refuse("HA513", f"{len(keys)} key and {len(values)} value are given; allowed: as many of both.")
    for name in LENGTHS:
        if call.has(name):
            count = dims.count(call.shape(name))
            told = f"{name} has {dims.text((count,))} elements; allowed: one for each of {dims.text((query.batch,))}."
            equal_dims(call, count, query.batch, told)
    if call.has("block_table"):
        table = rank_is(call, "block_table", 2)
        told = f"block_table = {dims.text(table)}; allowed: a row for each of {dims.text((query.batch,))}."
        equal_dims(call, table[0], query.batch, told)
        key, value = rank_is(call, "key", 3, 4), call.shape("value")
        told = f"key = {dims.text(key)}, value = {dims.text(value)}: pages of equally many steps and heads."
        alike = 3  # with three dims the last one holds the heads, too
        for one, other in zip(key[:alike], rank_is(call, "value", len(key))[:alike], strict=True):
            equal_dims(call, one, other, told)
        return letters, query, query
    return letters, query, check_keys(call, letters, query, len(keys) == 1)


def check_keys(call: Call, letters: str, query: Sizes, single: bool) -> Sizes:
    """The sizes of value; refuses keys, values and masks that do not fit. The first of a list speaks for all."""
    others, last = query.heads, call.shape("key")[-1]
    if letters == "BSH" and isinstance(last, int) and isinstance(query.width, int):
        others = last // max(query.width, 1)
    key, value = (sizes_of(call, name, letters, others) for name in ("key", "value"))
    if not single:
        key, value = key._replace(batch=query.batch), value._replace(batch=query.batch)
    check_pair(call, query, key, value)
    if single:
        for name in ("pse_shift", "atten_mask")[: 1 if call.attrs.get("sparse_mode", 0) > 1 else 2]:
            check_scores(call, name, query, key)
    return value


def infer_shape(call: Call) -> Any:
    """The attention in the layout of the result; FusedInferAttentionScore also has the logarithms of the sums."""
    _, query, value = infer_form(call)
    result = shaped_like(query._replace(width=value.width), LAYOUTS[call.attr("input_layout")])
    if "softmax_lse" not in call.outputs:
        return result
    specs = call.outputs["softmax_lse"].specs
    unused: Shape = specs[0].shape if specs and not specs[0].absent else (1,)
    return [result, (query.batch, query.heads, query.steps, 1) if call.attr("softmax_lse_flag") else unused]


def own_dtype(call: Call) -> tuple[int, ...]:
    """That of query, or another float type."""
    return (call.dtype("query"), dtypes.FLOAT16, dtypes.BF16, dtypes.FLOAT)


def part_of(x: Array | None, image: int, queries: int, keys: int) -> Array | None:
    """What a mask or shift says of one sequence."""
    if x is None:
        return None
    full: Any = x.reshape((1,) * (4 - x.ndim) + x.shape)
    one: Array = full[image : image + 1] if full.shape[0] > 1 else full
    one = one[:, :, :queries] if one.shape[2] > 1 else one
    return one[..., :keys] if one.shape[3] > 1 else one


def paged(call: Call, pages: Array, table: Array, count: int, width: int) -> Array:
    """Keys or values of one sequence, (1, heads, steps, features), from pages that the table names."""
    size = pages.shape[1] if pages.ndim == 3 else pages.shape[2]
    used = -(-count // max(size, 1))
    if used > table.size:
        told = f"a sequence of {count} steps needs {used} pages of {size}; block_table has {table.size} for it"
        raise Failed("HA510", f"{call.op_type}: {told}.")
    chosen = pages[checked_indices(call.op_type, np.ascontiguousarray(table[:used]), len(pages), "block_table")]
    if pages.ndim == 3:
        chosen = np.swapaxes(chosen.reshape(used, size, pages.shape[2] // max(width, 1), width), 1, 2)
    return np.swapaxes(chosen, 0, 1).reshape(1, chosen.shape[1], used * size, chosen.shape[3])[:, :, :count]


def sequence(call: Call, side: Sequence[Array], image: int, heads: int, letters: str) -> Array:
    """Keys or values of one sequence, (1, heads, steps, features), from one tensor or from a list."""
    if len(side) > 1:
        return split_heads(side[image], letters, heads)
    return split_heads(side[0][image : image + 1], letters, heads)


def lengths_of(call: Call, given: Array | None, images: int, most: int, name: str) -> list[int]:
    """The steps that count of each sequence."""
    if given is None:
        return [most] * images
    found: list[int] = given.ravel().tolist()
    if found and not 0 <= min(found) <= max(found) <= most:
        raise Failed("HA510", f"{call.op_type}: {name} holds {min(found)} to {max(found)}; allowed: 0 to {most}.")
    return found


def inferred(
    call: Call, query: Array, keys: Sequence[Array], values: Sequence[Array], terms: Terms, ends: tuple[Any, Any], table: Any
) -> tuple[Array, Array]:
    """The attention in the layout of the result, and the logarithms of the sums of exponentials, (batch, heads, queries, 1)."""
    layout, heads = call.attr("input_layout"), call.attr("num_heads")
    letters = layout.split("_")[0]
    q = split_heads(query, letters, heads)
    images, _, queries, width = q.shape
    own = lengths_of(call, ends[0], images, queries, "actual_seq_lengths")
    output: Any = None
    lse = np.full((images, heads, queries, 1), np.inf, np.float32)
    for image in range(images):
        if table is None:
            others = heads_of(keys[0], query, letters, heads)
            k, v = (sequence(call, side, image, others, letters) for side in (keys, values))
            count = k.shape[2] if ends[1] is None else int(ends[1].ravel()[image])
        else:
            size = keys[0].shape[1] if keys[0].ndim == 3 else keys[0].shape[2]
            count = int(ends[1].ravel()[image]) if ends[1] is not None else table.shape[1] * size
            k, v = (paged(call, side[0], table[image], count, width) for side in (keys, values))
        if not 0 <= count <= k.shape[2]:
            raise Failed("HA510", f"{call.op_type}: {count} keys are to count; allowed: 0 to {k.shape[2]}.")
        output = np.zeros((images, heads, queries, v.shape[3]), np.float32) if output is None else output
        rows = slice(0, own[image])
        rules = terms.rules._replace(mask=part_of(terms.rules.mask, image, own[image], count))
        now = terms._replace(rules=rules, shift=part_of(terms.shift, image, own[image], count))
        found = attended(q[image : image + 1, :, rows], k[:, :, :count], v[:, :, :count], now)
        output[image, :, rows] = found.output[0]
        lse[image, :, rows, 0] = np.where(found.total[0] > 0, found.top[0] + np.log(found.total[0]), np.inf)
    output = np.zeros((*q.shape[:3], width), np.float32) if output is None else output
    return join_heads(output, LAYOUTS[layout]), lse


def rules_of(call: Call, mask: Array | None) -> Rules:
    """What counts, by the attributes of a call."""
    attrs = call.attrs
    return Rules(attrs.get("sparse_mode", 0), attrs.get("pre_tokens", 1 << 31), attrs.get("next_tokens", 1 << 31), mask)


READ = {"key": Reads.PARTS, "value": Reads.PARTS}  # what the lengths and tables leave
FLEXIBLE: dict[str, Any] = {"shape": infer_shape, "mixed": ("pse_shift", "atten_mask"), "reads": READ}
MASKS = {"atten_mask": (dtypes.BOOL, dtypes.UINT8, dtypes.INT8)}


@kernel("PromptFlashAttention", dtype={"attention_out": own_dtype}, dtypes=MASKS, **FLEXIBLE)
def prompt_flash_attention(
    query: Array, key: Array, value: Array, pse_shift: Array | None, atten_mask: Array | None,
    actual_seq_lengths: Array | None, actual_seq_lengths_kv: Array | None, scale_value: float, call: Call,
) -> Array:  # fmt: skip
    """softmax(scale_value·query·keyᵀ + pse_shift)·value, head by head; fewer heads of key and value serve several of query.

    atten_mask (not 0: left out) and pse_shift broadcast to the scores (batch, heads, queries, keys). sparse_mode: 0 the mask,
    and of it the band from pre_tokens before to next_tokens after a query; 1 the mask alone; 2 causal from the first key, 3
    causal to the last key; 4 the band to the last key. actual_seq_lengths say how many queries of each sequence count, …_kv
    how many keys; other rows, and rows of which nothing counts, are 0. BNSD_BSND turns the result's axes.
    """
    terms = Terms(scale_value, rules_of(call, atten_mask), pse_shift)
    return inferred(call, query, [key], [value], terms, (actual_seq_lengths, actual_seq_lengths_kv), None)[0]


@kernel("IncreFlashAttention", dtype={"attention_out": own_dtype}, dtypes=MASKS, **FLEXIBLE)
def incre_flash_attention(
    query: Array, key: list[Array], value: list[Array], pse_shift: Array | None, atten_mask: Array | None,
    actual_seq_lengths: Array | None, block_table: Array | None, scale_value: float, call: Call,
) -> Array:  # fmt: skip
    """PromptFlashAttention of a new query for each sequence: softmax(scale_value·query·keyᵀ + pse_shift)·value.

    actual_seq_lengths say how many keys of each sequence count. key and value are one tensor, a list with one for each
    sequence, or with block_table pages, (pages, steps, H) or (pages, heads, steps, features): row b names those of sequence b.
    """
    terms = Terms(scale_value, rules_of(call, atten_mask), pse_shift)
    return inferred(call, query, key, value, terms, (None, actual_seq_lengths), block_table)[0]


def sum_dtype(call: Call) -> tuple[int, ...]:
    """float32, or a half type."""
    return (dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16)


@kernel("FusedInferAttentionScore", dtype={"attention_out": own_dtype, "softmax_lse": sum_dtype}, dtypes=MASKS, **FLEXIBLE)
def fused_infer_attention_score(
    query: Array, key: list[Array], value: list[Array], pse_shift: Array | None, atten_mask: Array | None,
    actual_seq_lengths: Array | None, actual_seq_lengths_kv: Array | None, block_table: Array | None, scale: float,
    softmax_lse_flag: bool, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """softmax(scale·query·keyᵀ + pse_shift)·value, head by head; fewer heads of key and value serve several of query.

    Masks, lengths and sparse_mode as in PromptFlashAttention; key and value as in IncreFlashAttention. softmax_lse, written
    with softmax_lse_flag, is the logarithm of each row's sum of exponentials, infinity where nothing counts.
    """
    terms = Terms(scale, rules_of(call, atten_mask), pse_shift)
    output, lse = inferred(call, query, key, value, terms, (actual_seq_lengths, actual_seq_lengths_kv), block_table)
    return output, lse if softmax_lse_flag else None
