"""GELU, exact and by tanh, and gates made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import exponential
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import direct_unary, unary
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.special import erfc, polynomial

Array = NDArray[Any]

LINEAR, CUBIC = 2 * np.sqrt(2 / np.pi), 2 * np.sqrt(2 / np.pi) * 0.044715

LAST = 15.0
"""From here on x·Φ(-|x|) is 0 in float32."""

MILLS = (
    0.4946596600856849, -0.09158748282357096, -0.037716571393405125, 0.04606294689734688, -0.008701061453279741,
    -0.006048099927318669, 0.0012902204805935605, 0.0012668895793880159, -1.2250426299993796e-05,
    -0.00023479573153304764, -5.360212120143425e-05, 6.9383135625976165e-06,
)  # fmt: skip
"""(1+x)·exp(x²/2)·Φ(-x) on [0, 15] as a polynomial in (x-2.5)/(x+2.5), fitted to 2e-9."""


def gelu_tanh(x: Array) -> Array:
    """x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), as x·sigmoid of twice the inner term; NaN at -Inf.

    The inner term is held in float64: its error would come out of the exponential many times larger.
    """
    wide = exponential.wide(x)
    inner = wide * wide
    inner *= CUBIC
    inner += LINEAR
    inner *= wide
    return exponential.gated(x, inner)


def gelu_erf(x: Array) -> Array:
    """x·Φ(x), Φ the normal distribution, without cancellation for negative x; NaN at -Inf."""
    wide = exponential.wide(x)
    if x.dtype != np.float32:
        return wide * (0.5 * erfc(wide * -np.sqrt(0.5)))
    size = np.minimum(np.abs(wide), LAST)
    tail = exponential.exp(-0.5 * size * size, True)
    tail *= polynomial(MILLS, (size - 2.5) / (size + 2.5))
    tail /= 1 + size
    tail[size == LAST] = 0
    return wide * np.where(wide > 0, 1 - tail, np.where(np.isnan(wide), wide, tail))


unary("Gelu", gelu_tanh)


def gelu_v2_function(approximate: str) -> Any:
    """The function that the attribute names, None for another name."""
    return {"none": gelu_erf, "tanh": gelu_tanh}.get(approximate)


def gelu_v2_shape(call: Call) -> Shape:
    """The shape of x, once ``approximate`` is known."""
    if gelu_v2_function(call.attr("approximate")) is None:
        raise call.refuse("HA508", f"approximate = {call.attr('approximate')!r}; allowed: 'none', 'tanh'.")
    return call.shape("x")


def direct_gelu_v2(call: Call) -> Any:
    """The function in blocks, or by a table for half types."""
    return direct_unary(call, gelu_v2_function(call.attr("approximate")))


@kernel("GeluV2", cuts=broadcast_cuts(), shape=gelu_v2_shape, direct=direct_gelu_v2)
def gelu_v2(x: Array, approximate: str) -> Array:
    """x·Φ(x), Φ the normal distribution; with approximate "tanh" its approximation, as Gelu. NaN at -Inf."""
    result: Array = gelu_v2_function(approximate)(x)
    return result
