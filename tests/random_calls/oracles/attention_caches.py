"""Rows written into caches one by one, and the gated delta rule element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values as kinds
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, oracle, shapes


def half_of(d: Dice) -> int:
    """The dtype of what is not a cache."""
    return dtypes.FLOAT16 if kinds.is_int(d.dtype) else d.dtype


def draw(d: Dice, name: str, *shape: int) -> Any:
    return d.tensor(name, d.rng.uniform(-2, 2, shape), dtype=half_of(d)).astype(np.float64)


def drawn_cache(d: Dice, name: str, *shape: int) -> Any:
    data = d.rng.integers(-9, 9, shape) if kinds.is_int(d.dtype) else d.rng.uniform(-2, 2, shape)
    return d.tensor(name, data, dtype=d.dtype).astype(np.float64)


def normed(row: Any, gamma: Any, epsilon: float) -> Any:
    return row / math.sqrt(math.fsum(row * row) / len(row) + epsilon) * gamma


def turned(row: Any, cos: Any, sin: Any) -> Any:
    half = len(row) // 2
    return np.array([row[i] * cos[i] + (-row[i + half] if i < half else row[i - half]) * sin[i] for i in range(2 * half)])


def cached(d: Any, cache: Any) -> Any:
    """A cache as expected: integers may be one off where rounding is close."""
    if kinds.is_int(d.dtype):
        return Any_(cache.shape, lambda got: bool((np.abs(got.astype(np.float64) - cache) < 0.51).all()))
    return Within(cache, 1e-6)


@shapes("KvRmsNormRopeCache")
def kv_call(d: Dice) -> None:
    one = d.wants("one element")
    batch, steps = (1, 1) if one else (0 if d.wants("empty") else d.int(1, 2), d.int(1, 3))
    if d.wants("long"):
        steps = d.int(30, 50)
    width, rope = 1 if one else d.int(1, 4), 2 if one else 2 * d.int(1, 2)
    mode = d.attr("cache_mode", "PA", "PA_BNSD")
    v: dict[str, Any] = {"kv": draw(d, "kv", batch, 1, steps, width + rope), "gamma": draw(d, "gamma", width)}
    v.update(cos=draw(d, "cos", batch, 1, steps, rope), sin=draw(d, "sin", batch, 1, steps, rope), paged=mode != "Norm")
    room, pages, size = steps + 2, batch * steps + 1, 2
    if v["paged"]:
        index = d.rng.permutation(pages * size)[: batch * steps].reshape(batch, steps)
        lead = (pages, size, 1)
    else:
        index = np.array([d.rng.permutation(room)[:steps] for _ in range(batch)]).reshape(batch, steps)
        lead = (batch, 1, room)
    v["index"] = np.where(d.rng.random(index.shape) < 0.2, -1, index)
    d.tensor("index", v["index"].ravel() if d.chance() else v["index"])
    v.update(k=drawn_cache(d, "k_cache", *lead, rope), ckv=drawn_cache(d, "ckv_cache", *lead, width))
    d.wants("optional absent")
    v["epsilon"] = d.attr("epsilon", 0.5)
    v["out"] = d.attr("is_output_kv", True)
    for name in ("k_rope", "c_kv"):
        d.output(name, half_of(d))
    d.values["v"] = v


@oracle("KvRmsNormRopeCache")
def kv(dice: Dice) -> Any:
    v = dice.values["v"]
    batch, _, steps, _ = v["kv"].shape
    width, rope = len(v["gamma"]), v["cos"].shape[3]
    parts = np.zeros((batch, 1, steps, rope)), np.zeros((batch, 1, steps, width))
    caches = v["k"].copy(), v["ckv"].copy()
    for n, s in np.ndindex(batch, steps):
        row = v["kv"][n, 0, s]
        laid = np.array([*row[width::2], *row[width + 1 :: 2]])
        parts[0][n, 0, s] = turned(laid, v["cos"][n, 0, s], v["sin"][n, 0, s])
        parts[1][n, 0, s] = normed(row[:width], v["gamma"], v["epsilon"])
        place = v["index"][n, s]
        if place < 0:
            continue
        for cache, part in zip(caches, parts, strict=True):
            if v["paged"]:
                cache[place // cache.shape[1], place % cache.shape[1], 0] = part[n, 0, s]
            else:
                cache[n, 0, place] = part[n, 0, s]
    told = [Within(part, 1e-6) if v["out"] else Any_(part.shape) for part in parts]
    return (*(cached(dice, cache) for cache in caches), *told)


@shapes("QkvRmsNormRopeCache")
def qkv_call(d: Dice) -> None:
    one = d.wants("one element")
    batch, steps, size = (1, 1, 16) if one else (0 if d.wants("empty") else d.int(1, 2), d.int(1, 3), 16 * d.int(1, 2))
    heads = [1, 1, 1] if one else [d.int(1, 3), d.int(1, 2), d.int(1, 2)]
    rows = batch * steps
    v: dict[str, Any] = {"heads": heads, "size": size, "qkv": draw(d, "qkv", rows, sum(heads) * size)}
    v.update({name: draw(d, name, size) for name in ("q_gamma", "k_gamma")})
    v.update({name: draw(d, name, rows, size) for name in ("cos", "sin")})
    index = d.rng.permutation(2 * (rows + 1))[:rows]
    v["index"] = np.where(d.rng.random(rows) < 0.2, -1, index)
    d.tensor("index", v["index"])
    draw(d, "q_out", rows, heads[0] * size)
    v["caches"] = [drawn_cache(d, name, rows + 1, count * size // 16, 2, 16) for name, count in
                   (("k_cache", heads[1]), ("v_cache", heads[2]))]  # fmt: skip
    d.wants("optional absent")
    d.attrs.update(qkv_size=("list_int", [batch, steps, sum(heads), size]), head_nums=("list_int", heads))
    v["epsilon"] = d.attr("epsilon", 0.5)
    d.attr("cache_mode")
    v["out"] = d.attr("is_output_qkv", True)
    for name in ("q_out", "q_out_before_quant", "k_out_before_quant", "v_out_before_quant"):
        d.output(name, half_of(d))
    d.values["v"] = v


@oracle("QkvRmsNormRopeCache")
def qkv(dice: Dice) -> Any:
    v = dice.values["v"]
    rows, size = len(v["qkv"]), v["size"]
    parts, start = [], 0
    for kind, count in enumerate(v["heads"]):
        part = np.zeros((rows, count * size))
        for n, head in np.ndindex(rows, count):
            own = slice(head * size, (head + 1) * size)
            row = v["qkv"][n, start + head * size : start + (head + 1) * size]
            if kind < 2:
                row = turned(normed(row, v[("q_gamma", "k_gamma")[kind]], v["epsilon"]), v["cos"][n], v["sin"][n])
            part[n, own] = row
        parts.append(part)
        start += count * size
    caches = [cache.copy() for cache in v["caches"]]
    for n, place in enumerate(v["index"]):
        for cache, part in zip(caches, parts[1:], strict=True):
            for tile in range(cache.shape[1] if place >= 0 else 0):
                cache[place // 2, tile, place % 2] = part[n, tile * 16 : (tile + 1) * 16]
    told = [Within(part, 1e-6) if v["out"] else Any_(part.shape) for part in parts]
    return (Within(parts[0], 1e-6), *(cached(dice, cache) for cache in caches), *told)


@shapes("RecurrentGatedDeltaRule")
def rule_call(d: Dice) -> None:
    one = d.wants("one element")
    heads, group, width, out = (1, 1, 1, 1) if one else (d.int(1, 2), d.int(1, 2), d.int(1, 3), d.int(1, 3))
    lengths = [1] if one else [] if d.wants("empty") else [d.int(0, 3) for _ in range(d.int(1, 3))]
    steps = sum(lengths)
    v: dict[str, Any] = {"lengths": lengths, "group": group}
    v.update(query=draw(d, "query", steps, heads, width), key=draw(d, "key", steps, heads, width))
    v.update(value=draw(d, "value", steps, heads * group, out), beta=draw(d, "beta", steps, heads * group))
    v["state"] = draw(d, "state", steps + 1, heads * group, out, width)
    d.tensor("actual_seq_lengths", np.array(lengths))
    v["index"] = d.rng.permutation(steps + 1)[:steps]
    d.tensor("ssm_state_indices", v["index"])
    for name, shape in (("g", (steps, heads * group)), ("gk", (steps, heads * group, width))):
        given = d.optional(name)
        v[name] = d.tensor(name, d.rng.uniform(-1, 0, shape), dtype=dtypes.FLOAT).astype(np.float64) if given else None
    v["first"] = [1] * len(lengths)
    if d.optional("num_accepted_tokens"):
        v["first"] = [d.int(1, max(length, 1)) for length in lengths]
        d.tensor("num_accepted_tokens", np.array(v["first"]))
    v["scale"] = d.attr("scale_value", 0.5)
    d.values["v"] = v


@oracle("RecurrentGatedDeltaRule")
def rule(dice: Dice) -> Any:
    v = dice.values["v"]
    result, states, start = np.zeros(v["value"].shape), v["state"].copy(), 0
    for length, first in zip(v["lengths"], v["first"], strict=True):
        for head in range(v["value"].shape[1] if length else 0):
            s = states[v["index"][start + first - 1], head].copy()
            kept = []
            for t in range(start, start + length):
                k, q = v["key"][t, head // v["group"]], v["query"][t, head // v["group"]]
                for i, j in np.ndindex(*s.shape):
                    s[i, j] *= math.exp(0 if v["g"] is None else v["g"][t, head])
                    s[i, j] *= math.exp(0 if v["gk"] is None else v["gk"][t, head, j])
                for i in range(len(s)):
                    s[i] += v["beta"][t, head] * (v["value"][t, head, i] - math.fsum(s[i] * k)) * k
                    result[t, head, i] = math.fsum(s[i] * q) * v["scale"]
                kept.append(s.copy())
            v.setdefault("kept", []).append((start, length, head, kept))
        for begin, count, head, kept in v.get("kept", []):
            for t in range(count):
                states[v["index"][begin + t], head] = kept[t]
        v["kept"] = []
        start += length
    return Within(result, np.abs(result) * 1e-9 + 1e-9), Within(states, np.abs(states) * 1e-9 + 1e-9)


@shapes("ScatterPaKvCache")
def scatter_call(d: Dice) -> None:
    one = d.wants("one element")
    rows = 1 if one else 0 if d.wants("empty") else d.int(30, 50) if d.wants("long") else d.int(1, 5)
    pages, size = rows + 1, 1 if one else 2
    tiled = d.attr("cache_mode", "PA_NZ") == "PA_NZ"
    d.attr("scatter_mode")
    d.attr("strides", [2, 2])
    d.attr("offsets", [1, 1])
    index = np.where(d.rng.random(rows) < 0.2, -1, d.rng.permutation(pages * size)[:rows])
    d.values.update(index=index, tiled=tiled)
    d.tensor("slot_mapping", index, dtype=d.choose(dtypes.INT32, dtypes.INT64))
    d.wants("optional absent")
    for name in ("key", "value"):
        heads, width = (1, 1) if one else (d.int(1, 2), 2 * d.int(1, 2))
        d.tensor(name, (rows, heads, width))
        tile = 1 if one else 2
        d.tensor(f"{name}_cache", (pages, heads * width // tile, size, tile) if tiled else (pages, size, heads, width))


@oracle("ScatterPaKvCache", family="shape_slice_concat_pad")
def scatter(key: Any, key_cache: Any, value: Any, value_cache: Any, dice: Dice) -> Any:
    caches = key_cache.copy(), value_cache.copy()
    for part, cache in zip((key, value), caches, strict=True):
        size = cache.shape[2 if dice.values["tiled"] else 1]
        for row, place in enumerate(dice.values["index"]):
            if place < 0:
                continue
            if not dice.values["tiled"]:
                cache[place // size, place % size] = part[row]
                continue
            flat = part[row].ravel()
            for k in range(len(flat)):
                cache[place // size, k // cache.shape[3], place % size, k % cache.shape[3]] = flat[k]
    return caches
