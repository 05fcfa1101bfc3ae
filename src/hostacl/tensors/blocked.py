"""The block layouts: shapes, and the copies between a plain tensor and its blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Layout = tuple[tuple[int, ...], Callable[[Array], Array], Callable[[Array], Array]]
Join = Callable[[Array, tuple[int, ...]], Array]
"""Gives a transposed array another shape, in which axes that are not next to each other in memory are one."""

FRACTAL_Z, NC1HWC0, NC1HWC0_C04, FRACTAL_Z_C04, NDC1HWC0, FRACTAL_Z_3D, FRACTAL_ZZ = 4, 3, 12, 13, 32, 33, 28


def ceil(size: int, block: int) -> int:
    """Blocks that ``size`` elements need."""
    return -(-size // block)


def pad_to(array: Array, shape: Sequence[int]) -> Array:
    """The array with zeros behind each axis up to ``shape``."""
    if tuple(shape) == array.shape:
        return array
    padded = np.zeros(tuple(shape), array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded


def crop(array: Array, shape: Sequence[int]) -> Array:
    """The leading part of an array."""
    return array[tuple(slice(size) for size in shape)]


def layout(shape: tuple[int, ...], axes: str, primary: int, c0: int, groups: int, join: Join = np.reshape) -> Layout:
    """The block shape of a tensor, and the functions into the blocks and back; ``join`` copies images and matrices."""
    if primary in (NC1HWC0, NC1HWC0_C04, NDC1HWC0):
        return _channels(shape, axes, c0, "NDCHW" if primary == NDC1HWC0 else "NCHW", join)
    if primary in (FRACTAL_Z, FRACTAL_Z_3D):
        if axes == "KN":
            return _matrix_z(shape, c0, join)
        return _grouped(shape, axes, c0, groups) if groups > 1 else _weights(shape, axes, c0)
    if primary == FRACTAL_Z_C04:
        return _weights_c04(shape, axes, c0)
    return (_zz if primary == FRACTAL_ZZ else _nz)(shape, c0, join)


def _to(axes: str, order: str) -> Callable[[Array], Array]:
    perm = [axes.index(letter) for letter in order]
    return lambda array: array.transpose(perm)


def _back(axes: str, order: str) -> Callable[[Array], Array]:
    perm = [order.index(letter) for letter in axes]
    return lambda array: array.transpose(perm)


def _channels(shape: tuple[int, ...], axes: str, c0: int, order: str, join: Join) -> Layout:
    """NC1HWC0 and NDC1HWC0: [n, (d,) c//C0, h, w, c%C0]."""
    sizes = dict(zip(axes, shape, strict=True))
    front = [sizes[letter] for letter in order if letter in "ND"]
    h, w, c1 = sizes["H"], sizes["W"], ceil(sizes["C"], c0)
    lead = len(front)

    def blocks(array: Array) -> Array:
        padded = pad_to(_to(axes, order)(array), (*front, c1 * c0, h, w))
        return np.moveaxis(padded.reshape(*front, c1, c0, h, w), lead + 1, -1)

    def plain(array: Array) -> Array:
        joined = join(np.moveaxis(array, -1, lead + 1), (*front, c1 * c0, h, w))
        return _back(axes, order)(crop(joined, (*front, sizes["C"], h, w)))

    return (*front, c1, h, w, c0), blocks, plain


def _weights(shape: tuple[int, ...], axes: str, c0: int) -> Layout:
    """FRACTAL_Z and FRACTAL_Z_3D: [(d, c//C0, h, w), n//16, n%16, c%C0]."""
    order = "DCHWN" if "D" in axes else "CHWN"
    sizes = {"D": 1, **dict(zip(axes, shape, strict=True))}
    d, h, w, n1, c1 = sizes["D"], sizes["H"], sizes["W"], ceil(sizes["N"], 16), ceil(sizes["C"], c0)

    def blocks(array: Array) -> Array:
        ordered = _to(axes, order)(array).reshape(d, sizes["C"], h, w, sizes["N"])
        padded = pad_to(ordered, (d, c1 * c0, h, w, n1 * 16)).reshape(d, c1, c0, h, w, n1, 16)
        return padded.transpose(0, 1, 3, 4, 5, 6, 2)

    def plain(array: Array) -> Array:
        parts = array.reshape(d, c1, h, w, n1, 16, c0).transpose(0, 1, 6, 2, 3, 4, 5)
        full = crop(parts.reshape(d, c1 * c0, h, w, n1 * 16), (d, sizes["C"], h, w, sizes["N"]))
        return _back(axes, order)(full.reshape([sizes[letter] for letter in order]))

    return (d * c1 * h * w, n1, 16, c0), blocks, plain


def _weights_c04(shape: tuple[int, ...], axes: str, c0: int) -> Layout:
    """FRACTAL_Z_C04: f = (h*W + w)*4 + c in [f//16, n//16, n%16, f%16]."""
    sizes = dict(zip(axes, shape, strict=True))
    h, w, n, c = sizes["H"], sizes["W"], sizes["N"], sizes["C"]
    f1, n1 = ceil(4 * h * w, c0), ceil(n, 16)

    def blocks(array: Array) -> Array:
        four = pad_to(_to(axes, "HWCN")(array), (h, w, 4, n)).reshape(h * w * 4, n)
        return pad_to(four, (f1 * c0, n1 * 16)).reshape(f1, c0, n1, 16).transpose(0, 2, 3, 1)

    def plain(array: Array) -> Array:
        full = array.transpose(0, 3, 1, 2).reshape(f1 * c0, n1 * 16)
        return _back(axes, "HWCN")(crop(full, (h * w * 4, n)).reshape(h, w, 4, n)[:, :, :c])

    return (f1, n1, 16, c0), blocks, plain


def _matrix_z(shape: tuple[int, ...], c0: int, join: Join) -> Layout:
    """FRACTAL_Z of a K x N matrix: [k//C0, n//16, n%16, k%C0]."""
    k1, n1 = ceil(shape[0], c0), ceil(shape[1], 16)

    def blocks(array: Array) -> Array:
        return pad_to(array, (k1 * c0, n1 * 16)).reshape(k1, c0, n1, 16).transpose(0, 2, 3, 1)

    def plain(array: Array) -> Array:
        return crop(join(array.transpose(0, 3, 1, 2), (k1 * c0, n1 * 16)), shape)

    return (k1, n1, 16, c0), blocks, plain


def _nz(shape: tuple[int, ...], c0: int, join: Join) -> Layout:
    """FRACTAL_NZ: [..., n//C0, m//16, m%16, n%C0]."""
    *lead, m, n = shape
    m1, n1, axis = ceil(m, 16), ceil(n, c0), len(lead)
    into, back = (*range(axis), axis + 2, axis, axis + 1, axis + 3), (*range(axis), axis + 1, axis + 2, axis, axis + 3)

    def blocks(array: Array) -> Array:
        return pad_to(array, (*lead, m1 * 16, n1 * c0)).reshape(*lead, m1, 16, n1, c0).transpose(into)

    def plain(array: Array) -> Array:
        return crop(join(array.transpose(back), (*lead, m1 * 16, n1 * c0)), shape)

    return (*lead, n1, m1, 16, c0), blocks, plain


def _zz(shape: tuple[int, ...], c0: int, join: Join) -> Layout:
    """FRACTAL_ZZ: [..., m//C0, n//C0, m%C0, n%C0]."""
    *lead, m, n = shape
    m1, n1, axis = ceil(m, c0), ceil(n, c0), len(lead)
    swap = (*range(axis), axis, axis + 2, axis + 1, axis + 3)

    def blocks(array: Array) -> Array:
        return pad_to(array, (*lead, m1 * c0, n1 * c0)).reshape(*lead, m1, c0, n1, c0).transpose(swap)

    def plain(array: Array) -> Array:
        return crop(join(array.transpose(swap), (*lead, m1 * c0, n1 * c0)), shape)

    return (*lead, m1, n1, c0, c0), blocks, plain


def _grouped(shape: tuple[int, ...], axes: str, c0: int, groups: int) -> Layout:
    """FRACTAL_Z(_3D) with groups: E groups share a block, each on its own diagonal part of it."""
    order = "DCHWN" if "D" in axes else "CHWN"
    sizes = {"D": 1, **dict(zip(axes, shape, strict=True))}
    d, h, w, ci, co = sizes["D"], sizes["H"], sizes["W"], sizes["C"], sizes["N"] // groups
    merged = min(math.lcm(math.lcm(ci, c0) // ci, math.lcm(co, 16) // co), groups)
    cin, cout, fours = ceil(merged * ci, c0) * c0, ceil(merged * co, 16) * 16, ceil(groups, merged)
    full = (fours, d, cin // c0, h, w, cout, c0)

    def parts(array: Array) -> list[Array]:
        """The diagonal part of each group, as views shaped (D, ci, H, W, co) of an array (Gd, D, Cin, H, W, Cout)."""
        return [
            array[g // merged, :, (g % merged) * ci : (g % merged + 1) * ci, :, :, (g % merged) * co : (g % merged + 1) * co]
            for g in range(groups)
        ]

    def blocks(array: Array) -> Array:
        ordered = _to(axes, order)(array).reshape(d, ci, h, w, groups, co)
        wide = np.zeros((fours, d, cin, h, w, cout), array.dtype)
        for g, part in enumerate(parts(wide)):
            part[...] = ordered[:, :, :, :, g]
        return wide.reshape(fours, d, cin // c0, c0, h, w, cout).transpose(0, 1, 2, 4, 5, 6, 3)

    def plain(array: Array) -> Array:
        wide = array.reshape(full).transpose(0, 1, 2, 6, 3, 4, 5).reshape(fours, d, cin, h, w, cout)
        joined = np.stack(parts(wide), axis=4).reshape([sizes[letter] for letter in order])
        return _back(axes, order)(joined)

    return (fours * d * (cin // c0) * h * w, cout // 16, 16, c0), blocks, plain
