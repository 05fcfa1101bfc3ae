"""Memory layouts, element by element by the formulas of each format."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes

PLAIN = ("NCHW", "NHWC", "HWCN", "CHWN")
BLOCKS = {
    "NC1HWC0": ("NCHW", "NHWC"), "FRACTAL_NZ": ("ND", "NCHW", "NHWC"), "FRACTAL_Z": ("NCHW", "HWCN", "NHWC", "ND"),
    "NDC1HWC0": ("NCDHW", "NDHWC"), "FRACTAL_Z_3D": ("NCDHW", "DHWCN", "NDHWC"), "FRACTAL_Z_C04": ("NCHW", "HWCN"),
}  # fmt: skip


def up(size: int, block: int) -> int:
    return -(-size // block)


def grouped(sizes: dict[str, int], groups: int, c0: int) -> tuple[int, int, int, int, int]:
    """Output channels and input channels of a group, groups in a block, and both padded."""
    co, ci = sizes["N"] // groups, sizes["C"]
    merged = min(math.lcm(math.lcm(ci, c0) // ci, math.lcm(co, 16) // co), groups)
    return co, ci, merged, up(merged * ci, c0) * c0, up(merged * co, 16) * 16


def block_shape(name: str, shape: Any, axes: str, c0: int, groups: int) -> tuple[int, ...]:
    sizes = {"D": 1, **dict(zip(axes, shape, strict=False))} if axes != "ND" else {}
    if name == "FRACTAL_NZ":
        return (*shape[:-2], up(shape[-1], c0), up(shape[-2], 16), 16, c0)
    if axes == "ND":
        return (up(shape[0], c0), up(shape[1], 16), 16, c0)
    if name == "NC1HWC0":
        return (sizes["N"], up(sizes["C"], c0), sizes["H"], sizes["W"], c0)
    if name == "NDC1HWC0":
        return (sizes["N"], sizes["D"], up(sizes["C"], c0), sizes["H"], sizes["W"], c0)
    if name == "FRACTAL_Z_C04":
        return (up(4 * sizes["H"] * sizes["W"], c0), up(sizes["N"], 16), 16, c0)
    area = sizes["D"] * sizes["H"] * sizes["W"]
    if groups > 1:
        _, _, merged, cin, cout = grouped(sizes, groups, c0)
        return (up(groups, merged) * area * (cin // c0), cout // 16, 16, c0)
    return (area * up(sizes["C"], c0), up(sizes["N"], 16), 16, c0)


def position(name: str, place: tuple[int, ...], shape: Any, axes: str, c0: int, groups: int) -> tuple[int, ...]:
    """Where the element at this place of the plain tensor stands in the blocks."""
    if name == "FRACTAL_NZ":
        *lead, m, n = place
        return (*lead, n // c0, m // 16, m % 16, n % c0)
    if axes == "ND":
        k, n = place
        return (k // c0, n // 16, n % 16, k % c0)
    at, size = {"D": 0, **dict(zip(axes, place, strict=True))}, {"D": 1, **dict(zip(axes, shape, strict=True))}
    n, c, d, h, w = (at[letter] for letter in "NCDHW")
    if name == "NC1HWC0":
        return (n, c // c0, h, w, c % c0)
    if name == "NDC1HWC0":
        return (n, d, c // c0, h, w, c % c0)
    if name == "FRACTAL_Z_C04":
        f = (h * size["W"] + w) * 4 + c
        return (f // c0, n // 16, n % 16, f % c0)
    lead = 0
    c1 = up(size["C"], c0)
    if groups > 1:
        co, ci, merged, cin, _ = grouped(size, groups, c0)
        group, c1 = n // co, cin // c0
        n, c, lead = group % merged * co + n % co, group % merged * ci + c, group // merged
    row = (((lead * size["D"] + d) * c1 + c // c0) * size["H"] + h) * size["W"] + w
    return (row, n // 16, n % 16, c % c0)


@shapes("TransData")
def transforming(d: Dice) -> None:
    """A pair of formats, either way; groups now and then for weights."""
    kind = "plain" if d.kind in ("empty", "one element") else str(d.choose("plain", *BLOCKS))
    c0 = {1: 32}.get(dtypes.numpy_dtype(d.dtype).itemsize, 16)
    groups = 1
    if kind == "plain":
        source, target = (str(d.choose(*PLAIN)) for _ in range(2))
        shape = d.shape(4, 4, long=False)
        result = tuple(shape[source.index(letter)] for letter in target)
    else:
        plain = str(d.choose(*BLOCKS[kind]))
        rank = {"ND": 2}.get(plain, len(plain)) if plain != "ND" or kind != "FRACTAL_NZ" else d.int(2, 4)
        shape = tuple(d.int(1, 3) for _ in range(rank))
        if d.wants("long"):
            shape = (*shape[:-1], 40)
        if kind == "FRACTAL_Z_C04":
            c0, shape = 16, tuple(min(size, 4) if letter == "C" else size for size, letter in zip(shape, plain, strict=True))
        if kind in ("FRACTAL_Z", "FRACTAL_Z_3D") and plain != "ND" and d.chance():
            groups = d.int(1, 3)
            shape = tuple(size * groups if letter == "N" else size for size, letter in zip(shape, plain, strict=True))
        result = block_shape(kind, shape, plain, c0, groups)
        source, target = plain, kind
        if d.chance() and kind != "FRACTAL_Z_C04":
            source, target, shape, result = kind, plain, result, shape
    d.values.update(c0=c0, groups=groups)
    d.tensor("src", shape, format=formats.CODES[source])
    for name, value in (("src_format", source), ("dst_format", target)):
        d.attrs[name], d.values[name] = ("string", value), value
    if groups > 1:
        d.attrs["groups"] = ("int", groups)
    for name in ("src_subformat", "dst_subformat"):
        d.attr(name)
    d.output("dst", d.dtype, result, formats.CODES[target])


@oracle("TransData")
def trans_data(src: Any, src_format: str, dst_format: str, dice: Dice) -> Any:
    out = dice.outputs["dst"][1]
    assert out is not None
    c0, groups = dice.values["c0"], dice.values["groups"]
    result = np.zeros(out, src.dtype)
    if src_format not in BLOCKS and dst_format not in BLOCKS:
        for place in np.ndindex(out):
            at = dict(zip(dst_format, place, strict=True))
            result[place] = src[tuple(at[letter] for letter in src_format)]
    elif dst_format in BLOCKS:
        for place in np.ndindex(src.shape):
            result[position(dst_format, place, src.shape, src_format, c0, groups)] = src[place]
    else:
        for place in np.ndindex(out):
            result[place] = src[position(src_format, place, out, dst_format, c0, groups)]
    return result
