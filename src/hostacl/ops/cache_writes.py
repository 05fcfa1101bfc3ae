"""Keys and values normalised, turned and written into the caches of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.rotary import turned
from hostacl.ops.rotary_modes import evens_first
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]

TILE = 16
"""Features of a tile in caches of tiles."""


def check_dims(call: Call, name: str, want: Sequence[Dim]) -> None:
    """Refuses an input of another shape."""
    given = call.shape(name)
    text = f"{name} = {dims.text(given)}; allowed: {dims.text(want)}."
    equal_dims(call, len(given), len(want), text)
    for one, other in zip(given, want, strict=True):
        equal_dims(call, one, other, text)


def refuse_scales(call: Call, *names: str) -> None:
    """Refuses inputs that say how caches are quantised."""
    for name in names:
        if call.has(name):
            raise call.refuse("HA513", f"{name} is given; scaled caches are not done: leave it out.")


def stored(part: Array, cache: Array) -> Array:
    """Values as a cache holds them: whole numbers in one of integers."""
    if cache.dtype.kind != "i":
        return part
    limits = np.iinfo(cache.dtype)
    return np.clip(np.rint(part), limits.min, limits.max)


def rms_normed(x: Array, gamma: Array, epsilon: float) -> Array:
    """x over the root of the mean of its squares along the last axis, times gamma."""
    wide = x.astype(np.float64)
    return np.asarray(wide / np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + epsilon) * gamma)


def slots(call: Call, index: Array, rooms: int, name: str = "index") -> tuple[Array, Array]:
    """Which rows are written (-1: not), and where."""
    flat = index.ravel().astype(np.int64)
    if flat.size and not -1 <= flat.min() <= flat.max() < rooms:
        told = f"{name} holds {flat.min()} to {flat.max()}; allowed: -1 (not written) to {rooms - 1}"
        raise Failed("HA510", f"{call.op_type}: {told}.")
    rows = np.flatnonzero(flat >= 0)
    return rows, flat[rows]


def kv_shape(call: Call) -> list[Shape]:
    """Both caches as they are, and the turned and the normalised part."""
    refuse_scales(call, "k_rope_scale", "c_kv_scale", "k_rope_offset", "c_kv_offset", "v")
    batch, heads, steps, width = rank_is(call, "kv", 4)
    (normed,) = rank_is(call, "gamma", 1)
    rope = call.shape("cos")[-1]
    both = dims.text((normed + rope,))
    told = f"kv = {dims.text(call.shape('kv'))}; allowed: as many features as gamma and cos have together, {both}."
    equal_dims(call, width, normed + rope, told)
    equal_dims(call, heads, 1, f"kv = {dims.text(call.shape('kv'))}; allowed: one head, (batch, 1, steps, features).")
    if isinstance(rope, int) and rope % 2:
        raise call.refuse("HA504", f"cos = {dims.text(call.shape('cos'))}; its last dim must be even, it holds pairs.")
    for name in ("cos", "sin"):
        check_dims(call, name, (batch, 1, steps, rope))
    told = f"index = {dims.text(call.shape('index'))}; allowed: one for each step."
    equal_dims(call, dims.count(call.shape("index")), dims.count((batch, steps)), told)
    if (mode := call.attr("cache_mode")) not in ("Norm", "PA", "PA_BNSD"):
        raise call.refuse("HA508", f"cache_mode = {mode!r}; allowed: 'Norm', 'PA', 'PA_BNSD'.")
    for name, size in (("k_cache", rope), ("ckv_cache", normed)):
        cache = rank_is(call, name, 4)
        equal_dims(call, cache[3], size, f"{name} = {dims.text(cache)}; allowed: {dims.text((size,))} features.")
        if mode == "Norm":
            told = f"{name} = {dims.text(cache)}; allowed: a cache for each of {dims.text((batch,))}."
            equal_dims(call, cache[0], batch, told)
    lead = (batch, heads, steps)
    return [call.shape("k_cache"), call.shape("ckv_cache"), (*lead, rope), (*lead, normed)]


@kernel("KvRmsNormRopeCache", shape=kv_shape, reads={"k_cache": Reads.NOTHING, "ckv_cache": Reads.NOTHING})
def kv_rms_norm_rope_cache(
    kv: Array, gamma: Array, cos: Array, sin: Array, index: Array, k_cache: Array, ckv_cache: Array, epsilon: float,
    cache_mode: str, is_output_kv: bool, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """The first features of kv (as many as gamma has) RMS-normalised, the rest turned as pairs, both written into the caches.

    The rest is laid out as its even elements, then its odd ones; of that x·cos + turned x·sin, turned x being the second half
    negated, then the first. index: with cache_mode Norm the step in the cache (batch, 1, steps, features) of its sequence;
    with PA and PA_BNSD the step in pages (pages, steps, 1, features), counted through all of them. -1 is not written. k_rope
    and c_kv, written with is_output_kv, are both parts themselves.
    """
    width = gamma.shape[0]
    normed = rms_normed(kv[..., :width], gamma, epsilon)
    laid = evens_first(kv[..., width:].astype(np.float64))
    rope = laid * cos + turned(laid) * sin
    paged = cache_mode != "Norm"
    results = []
    for cache, part in ((k_cache, rope), (ckv_cache, normed)):
        rooms = cache.shape[0] * cache.shape[1] * cache.shape[2] if paged else cache.shape[2]
        rows, places = slots(call, index, rooms)
        steps = kv.shape[2]
        places = places if paged else rows // max(steps, 1) * cache.shape[2] + places
        new = cache.reshape(cache.shape[0] * cache.shape[1] * cache.shape[2], cache.shape[3]).copy()
        new[places] = stored(part.reshape(index.size, cache.shape[3])[rows], cache)
        results.append(new.reshape(cache.shape))
    return *results, rope if is_output_kv else None, normed if is_output_kv else None


def qkv_shape(call: Call) -> list[Shape]:
    """The result for queries and both caches as they are, and the three parts before they are quantised."""
    refuse_scales(call, "k_scale", "v_scale", "k_offset", "v_offset")
    rows, width = rank_is(call, "qkv", 2)
    sizes, heads = call.attr("qkv_size"), call.attr("head_nums")
    if len(heads) != 3 or min(heads) < 1:
        raise call.refuse("HA508", f"head_nums = {list(heads)}; allowed: three numbers of 1 or more, of q, k and v.")
    if len(sizes) != 4 or sizes[2] != sum(heads):
        raise call.refuse("HA508", f"qkv_size = {list(sizes)}; allowed: batch, steps, {sum(heads)} heads, features.")
    if call.attr("cache_mode") != "PA_NZ":
        raise call.refuse("HA508", f"cache_mode = {call.attr('cache_mode')!r}; allowed: 'PA_NZ'.")
    size = sizes[3]
    if size < 1 or size % TILE:
        raise call.refuse("HA508", f"qkv_size = {list(sizes)}; allowed: a multiple of {TILE} features.")
    told = f"qkv = {dims.text((rows, width))}; allowed: {dims.text((sizes[0] * sizes[1], sum(heads) * size))}."
    equal_dims(call, rows, sizes[0] * sizes[1], told)
    equal_dims(call, width, sum(heads) * size, told)
    for name in ("q_gamma", "k_gamma"):
        check_dims(call, name, (size,))
    for name in ("cos", "sin"):
        check_dims(call, name, (rows, size))
    told = f"index = {dims.text(call.shape('index'))}; allowed: one for each row."
    equal_dims(call, dims.count(call.shape("index")), rows, told)
    check_dims(call, "q_out", (rows, heads[0] * size))
    for name, count in (("k_cache", heads[1]), ("v_cache", heads[2])):
        cache = rank_is(call, name, 4)
        check_dims(call, name, (cache[0], count * size // TILE, cache[2], TILE))
    parts = [(rows, count * size) for count in heads]
    return [call.shape("q_out"), call.shape("k_cache"), call.shape("v_cache"), *parts]


@kernel("QkvRmsNormRopeCache", shape=qkv_shape, reads=dict.fromkeys(("q_out", "k_cache", "v_cache"), Reads.NOTHING))
def qkv_rms_norm_rope_cache(
    qkv: Array, q_gamma: Array, k_gamma: Array, cos: Array, sin: Array, index: Array, k_cache: Array, v_cache: Array,
    qkv_size: Sequence[int], head_nums: Sequence[int], epsilon: float, is_output_qkv: bool, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """Rows of heads of q, k and v: q and k RMS-normalised head by head and turned, k and v written into their caches.

    x·cos + turned x·sin, turned x being the second half of a head negated, then the first. Caches are pages of tiles, (pages,
    features of all heads over 16, steps, 16); index is the step, counted through all pages, -1 is not written. The three
    results before quantisation are written with is_output_qkv.
    """
    size, rows = qkv_size[3], qkv.shape[0]
    ends = np.cumsum([count * size for count in head_nums])
    parts = zip(np.split(qkv, ends[:-1], axis=1), head_nums, strict=True)
    q, k, v = (part.reshape(rows, count, size) for part, count in parts)
    q, k = (rope(rms_normed(part, gamma, epsilon), cos, sin) for part, gamma in ((q, q_gamma), (k, k_gamma)))
    flat = [part.reshape(rows, count * size) for part, count in zip((q, k, v), head_nums, strict=True)]
    written = [in_tiles(call, cache, part, index) for cache, part in ((k_cache, flat[1]), (v_cache, flat[2]))]
    return flat[0], *written, *(flat if is_output_qkv else (None, None, None))


def rope(x: Array, cos: Array, sin: Array) -> Array:
    """Each head turned: x·cos + turned x·sin."""
    return np.asarray(x * cos[:, None] + turned(x) * sin[:, None])


def in_tiles(call: Call, cache: Array, part: Array, index: Array) -> Array:
    """A cache of tiles with rows written into it."""
    rows, places = slots(call, index, cache.shape[0] * cache.shape[2])
    new, size = cache.copy(), max(cache.shape[2], 1)
    new[places // size, :, places % size] = stored(part[rows].reshape(rows.size, cache.shape[1], TILE), cache)
    return new


def scattered_shape(call: Call) -> list[Shape]:
    """Both caches as they are."""
    for name in ("compress_lens", "compress_seq_offset", "seq_lens"):
        if call.has(name):
            raise call.refuse("HA513", f"{name} is given; compressed caches are not done: leave it out.")
    for name, allowed in (("cache_mode", ("Norm", "PA_NZ")), ("scatter_mode", ("None",))):
        if call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: {', '.join(map(repr, allowed))}.")
    rows = dims.count(call.shape("slot_mapping"))
    for name in ("key", "value"):
        given, cache = rank_is(call, name, 3), rank_is(call, f"{name}_cache", 4)
        told = f"{name} = {dims.text(given)}, {name}_cache = {dims.text(cache)}, slot_mapping has {dims.text((rows,))} elements"
        equal_dims(call, given[0], rows, f"{told}: one for each row of {name} is needed.")
        if call.attr("cache_mode") == "Norm":
            equal_dims(call, cache[2], given[1], f"{told}; allowed for the cache: [pages,steps,heads,features].")
            equal_dims(call, cache[3], given[2], f"{told}; allowed for the cache: [pages,steps,heads,features].")
        else:
            width = dims.count(given[1:])
            equal_dims(call, dims.count((cache[1], cache[3])), width, f"{told}; allowed: [pages,features/tile,steps,tile].")
    return [call.shape("key_cache"), call.shape("value_cache")]


@kernel("ScatterPaKvCache", shape=scattered_shape, bits=True, mixed=("value", "value_cache"),
        reads={"key_cache": Reads.NOTHING, "value_cache": Reads.NOTHING})  # fmt: skip
def scatter_pa_kv_cache(
    key: Array, key_cache: Array, slot_mapping: Array, value: Array, value_cache: Array, cache_mode: str, call: Call
) -> tuple[Array, ...]:
    """The caches with each row of key and value written at the step that slot_mapping names, counted through all pages.

    A cache is (pages, steps, heads, features), with cache_mode PA_NZ (pages, all features over the tile, steps, tile). A step
    of -1 is not written; of rows with the same step the last one stays.
    """
    results = []
    for part, cache in ((key, key_cache), (value, value_cache)):
        tiled = cache_mode == "PA_NZ"
        size = cache.shape[2] if tiled else cache.shape[1]
        rows, places = slots(call, slot_mapping, cache.shape[0] * size, "slot_mapping")
        new, page, step = cache.copy(), places // max(size, 1), places % max(size, 1)
        if tiled:
            new[page, :, step] = part[rows].reshape(rows.size, cache.shape[1], cache.shape[3])
        else:
            new[page, step] = part[rows]
        results.append(new)
    return results[0], results[1]
