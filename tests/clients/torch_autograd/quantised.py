"""Quantisation in training: what a float on a grid hands back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.clients.torch_autograd.support import Array, Case, Draw, gradient, leaf, pulled, torch


def moved_ends(low: Array, high: Array, bits: int, narrow: bool) -> tuple[Array, Array]:
    """The ends of a range, moved together so that 0 is one of its 2^bits steps."""
    first, last = float(narrow), 2.0**bits - 1
    scale = (high.astype(np.float64) - low) / (last - first)
    zero = np.clip(np.floor(first - low / scale + 0.5), first, last)
    return (first - zero) * scale, (last - zero) * scale


@gradient("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient", "FakeQuantWithMinMaxArgsGradient")
def straight_through(d: Draw) -> Iterator[Case]:
    """The rounding hands all back as it is: what remains is torch's clamp between two ends."""
    by_channel = "PerChannel" in d.op
    for shape in ((4, 3), (2, 5, 3), (3,), (0, 3)):
        for bits, narrow in ((8, False), (4, True)):
            low, high = (d.between(*ends, *([3] if by_channel else [1])) for ends in ((-3, -0.5), (0.5, 3)))
            ends = [leaf(one) for one in moved_ends(low, high, bits, narrow)]
            x, dy = d.normal(*shape, spread=2), d.normal(*shape)
            at = leaf(x)
            want = pulled(torch.minimum(torch.maximum(at, ends[0]), ends[1]), dy, at, *ends)
            attrs: dict[str, Any] = {"num_bits": bits, "narrow_range": narrow}
            if d.op.startswith("FakeQuantWithMinMaxArgs"):
                yield Case([dy, x], want[:1], {**attrs, "min": float(low[0]), "max": float(high[0])})
            else:
                yield Case([dy, x, low, high], want, attrs)
