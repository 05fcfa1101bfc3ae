"""Convolution of quantised images into float16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.axes import per_channel
from hostacl.ops.call import Call
from hostacl.ops.conv import conv, conv_shape, named_dims
from hostacl.ops.conv_axes import axes_like, data_letters
from hostacl.ops.conv_cuts import conv_cuts
from hostacl.ops.dims import Shape
from hostacl.ops.matmul import with_whole
from hostacl.ops.quant_scales import check_counts, factors, refuse_given
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out

Array = NDArray[Any]


def quant_conv_shape(call: Call) -> Shape:
    """The shape of Conv2D; one scale in all or for each output channel."""
    refuse_given(call, "what it does to a float16 result is not published", "offset")
    if call.attr("round_mode") != "rint":
        raise call.refuse("HA508", f"round_mode = {call.attr('round_mode')!r}; allowed: rint.")
    shape = conv_shape(call)
    check_counts(call, named_dims(call, 4)[2]["N"], "output channel", "scale")
    return shape


@kernel("QuantConv2D", shape=quant_conv_shape, mixed=("bias", "y"), batch=("x",), cuts=conv_cuts)
def quant_conv_2d(
    x: Array, filter: Array, scale: Array, bias: Array | None, strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], groups: int, data_format: str, offset_x: int, formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """(Conv2D of x and filter + bias)·scale, exact up to the one rounding; padding is offset_x, the value that means 0.

    A 64-bit scale holds a float32 in its lower half: one in all or one for each output channel.
    """
    total = conv(x, filter, None, None, strides, pads, dilations, groups, data_format, offset_x, formats, out)
    factor = factors(scale.reshape(-1))
    layout = axes_like(out[0].format, data_letters(formats["x"], data_format, 4))
    by = factor.reshape(()) if factor.size == 1 else per_channel(factor, total.shape, (layout.index("C"),))
    if bias is not None:
        total = with_whole(total, per_channel(bias.reshape(-1), total.shape, (layout.index("C"),)))
    return np.multiply(total, by, dtype=np.float64)
