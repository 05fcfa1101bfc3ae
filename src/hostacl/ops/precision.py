"""Precision: half types are widened, computed with, and rounded once; what arrays of each dtype are to a kernel, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import smallfloat
from hostacl.tensors import dtypes

Array = NDArray[Any]

TABLE_FROM = 4096
"""Elements from which on a unary half operator is worth a table of all its 65,536 values."""


def widen(array: Array, code: int) -> Array:
    """An array that NumPy computes with: halves and small floats as float32, complex32 as complex64."""
    if code in dtypes.HALVES:
        wide = np.empty(array.shape, np.float32)
        _kernels.convert(array, wide)
        return wide
    if code == dtypes.COMPLEX32:
        parts = np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.float16)
        return widen(parts, dtypes.FLOAT16).view(np.complex64)[..., 0]
    if code in dtypes.SMALL_FLOATS:
        return smallfloat.decode(array, code)
    return array


def compute_dtype(code: int) -> np.dtype[Any]:
    """The NumPy type that a kernel sees of a dtype."""
    if code in dtypes.HALVES or code in dtypes.SMALL_FLOATS:
        return np.dtype(np.float32)
    if code == dtypes.COMPLEX32:
        return np.dtype(np.complex64)
    return np.dtype(np.int8) if code in (dtypes.INT4, 31) else dtypes.numpy_dtype(code)


def widest(x: Array) -> Array:
    """Numbers as float64 or complex128, in which what float32 holds is never out of range on the way."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


def store(value: Array, out: Array, code: int, saturate: bool) -> None:
    """Writes a kernel's result into an output, rounded once to nearest even. Shapes broadcast; ``value`` may overlap ``out``.

    Float to integer goes toward zero, NaN gives 0, what is out of range the nearest bound; wide to narrow integer wraps;
    complex to real keeps the real part; to bool is ``!= 0``. ``saturate``: an overflow is the largest finite half, NaN 0.
    """
    kind = value.dtype.kind
    if code == dtypes.COMPLEX32:
        _store_pairs(value, out, saturate)
    elif code in dtypes.SMALL_FLOATS:
        np.copyto(out, smallfloat.encode(value.real if kind == "c" else value, code, saturate))
    elif kind == "c" and out.dtype.kind not in "cb":
        store(value.real, out, code, saturate)
    elif value.dtype == out.dtype:
        np.copyto(out, value)
    elif code in dtypes.HALVES:
        _kernels.convert(_native_source(value), out, saturate)
    elif kind == "f" and out.dtype.kind in "iub":
        _kernels.convert(value, out)
    else:
        np.copyto(out, value != 0 if out.dtype.kind == "b" else value, casting="unsafe")


def _native_source(value: Array) -> Array:
    """The value in a type the native conversion takes (a complex one was split before)."""
    return value if value.dtype.kind in "fiub" else value.astype(np.float32)


def _store_pairs(value: Array, out: Array, saturate: bool) -> None:
    """Writes real or complex values as pairs of halves."""
    if value.dtype == out.dtype:
        np.copyto(out, value)
        return
    rounded = np.empty((*value.shape, 2), np.float16)
    store(value.real, rounded[..., 0], dtypes.FLOAT16, saturate)
    store(value.imag if value.dtype.kind == "c" else np.zeros((), np.float32), rounded[..., 1], dtypes.FLOAT16, saturate)
    np.copyto(out, rounded.view(dtypes.PAIR16)[..., 0])


def half_table(function: Callable[[Array], Any], code: int, out_code: int, saturate: bool) -> Array:
    """``function`` of each of the 65,536 values of a half type, in float64 and rounded once; indexed by the value's bits."""
    every = np.arange(65536, dtype=np.uint16).view(dtypes.numpy_dtype(code))
    table = np.empty(65536, dtypes.numpy_dtype(out_code))
    with np.errstate(all="ignore"):
        store(np.asarray(function(widen(every, code).astype(np.float64))), table, out_code, saturate)
    return table


def half_unary(function: Callable[[Array], Any], code: int, out_code: int, saturate: bool) -> Callable[[Array, Array], None]:
    """An element-wise function of one half tensor: in float64 when small, by table when large; both give the same bits."""
    table: Array | None = None

    def run(x: Array, out: Array) -> None:
        nonlocal table
        if x.size < TABLE_FROM and table is None:
            store(np.asarray(function(widen(x, code).astype(np.float64))), out, out_code, saturate)
            return
        if table is None:
            table = half_table(function, code, out_code, saturate)
        _kernels.table_lookup(x, table, out)

    return run


def half_by_table(loop: Callable[[Array, Array], None], code: int) -> Callable[[Array, Array], None]:
    """A native loop on one large half tensor, by a table of what it gives for every half."""
    table: Array | None = None

    def run(x: Array, out: Array) -> None:
        nonlocal table
        if table is None:
            every = np.arange(65536, dtype=np.uint16).view(dtypes.numpy_dtype(code))
            table = np.empty_like(every)
            loop(every, table)
        _kernels.table_lookup(x, table, out)

    return run
