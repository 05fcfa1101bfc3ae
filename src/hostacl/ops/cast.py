"""Casts: from one element type to another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import codes
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import same_as
from hostacl.tensors import dtypes

Array = NDArray[Any]

WHOLE = dtypes.INTEGERS | {dtypes.BOOL}


def copy_wrapped(x: Array, y: Array) -> None:
    """Casts between integers: a narrower one keeps the low bits, bool is ``!= 0``."""
    np.copyto(y, x, casting="unsafe")


def direct_cast(call: Call) -> Any:
    """The native conversion, a copy, or NumPy's integer cast."""
    source, target = codes(call)
    if source == target:
        return _kernels.copy
    if source in WHOLE and target in WHOLE:
        return copy_wrapped
    native = dtypes.FLOATS & {source, target} and {source, target} <= dtypes.FLOATS | WHOLE
    return _kernels.convert if native and not (settings().saturate and target in dtypes.HALVES) else None


@kernel("Cast", cuts=broadcast_cuts(), shape=same_as("x"), mixed=("x", "y"), attrs={"truncate": False}, direct=direct_cast)
def cast(x: Array) -> Array:
    """x in the output's type. Float to integer goes toward zero, NaN gives 0, out of range the nearest bound (our choice);
    integer to a narrower one wraps; anything to bool is ``!= 0``; complex to real keeps the real part.
    """
    return x
