"""Attention row by row in float64: scores of one query and all keys, exponentials, their share of the values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values as kinds
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, oracle, shapes

ORDER = {"BNSD": "BNSD", "BSND": "BSND", "BNSD_BSND": "BNSD", "BSH": "BSND", "SBH": "SBND"}


def laid(x: Any, layout: str) -> Any:
    """(batch, heads, steps, features) in a layout."""
    found = np.transpose(x, ["BNSD".index(letter) for letter in ORDER[layout]])
    return found.reshape(*found.shape[:2], found.shape[2] * found.shape[3]) if layout.endswith("H") else found


def plan(d: Dice, layouts: tuple[str, ...], heads_name: str) -> dict[str, Any]:
    """Sizes, and numbers that are small enough for a short accumulation."""
    one = d.wants("one element")
    v: dict[str, Any] = {"B": 1 if one else 0 if d.wants("empty") else d.int(1, 2), "N2": 1 if one else d.int(1, 2)}
    v.update(N=v["N2"] * (1 if one else d.int(1, 2)), Q=1 if one else d.int(1, 4))
    v.update(K=1 if one else d.int(1, 5), D=1 if one else d.int(1, 4))
    if d.wants("long"):
        v["K"] = d.int(30, 60)
    v["layout"] = d.choose(*layouts)
    d.attrs[heads_name] = ("int", v["N"])
    d.attrs["input_layout"] = ("string", v["layout"])
    return v


def numbers(d: Dice, *shape: int) -> Any:
    """Data that every dtype of the operator holds exactly."""
    code = d.dtype
    if kinds.is_int(code):
        return d.rng.integers(-3, 4, shape).astype(np.float64)
    return d.rng.uniform(-2, 2, shape).astype(dtypes.numpy_dtype(code)).astype(np.float64)


def sent(d: Dice, name: str, x: Any, layout: str) -> None:
    d.tensor(name, np.ascontiguousarray(laid(x, layout)), dtype=d.dtype)


def mask_of(d: Dice, v: dict[str, Any], name: str, code: int, data: Any) -> Any:
    """A mask or shift over the scores, spread over batch and heads now and then."""
    shape = (v["B"] if d.chance() else 1, v["N"] if d.chance() else 1, v["Q"], v["K"])
    array = data(shape)
    d.tensor(name, array, dtype=code)
    full = np.broadcast_to(array, (v["B"], v["N"], v["Q"], v["K"]))
    return full


def hidden(v: dict[str, Any], place: tuple[int, int, int], queries: int, keys: int) -> Any:
    """Which keys a query does not see."""
    mask, mode, before, after, (n, head, i) = v["mask"], v["mode"], v["before"], v["after"], place
    found = []
    for j in range(keys):
        away = j - i - (keys - queries if mode in (3, 4) else 0)
        off = mask is not None and mode in (0, 1) and mask[n, head, i, j] != 0
        if mode in (2, 3):
            off = away > 0
        elif mode == 4 or (mode == 0 and mask is not None):
            off = off or away > after or -away > before
        found.append(off)
    return found


def row(q: Any, k: Any, v: Any, shift: Any, off: Any, how: tuple[float, bool], kept: Any = None, prob: float = 1.0) -> Any:
    """The result of one query, its largest score, its sum, and the shares of the keys."""
    scale, inside = how
    scores = []
    for j in range(len(k)):
        score = math.fsum(q * k[j])
        score = (score + shift[j]) * scale if inside else score * scale + shift[j]
        scores.append(-math.inf if off[j] else score)
    top = max(scores, default=-math.inf)
    powers = [math.exp(one - top) if one > -math.inf else 0.0 for one in scores]
    total = math.fsum(powers)
    plain = [one / total if total else 0.0 for one in powers]
    shares = [share / prob if kept is None or kept[j] else 0.0 for j, share in enumerate(plain)]
    return sum((share * v[j] for j, share in enumerate(shares)), np.zeros(v.shape[1])), top, total, plain


@shapes("FlashAttentionScore", "FlashAttentionScoreGrad")
def score_call(d: Dice) -> None:
    v = plan(d, ("BNSD", "BSND", "BSH", "SBH"), "head_num")
    backward = d.prototype.op_type.endswith("Grad")
    v.update(q=numbers(d, v["B"], v["N"], v["Q"], v["D"]), k=numbers(d, v["B"], v["N2"], v["K"], v["D"]))
    v.update(v=numbers(d, v["B"], v["N2"], v["K"], v["D"]), dy=numbers(d, v["B"], v["N"], v["Q"], v["D"]))
    for name, key in (("query", "q"), ("key", "k"), ("value", "v"), *([("dy", "dy")] if backward else [])):
        sent(d, name, v[key], v["layout"])
    shift = "pse_shift" if backward else "real_shift"
    v["shift"] = mask_of(d, v, shift, d.dtype, lambda shape: numbers(d, *shape)) if d.optional(shift) else None
    masked = d.optional("atten_mask")
    v["mask"] = mask_of(d, v, "atten_mask", d.dtype, lambda shape: (d.rng.random(shape) < 0.3) * 1.0) if masked else None
    v["prob"], v["kept"] = d.attr("keep_prob", 0.5), None
    count = v["B"] * v["N"] * v["Q"] * v["K"]
    if d.optional("drop_mask"):
        bits = d.rng.integers(0, 2, count)
        d.tensor("drop_mask", np.packbits(bits, bitorder="little") if d.chance() else bits, dtype=dtypes.UINT8)
        v["kept"] = bits.reshape(v["B"], v["N"], v["Q"], v["K"]) if v["prob"] < 1 else None
    prob = v["prob"] if v["kept"] is not None else 1.0
    v["prob"] = prob
    d.wants("optional absent")
    extras = [name for name in ("softmax_max", "softmax_sum", "softmax_in", "attention_in") if d.decl(name) is not None]
    for name in extras:
        if d.optional(name):
            score_extra(d, v, name)
    scale = d.attr("scale_value", 0.5)
    v.update(scale=scale, before=d.attr("pre_tockens", 1, 2), after=d.attr("next_tockens", 0, 1), mode=0, inside=True)
    older = "is_flash" not in d.generation.attrs and "sparse_mode" in d.generation.attrs
    if older:
        v["mode"] = d.choose(0, 1, 2, 3, 4)
        v["inside"] = d.chance()
        d.attrs["sparse_mode"], d.attrs["pse_type"] = ("int", v["mode"]), ("int", int(v["inside"]))
        for name in ("prefix", "actual_seq_qlen", "actual_seq_kvlen", "q_start_idx", "kv_start_idx"):
            d.tensor(name, np.zeros(1), dtype=dtypes.INT64)
    elif "is_flash" in d.generation.attrs:
        d.attrs["is_flash"] = ("bool", True)
    d.values["v"] = v
    d.output("softmax_max", dtypes.FLOAT)
    d.output("softmax_sum", dtypes.FLOAT)


def score_extra(d: Dice, v: dict[str, Any], name: str) -> None:
    """What a gradient is given and does not need."""
    if name.startswith("softmax_") and name != "softmax_in":
        d.tensor(name, np.zeros((v["B"], v["N"], v["Q"], 8)), dtype=dtypes.FLOAT)
    else:
        d.tensor(name, np.ascontiguousarray(laid(np.zeros(v["q"].shape), v["layout"])), dtype=d.dtype)


def rows_of(v: dict[str, Any]) -> Any:
    """Each row of the scores with what makes it."""
    group = v["N"] // v["N2"]
    for n, head, i in np.ndindex(v["B"], v["N"], v["Q"]):
        off = hidden(v, (n, head, i), v["Q"], v["K"])
        shift = np.zeros(v["K"]) if v["shift"] is None else v["shift"][n, head, i]
        kept = None if v["kept"] is None else v["kept"][n, head, i]
        own = n, head // group
        how = v["scale"], v["inside"]
        yield (n, head, i), own, row(v["q"][n, head, i], v["k"][own], v["v"][own], shift, off, how, kept, v["prob"])


@oracle("FlashAttentionScore")
def score(dice: Dice) -> Any:
    v = dice.values["v"]
    output, top, total = np.zeros(v["q"].shape), *np.zeros((2, v["B"], v["N"], v["Q"], 8))
    for place, _, (found, most, whole, _) in rows_of(v):
        output[place], top[place], total[place] = found, most, whole
    return Within(top, 1e-5), Within(total, 1e-4), np.zeros(0), Within(laid(output, v["layout"]), 1e-5)


@oracle("FlashAttentionScoreGrad")
def score_grad(dice: Dice) -> Any:
    v = dice.values["v"]
    dq, dk, dv, shift = (np.zeros(v[name].shape) for name in ("q", "k", "v", "q"))
    shift = np.zeros((v["B"], v["N"], v["Q"], v["K"]))
    for place, own, (_, _, _, shares) in rows_of(v):
        kept = np.ones(v["K"]) if v["kept"] is None else v["kept"][place]
        by_share = np.array([math.fsum(v["dy"][place] * v["v"][own][j]) * kept[j] / v["prob"] for j in range(v["K"])])
        mean = math.fsum(share * by for share, by in zip(shares, by_share, strict=True))
        by_score = np.array([share * (by - mean) for share, by in zip(shares, by_share, strict=True)])
        for j in range(v["K"]):
            dv[own][j] += shares[j] * kept[j] / v["prob"] * v["dy"][place]
            dq[place] += by_score[j] * v["scale"] * v["k"][own][j]
            dk[own][j] += by_score[j] * v["scale"] * v["q"][place]
        shift[place] = by_score * (v["scale"] if v["inside"] else 1)
    results = [Within(laid(one, v["layout"]), 1e-4) for one in (dq, dk, dv)]
    if v["shift"] is None:
        return (*results, np.zeros(0))
    shape = dice.inputs["pse_shift"][0].spec.shape
    over = tuple(axis for axis in (0, 1) if shape[axis] == 1)
    return (*results, Within(shift.sum(axis=over, keepdims=True), 1e-4))


INFER = ("PromptFlashAttention", "IncreFlashAttention", "FusedInferAttentionScore")


@shapes(*INFER)
def infer_call(d: Dice) -> None:
    v = plan(d, ("BNSD", "BSND", "BSH", "BNSD_BSND"), "num_heads")
    incre, fused = d.prototype.op_type.startswith("Incre"), d.prototype.op_type.startswith("Fused")
    listed = incre or fused
    if incre:
        v["Q"] = 1
    if listed:
        d.wants("one of a list")  # several need names
    v.update(q=numbers(d, v["B"], v["N"], v["Q"], v["D"]), k=numbers(d, v["B"], v["N2"], v["K"], v["D"]))
    v["v"] = numbers(d, v["B"], v["N2"], v["K"], v["D"])
    layout = v["layout"]
    sent(d, "query", v["q"], layout)
    pages = listed and v["B"] and layout in ("BSH", "BNSD") and d.optional("block_table")
    size = 2
    for name, key in (("key", "k"), ("value", "v")):
        if pages:
            paged(d, v, name, v[key], size, layout)
        else:
            sent(d, name, v[key], layout)
    if pages:
        d.tensor("block_table", v["table"], dtype=dtypes.INT32)
        v["K"] = v["table"].shape[1] * size
        v["k"], v["v"] = (np.pad(v[key], ((0, 0), (0, 0), (0, v["K"] - v[key].shape[2]), (0, 0))) for key in ("k", "v"))
    half = dtypes.FLOAT16 if d.dtype not in (dtypes.FLOAT, dtypes.BF16) else d.dtype
    allowed = (decl := d.decl("pse_shift")) is not None and half in decl.allowed
    given = not pages and allowed and d.optional("pse_shift")
    v["shift"] = mask_of(d, v, "pse_shift", half, lambda shape: d.rng.integers(-2, 3, shape) / 2) if given else None
    given = not pages and d.optional("atten_mask")
    v["mask"] = mask_of(d, v, "atten_mask", dtypes.BOOL, lambda shape: d.rng.random(shape) < 0.3) if given else None
    v.update(owns=[v["Q"]] * v["B"], keys=[v["K"]] * v["B"])
    names = {"actual_seq_lengths": "keys" if incre else "owns", "actual_seq_lengths_kv": "keys"}
    for name, key in names.items():
        if d.decl(name) is not None and (d.optional(name) or (pages and key == "keys")):
            v[key] = [d.int(0, v["K"] - pages if key == "keys" else v["Q"]) for _ in range(v["B"])]
            d.inputs.pop(name, None)
            d.tensor(name, np.array(v[key]), dtype=dtypes.INT64)
    scale = d.attr("scale" if fused else "scale_value", 0.5)
    v.update(scale=scale, before=1 << 31, after=1 << 31, mode=0)
    if not incre:
        v.update(mode=d.attr("sparse_mode", 1, 2, 3, 4), before=d.attr("pre_tokens", 1, 2), after=d.attr("next_tokens", 1, 2))
    v["flag"] = fused and d.attr("softmax_lse_flag", True)
    d.output("attention_out", d.dtype)
    d.output("softmax_lse", dtypes.FLOAT)
    d.values["v"] = v


def paged(d: Dice, v: dict[str, Any], name: str, x: Any, size: int, layout: str) -> None:
    """Steps in pages of two, strewn over more pages than are needed."""
    batch, heads, steps, width = x.shape
    each = -(-steps // size)
    if "table" not in v:
        v["table"] = d.rng.permutation(batch * each + 2)[: batch * each].reshape(batch, each)
    stored = np.zeros((batch * each + 2, heads, size, width))
    for n, j in np.ndindex(batch, steps):
        stored[v["table"][n, j // size], :, j % size] = x[n, :, j]
    stored = np.swapaxes(stored, 1, 2).reshape(len(stored), size, heads * width) if layout == "BSH" else stored
    d.tensor(name, stored, dtype=d.dtype, format=formats.ND)


@oracle(*INFER)
def infer(dice: Dice) -> Any:
    v = dice.values["v"]
    output, lse, group = np.zeros(v["q"].shape), np.full((v["B"], v["N"], v["Q"], 1), np.inf), v["N"] // v["N2"]
    for n, head, i in np.ndindex(v["B"], v["N"], v["Q"]):
        own, keys, other = v["owns"][n], v["keys"][n], head // group
        if i >= own:
            continue
        off = hidden(v, (n, head, i), own, keys)
        shift = np.zeros(keys) if v["shift"] is None else v["shift"][n, head, i, :keys]
        found = row(v["q"][n, head, i], v["k"][n, other, :keys], v["v"][n, other, :keys], shift, off, (v["scale"], False))
        output[n, head, i] = found[0]
        if found[2]:
            lse[n, head, i] = found[1] + math.log(found[2])
    result = np.swapaxes(output, 1, 2) if v["layout"] == "BNSD_BSND" else laid(output, v["layout"])
    if kinds.is_int(dice.dtype):
        result = Any_(result.shape, lambda got, want=result: bool((np.abs(got - want) < 1.001).all()))
    else:
        result = Within(result, 1e-5)
    if not dice.prototype.op_type.startswith("Fused"):
        return result
    return result, Within(lse, 1e-5) if v["flag"] else Any_((1,))
