"""Formats: codes, names, the axes they order, and the packing of private layouts (NC1HWC0, FRACTAL_NZ …)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Refused
from hostacl.tensors import blocked, dtypes
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]

NAMES = {
    -1: "UNDEFINED", 0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 5: "NC1C0HWPAD", 6: "NHWC1C0", 7: "FSR_NCHW",
    8: "FRACTAL_DECONV", 9: "C1HWNC0", 10: "FRACTAL_DECONV_TRANSPOSE", 11: "FRACTAL_DECONV_SP_STRIDE_TRANS", 12: "NC1HWC0_C04",
    13: "FRACTAL_Z_C04", 14: "CHWN", 15: "FRACTAL_DECONV_SP_STRIDE8_TRANS", 16: "HWCN", 17: "NC1KHKWHWC0", 18: "BN_WEIGHT",
    19: "FILTER_HWCK", 20: "HASHTABLE_LOOKUP_LOOKUPS", 21: "HASHTABLE_LOOKUP_KEYS", 22: "HASHTABLE_LOOKUP_VALUE",
    23: "HASHTABLE_LOOKUP_OUTPUT", 24: "HASHTABLE_LOOKUP_HITS", 25: "C1HWNCoC0", 26: "MD", 27: "NDHWC", 28: "FRACTAL_ZZ",
    29: "FRACTAL_NZ", 30: "NCDHW", 31: "DHWCN", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D", 34: "CN", 35: "NC", 36: "DHWNC",
    37: "FRACTAL_Z_3D_TRANSPOSE", 38: "FRACTAL_ZN_LSTM", 39: "FRACTAL_Z_G", 43: "ND_RNN_BIAS", 44: "FRACTAL_ZN_RNN", 45: "NYUV",
    46: "NYUV_A", 47: "NCL", 48: "FRACTAL_Z_WINO", 49: "C1HWC0", 50: "FRACTAL_NZ_C0_16", 51: "FRACTAL_NZ_C0_32",
    52: "FRACTAL_NZ_C0_2", 53: "FRACTAL_NZ_C0_4", 54: "FRACTAL_NZ_C0_8",
}  # fmt: skip
CODES = {name: code for code, name in NAMES.items()}

UNDEFINED, NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, NC1HWC0_C04, FRACTAL_Z_C04, CHWN, HWCN = -1, 0, 1, 2, 3, 4, 12, 13, 14, 16
NDHWC, FRACTAL_ZZ, FRACTAL_NZ, NCDHW, DHWCN, NDC1HWC0, FRACTAL_Z_3D, NCL = 27, 28, 29, 30, 31, 32, 33, 47
NZ_C0 = {50: 16, 51: 32, 52: 2, 53: 4, 54: 8}
FIXED_C0 = {NC1HWC0_C04: 4, FRACTAL_Z_C04: 16, **NZ_C0}
"""C0 of the formats that say it themselves."""

AXES = {NCHW: "NCHW", NHWC: "NHWC", CHWN: "CHWN", HWCN: "HWCN", NDHWC: "NDHWC", NCDHW: "NCDHW", DHWCN: "DHWCN", NCL: "NCL"}
"""The plain formats whose axes have names."""

PRIVATE = frozenset({NC1HWC0, NC1HWC0_C04, NDC1HWC0, FRACTAL_Z, FRACTAL_Z_C04, FRACTAL_Z_3D, FRACTAL_NZ, FRACTAL_ZZ, *NZ_C0})
"""The formats that hold a tensor in blocks."""


UNBLOCKED = frozenset({*AXES, UNDEFINED, ND, *(CODES[name] for name in ("NC", "CN", "MD", "DHWNC", "NYUV", "NYUV_A"))})
"""The formats whose elements lie in the order of the shape."""


class Layout(NamedTuple):
    """A format value taken apart: primary format, sub-format (groups of FRACTAL_Z), C0 (0: not given)."""

    primary: int
    sub: int
    c0: int


def split(code: int) -> Layout:
    """The parts of a 32-bit format value."""
    if code < 0:
        return Layout(code, 0, 0)
    exponent = (code >> 24) & 0xF
    return Layout(code & 0xFF, (code >> 8) & 0xFFFF, 1 << (exponent - 1) if exponent else 0)


def format_name(code: int) -> str:
    """A format's name: ``NCHW``."""
    return NAMES.get(split(code).primary, f"format {code}")


