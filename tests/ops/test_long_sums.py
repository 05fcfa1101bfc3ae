"""Products and convolutions of halves over long sums that cancel: added up in float32, rounded once, against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tests.ops.calling import run

BF16 = ml_dtypes.bfloat16
DIGITS = {np.dtype(np.float16): (11, -14), np.dtype(BF16): (8, -126)}
Array = np.ndarray[Any, Any]


def draw(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-3, 4, shape))).astype(dtype)


def cancelling(a: Array, b: Array, along_a: int, along_b: int) -> tuple[Array, Array, Array, Array]:
    """Both, so that the second half of a sum takes away all but a little of the first; and both in float64."""
    first, second = np.moveaxis(a, along_a, 0), np.moveaxis(b, along_b, 0)
    half = len(first) // 2
    first[half : 2 * half] = first[:half]
    second[half : 2 * half] = (-second[:half].astype(np.float64)).astype(b.dtype)
    second[0] = second[0] + b.dtype.type(1)
    return a, b, a.astype(np.float64), b.astype(np.float64)


def check(y: Array, want: Array, sizes: Array, terms: int) -> None:
    """Half an ulp, and what float32 may lose along the way."""
    digits, least = DIGITS[y.dtype]
    ulp = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(want), 1e-30))), least) - digits + 1)
    lost = sizes * 2.0**-24 * 4 * np.sqrt(terms)
    np.testing.assert_array_less(np.abs(y.astype(np.float64) - want), ulp / 2 * 1.0001 + lost)


@pytest.mark.parametrize("dtype", [np.float16, BF16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("length", [64, 1000, 20000])
def test_products(dtype: Any, length: int) -> None:
    a, b, wide_a, wide_b = cancelling(draw((5, length), dtype, 1), draw((length, 7), dtype, 2), 1, 0)
    want, sizes = wide_a @ wide_b, np.abs(wide_a) @ np.abs(wide_b)
    turned = [np.ascontiguousarray(one.T) for one in (a, b)]
    perm = {"perm_x1": [0, 1, 2], "perm_x2": [0, 1, 2], "perm_y": [0, 1, 2]}
    for y in (
        run("MatMul", a, b), run("MatMulV2", turned[0], turned[1], transpose_x1=True, transpose_x2=True),
        run("BatchMatMul", a[None], b[None])[0], run("BatchMatMulV2", a, turned[1], adj_x2=True),
        run("TransposeBatchMatMul", a[None], b[None], **perm).reshape(5, 7),
    ):  # fmt: skip
        check(y, want, sizes, length)
    check(run("MatMul", a[:1], b), want[:1], sizes[:1], length)
    check(run("MatMul", a, np.ascontiguousarray(b[:, :1])), want[:, :1], sizes[:, :1], length)
    check(run("Dot", a[0].copy(), b[:, 0].copy()).reshape(()), want[0, 0], sizes[0, 0], length)
    bias = draw((7,), dtype, 3)
    check(run("MatMulV2", a, b, bias), want + bias.astype(np.float64), sizes + np.abs(bias.astype(np.float64)), length)


@pytest.mark.parametrize("dtype", [np.float16, BF16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize(("channels", "size"), [(64, 3), (512, 3), (2048, 1), (7, 5)])
def test_convolutions(dtype: Any, channels: int, size: int) -> None:
    drawn = draw((1, channels, 9, 9), dtype, 4), draw((6, channels, size, size), dtype, 5)
    x, f, wide_x, wide_f = cancelling(*drawn, 1, 1)
    seen = sliding_window_view(wide_x, (size, size), axis=(2, 3))
    want, sizes = (np.einsum("nchwij,ocij->nohw", *pair) for pair in ((seen, wide_f), (np.abs(seen), np.abs(wide_f))))
    attrs: dict[str, Any] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "layout": 0}
    check(run("Conv2D", x, f, **attrs), want, sizes, channels * size * size)
    if dtype is BF16:
        return
    one = seen * wide_f[:1].reshape(1, channels, 1, 1, size, size)
    y = run("DepthwiseConv2D", x, np.ascontiguousarray(f[:1]), **attrs)
    check(y, one.sum((-1, -2)), np.abs(one).sum((-1, -2)), size * size)
    around = np.pad(wide_x, ((0, 0), (0, 0), (size - 1,) * 2, (size - 1,) * 2))
    met, turned = sliding_window_view(around, (size, size), axis=(2, 3)), wide_f[:, :, ::-1, ::-1]
    want, sizes = (np.einsum("nchwij,ocij->nohw", *pair) for pair in ((met, turned), (np.abs(met), np.abs(turned))))
    y = run("Conv2DTransposeD", x, np.ascontiguousarray(f.transpose(1, 0, 2, 3)), input_size=list(want.shape), **attrs)
    check(y, want, sizes, channels * size * size)
