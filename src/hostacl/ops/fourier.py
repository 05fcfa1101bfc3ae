"""Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel

Array = NDArray[Any]

AXES = {"FFT": 1, "FFT2D": 2, "IFFT": 1, "IFFT2D": 2}


def transformed_shape(call: Call) -> Shape:
    """The shape of x, which has as many axes as are transformed, none of them empty unless all is."""
    x, count = call.shape("x"), AXES[call.op_type]
    if len(x) < count:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: {count} or more.")
    if 0 in x[-count:]:
        raise call.refuse("HA504", f"x = {dims.text(x)}; allowed: 1 or more along the last {count} dims.")
    return x


@kernel("FFT", "FFT2D", shape=transformed_shape)
def fft(x: Array, call: Call) -> Array:
    """The discrete Fourier transform along the last axis (FFT2D: the last two).

    The sum of x[j]·e^(-2πi·j·k/n), not scaled.
    """
    return np.asarray(np.fft.fftn(x.astype(np.complex128), axes=range(-AXES[call.op_type], 0)))