def axes_of(code: int, rank: int) -> str | None:
    """The axis letters of a plain format when the rank fits them, such as ``NCHW``."""
    axes = AXES.get(split(code).primary)
    return axes if axes is not None and len(axes) == rank else None


def block_size(dtype: int, soc: str = "Ascend910B1") -> int:
    """C0 of a dtype where neither storage shape nor format code gives it."""
    bits = dtypes.BY_CODE[dtype].bits
    if soc.startswith("Ascend950") and dtype in (dtypes.FLOAT, dtypes.INT32):
        return 8
    return 16 if bits >= 16 else 256 // bits


class Blocks(NamedTuple):
    """How an origin tensor lies in blocks: its origin shape and letters, the private layout, C0 and groups."""

    shape: tuple[int, ...]
    axes: str
    primary: int
    c0: int
    groups: int


def _ceil(size: int, block: int) -> int:
    return -(-size // block)


def blocks_of(spec: TensorSpec, soc: str = "Ascend910B1") -> Blocks | None:
    """How a descriptor's storage lies in blocks; None when storage and origin are one."""
    layout = split(spec.storage_format)
    if layout.primary not in PRIVATE or layout.primary == split(spec.format).primary:
        return None
    fixed = FIXED_C0.get(layout.primary, 0)
    last = spec.storage_shape[-1] if spec.storage_shape and len(spec.storage_shape) >= 4 else 0
    c0 = fixed or last or layout.c0 or block_size(spec.dtype, soc)
    return Blocks(*_origin(spec, layout.primary), layout.primary, c0, max(layout.sub, 1))


def _origin(spec: TensorSpec, primary: int) -> tuple[tuple[int, ...], str]:
    """Origin shape and axis letters as the private layout sees them (NCHW padding of low ranks)."""
    if primary in {FRACTAL_NZ, FRACTAL_ZZ, *NZ_C0}:
        return (spec.shape if len(spec.shape) >= 2 else (1,) * (2 - len(spec.shape)) + spec.shape), ""
    axes = axes_of(spec.format, len(spec.shape))
    if axes is not None:
        return spec.shape, axes
    if primary == FRACTAL_Z and len(spec.shape) == 2:
        return spec.shape, "KN"
    rank = 5 if primary in (NDC1HWC0, FRACTAL_Z_3D) else 4
    return _padded(spec.shape, rank), "NCDHW" if rank == 5 else "NCHW"


def misfit(spec: TensorSpec) -> str | None:
    """Why a tensor cannot lie in its storage format; None where it can, or too little of its shape is known."""
    layout, rank = split(spec.storage_format), len(spec.shape)
    if layout.primary in UNBLOCKED or layout.primary == split(spec.format).primary:
        return None
    if layout.primary not in PRIVATE:
        return "tensors in that format are not laid out here; allowed: " + ", ".join(sorted(map(format_name, PRIVATE)))
    if spec.shape == (-2,) or layout.primary in {FRACTAL_NZ, FRACTAL_ZZ, *NZ_C0}:
        return None
    letters = {NDC1HWC0: ["NCDHW"], FRACTAL_Z: ["NCHW", "NCDHW"], FRACTAL_Z_3D: ["NCHW", "NCDHW"]}.get(layout.primary, ["NCHW"])
    axes = axes_of(spec.format, rank)
    most = 5 if layout.primary in (NDC1HWC0, FRACTAL_Z_3D) else 4
    if rank > most if axes is None else sorted(axes) not in map(sorted, letters):
        return f"it takes the axes {' or '.join(letters)}"
    blocks = blocks_of(spec)
    if blocks is None or min(spec.shape, default=0) < 0 or blocks.axes == "KN":
        return None
    sizes = dict(zip(blocks.axes, blocks.shape, strict=True))
    if layout.primary == FRACTAL_Z_C04 and sizes["C"] > 4:
        return f"it takes up to 4 channels, not {sizes['C']}"
    grouped = layout.primary in (FRACTAL_Z, FRACTAL_Z_3D) and blocks.groups > 1
    if grouped and (sizes["N"] % blocks.groups or not math.prod(blocks.shape)):
        return f"its {blocks.groups} groups must divide the {sizes['N']} outputs, and none of them be empty"
    return None


def _padded(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """A low-rank shape as N, C, H, W: (C) → (1,C,1,1), (C,H) → (1,C,H,1), (C,H,W) → (1,C,H,W)."""
    if len(shape) >= rank:
        return shape
    front = (1, *shape) if shape else (1,)
    return front + (1,) * (rank - len(front))


def storage_shape(spec: TensorSpec, soc: str = "Ascend910B1") -> tuple[int, ...]:
    """The shape of the array that lies in memory: that of the blocks, of the permuted axes, or the origin's.

    Plain memory of as many elements has the origin's: torch-npu describes a view with the storage of the tensor behind it.
    """
    if spec.storage_shape is not None:
        same = math.prod(spec.storage_shape) == math.prod(spec.shape) and is_plain(spec)
        return spec.shape if same else spec.storage_shape
    blocks = blocks_of(spec, soc)
    if blocks is not None:
        return _layout(blocks).shape
    order = _permutation(spec)
    return spec.shape if order is None else tuple(spec.shape[axis] for axis in order)


def _permutation(spec: TensorSpec) -> tuple[int, ...] | None:
    """The axes of the origin in storage order, when both are plain and differ."""
    if spec.storage_format in (-1, spec.format):
        return None
    have, want = axes_of(spec.format, len(spec.shape)), axes_of(spec.storage_format, len(spec.shape))
    if have is None or want is None or have == want or sorted(have) != sorted(want):
        return None
    return tuple(have.index(letter) for letter in want)


def is_plain(spec: TensorSpec) -> bool:
    """Whether the memory holds the origin shape as it is."""
    return spec.storage_format == -1 or (blocks_of(spec) is None and _permutation(spec) is None)


def unpack(array: Array, spec: TensorSpec, soc: str = "Ascend910B1") -> Array:
    """The origin tensor of an array in storage layout; padding is dropped."""
    blocks = blocks_of(spec, soc)
    if blocks is not None:
        return _take(array, blocks, spec)
    order = _permutation(spec)
    if order is None:
        return array.reshape(spec.shape)
    return array.reshape([spec.shape[axis] for axis in order]).transpose(np.argsort(order))


def pack(array: Array, spec: TensorSpec, out: Array, soc: str = "Ascend910B1") -> None:
    """Writes an origin tensor into storage layout; padding becomes zero."""
    blocks = blocks_of(spec, soc)
    if blocks is not None:
        _put(array, blocks, spec, out)
        return
    order = _permutation(spec)
    source = array.reshape(spec.shape)
    np.copyto(out, (source if order is None else source.transpose(order)).reshape(out.shape))


class _Map(NamedTuple):
    """Where a block layout puts things: its shape, and functions from the origin to it and back (views or copies)."""

    shape: tuple[int, ...]
    to_blocks: Callable[[Array], Array]
    from_blocks: Callable[[Array], Array]


def _take(array: Array, blocks: Blocks, spec: TensorSpec) -> Array:
    layout = _layout(blocks)
    size = math.prod(layout.shape)
    if array.size < size:
        raise _too_small(array, layout, blocks, spec)
    whole = array if array.shape == layout.shape else array.reshape(-1)[:size].reshape(layout.shape)
    return layout.from_blocks(whole).reshape(spec.shape)


def _put(array: Array, blocks: Blocks, spec: TensorSpec, out: Array) -> None:
    layout = _layout(blocks)
    size = math.prod(layout.shape)
    if out.size < size:
        raise _too_small(out, layout, blocks, spec)
    target = out if out.shape == layout.shape else out.reshape(-1)[:size].reshape(layout.shape)
    np.copyto(target, layout.to_blocks(array.reshape(blocks.shape)).reshape(layout.shape))


def _too_small(storage: Array, layout: _Map, blocks: Blocks, spec: TensorSpec) -> Refused:
    told = f"storage {list(storage.shape)} is too small for {format_name(blocks.primary)} of {list(spec.shape)}"
    return Refused("HA421", f"{told}; it takes {list(layout.shape)}.")


def _layout(blocks: Blocks) -> _Map:
    return _Map(*blocked.layout(blocks.shape, blocks.axes, blocks.primary, blocks.c0, blocks.groups))
