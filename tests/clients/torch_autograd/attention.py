"""Attention whole and in parts, and the turning of its heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.clients.torch_autograd.support import Case, Draw, exact, gradient, leaf, pulled, torch


def split(x: Any, layout: str, heads: int) -> Any:
    """A tensor as (batch, heads, steps, features)."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.permute(0, 2, 1, 3)
    if layout == "SBH":
        x = x.permute(1, 0, 2)
    return x.reshape(*x.shape[:2], heads, -1).permute(0, 2, 1, 3)


def laid_out(sizes: Sequence[int], layout: str) -> tuple[int, ...]:
    """The shape of (batch, heads, steps, features) in a layout."""
    batch, heads, steps, width = sizes
    return {"BNSD": (batch, heads, steps, width), "BSND": (batch, steps, heads, width), "BSH": (batch, steps, heads * width),
            "SBH": (steps, batch, heads * width)}[layout]  # fmt: skip


FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"scale": 0.25, "others": 2},
    {"mask": True},
    {"shift": (2, 4, 5, 6)},
    {"shift": (1, 4, 1, 6), "mask": True, "others": 1},
    {"keep": 0.75},
)
"""What a call has: a scale, fewer heads of key and value, a mask, a shift that broadcasts, dropout."""


@gradient("FlashAttentionScoreGrad")
def flash(d: Draw) -> Iterator[Case]:
    heads, sizes = 4, (2, 4, 5, 8)
    for layout in ("BNSD", "BSND", "BSH", "SBH"):
        for form in FORMS:
            others, scale, keep = form.get("others", heads), form.get("scale", 1.0), form.get("keep", 1.0)
            inner = (2, others, 6, 8)
            q, k, v = (d.normal(*laid_out(one, layout), spread=0.7) for one in (sizes, inner, inner))
            shift = d.normal(*form["shift"]) if "shift" in form else None
            mask = d.rng.random((2, 1, 5, 6)) < 0.3 if "mask" in form else None
            kept = (d.rng.random((2, heads, 5, 6)) < keep).astype(np.uint8) if keep < 1 else None
            leaves = [leaf(one) for one in (q, k, v, shift) if one is not None]
            query = split(leaves[0], layout, heads)
            key, value = (split(one, layout, others).repeat_interleave(heads // others, 1) for one in leaves[1:3])
            scores = query @ key.transpose(-1, -2)
            scores = (scores + leaves[3] if shift is not None else scores) * scale
            soft = torch.softmax(scores if mask is None else scores.masked_fill(exact(mask), -torch.inf), -1)
            soft = soft if kept is None else soft * exact(kept) / keep
            out = soft @ value
            dy = d.normal(*laid_out(sizes, layout))
            want = pulled(out, split(exact(dy), layout, heads).numpy(), *leaves)
            attrs = {"scale_value": scale, "keep_prob": keep, "head_num": heads, "input_layout": layout,
                     "next_tockens": 65536, "pre_tockens": 65536}  # fmt: skip
            inputs = [q, k, v, dy, shift, kept, None, mask, None, None, None, None]
            yield Case(inputs, want if shift is not None else [*want, None], attrs, times=32)


def halves(x: Any) -> Any:
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def neighbours(x: Any) -> Any:
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)


def quarters(x: Any) -> Any:
    return torch.cat([halves(one) for one in x.chunk(2, -1)], -1)


def same(x: Any) -> Any:
    return x


def sorted_pairs(x: Any) -> Any:
    return torch.cat([x[..., ::2], x[..., 1::2]], -1)


TURNS = ((same, halves), (same, neighbours), (same, quarters), (sorted_pairs, halves))
ANGLES = ((2, 3, 4, 8), (1, 3, 1, 8), (2, 1, 4, 8), (1, 1, 1, 8))


@gradient("RotaryMulGrad", "RotaryPositionEmbeddingGrad")
def rotary(d: Draw) -> Iterator[Case]:
    """RotaryMul turns halves; the other has four ways to pair elements. Angles broadcast in every way."""
    for mode, (laid, turned) in enumerate(TURNS if d.op != "RotaryMulGrad" else TURNS[:1]):
        for shape in ANGLES:
            x, dy, cos, sin = d.normal(2, 3, 4, 8), d.normal(2, 3, 4, 8), d.normal(*shape), d.normal(*shape)
            at, by, other = leaf(x), leaf(cos), leaf(sin)
            want = pulled(laid(at) * by + turned(laid(at)) * other, dy, at, by, other)
            if d.op == "RotaryMulGrad":
                yield Case([x, cos, sin, dy], want)
            else:
                yield Case([dy, cos, sin, x], want, {"mode": mode})
                yield Case([dy, cos, sin, None], [want[0], None, None], {"mode": mode})


@gradient("AttentionQKVGradX", "AttentionQKVGradW")
def projections(d: Draw) -> Iterator[Case]:
    """The gradients of three projections of one tensor; of the input added to what comes from elsewhere."""
    rows, width = 6, 4
    x = d.normal(rows, width)
    weights, grads = [d.normal(width, width) for _ in range(3)], [d.normal(rows, width) for _ in range(3)]
    for more in (None, d.normal(rows, width)):
        at, by, biases = leaf(x), [leaf(one) for one in weights], [leaf(np.zeros(width)) for _ in range(3)]
        ys = tuple(at @ weight + bias for weight, bias in zip(by, biases, strict=True))
        if d.op.endswith("X"):
            results, given = (ys, tuple(grads)) if more is None else ((*ys, at), (*grads, more))
            yield Case([more, *grads, *weights], pulled(results, given, at))
            continue
        want, turned = pulled(ys, tuple(grads), *by, *biases), more is not None
        want = [*(one.T for one in want[:3]), *want[3:]] if turned else want
        yield Case([x, *grads], want, {"trans_dw": turned})
