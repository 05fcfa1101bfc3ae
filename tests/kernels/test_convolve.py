"""Grouped convolutions against products of shifted images in float64."""

from itertools import product
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from hostacl import _kernels

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float16), BF16, np.dtype(np.float32)]
ROUNDING = {np.dtype(np.float16): 2.0**-11, BF16: 2.0**-8, np.dtype(np.float32): 2.0**-24}
NO_PADS = (0, 0, 0, 0, 0, 0)
Three = tuple[int, ...]


def reference(x: Array, weight: Array, strides: Three, dilations: Three, pads: Three, groups: int) -> Any:
    """One filter element at a time: what of the padded image it meets, times its weights, in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *zip(pads[::2], pads[1::2], strict=True)))
    filters, channels, *kernel = weight.shape
    sizes = [
        (length - (k - 1) * d - 1) // s + 1
        for length, k, s, d in zip(padded.shape[2:], kernel, strides, dilations, strict=True)
    ]
    y = np.zeros((x.shape[0], groups, filters // groups, *sizes))
    wide = weight.astype(np.float64).reshape(groups, filters // groups, *weight.shape[1:])
    for taps in product(*map(range, kernel)):
        steps = zip(taps, dilations, strides, sizes, strict=True)
        met = padded[(slice(None), slice(None), *(slice(tap * d, tap * d + (n - 1) * s + 1, s) for tap, d, s, n in steps))]
        met = met.reshape(x.shape[0], groups, channels, *sizes)
        y += np.einsum("ngcdhw,gfc->ngfdhw", met, wide[(..., *taps)])
    return y.reshape(x.shape[0], filters, *sizes)


def check(
    x: Array, weight: Array, strides: Three, dilations: Three, pads: Three, groups: int, *, bias: Any = None, to: Any = None
) -> None:
    """Within one rounding of the result and what float32 sums of so many products may be off."""
    want = reference(x, weight, strides, dilations, pads, groups)
    size = reference(abs(x), abs(weight), strides, dilations, pads, groups)
    if bias is not None:
        want, size = want + bias.reshape(-1, 1, 1, 1), size + abs(bias).reshape(-1, 1, 1, 1)
    out = np.full(want.shape, 7, to or x.dtype)
    _kernels.convolve(x, weight, bias, out, strides, dilations, pads, groups)
    allowed = abs(want) * ROUNDING[out.dtype] + size * 2.0**-24 * (4 + 2 * np.sqrt(prod(weight.shape[1:]))) + 2.0**-25
    assert np.all(abs(out.astype(np.float64) - want) <= allowed)


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(prod(shape)).standard_normal(shape).astype(dtype)


CASES = {
    "3x3": ((2, 5, 1, 9, 11), (7, 5, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 1),
    "many filters and channels": ((1, 70, 1, 6, 5), (29, 70, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 1),
    "several tiles": ((3, 3, 1, 21, 19), (13, 3, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 1),
    "one element": ((2, 9, 2, 7, 5), (14, 9, 1, 1, 1), (1, 1, 1), (1, 1, 1), NO_PADS, 1),
    "one element with pads": ((1, 4, 1, 5, 5), (6, 4, 1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 1, 0, 0, 2), 1),
    "one element with strides": ((1, 4, 1, 9, 40), (6, 4, 1, 1, 1), (1, 2, 2), (1, 1, 1), NO_PADS, 1),
    "stride 2": ((1, 3, 1, 15, 75), (8, 3, 1, 7, 7), (1, 2, 2), (1, 1, 1), (0, 0, 3, 3, 3, 3), 1),
    "stride 3": ((1, 3, 1, 15, 80), (8, 3, 1, 4, 2), (1, 3, 3), (1, 1, 1), (0, 0, 1, 2, 0, 1), 1),
    "strides beyond the filter": ((1, 2, 1, 17, 18), (3, 2, 1, 2, 2), (1, 5, 4), (1, 1, 1), NO_PADS, 1),
    "dilations and uneven pads": ((2, 4, 1, 12, 10), (9, 4, 1, 3, 2), (1, 2, 1), (1, 2, 3), (0, 0, 0, 3, 2, 1), 1),
    "pads beyond the image": ((1, 2, 1, 3, 2), (9, 2, 1, 2, 2), (1, 1, 1), (1, 1, 1), (0, 0, 5, 4, 3, 7), 1),
    "three dims": ((2, 3, 6, 5, 7), (10, 3, 3, 2, 3), (2, 1, 1), (1, 2, 1), (1, 1, 0, 1, 1, 1), 1),
    "groups": ((2, 12, 1, 8, 9), (27, 4, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 3),
    "few filters in a group": ((2, 12, 1, 8, 9), (9, 4, 1, 3, 3), (1, 1, 2), (1, 2, 1), (0, 0, 1, 0, 1, 2), 3),
    "two filters in a group": ((2, 6, 1, 5, 10), (4, 3, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 2),
    "four filters in a group": ((2, 6, 1, 5, 10), (8, 3, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 2),
    "depthwise": ((2, 6, 1, 11, 33), (6, 1, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 6),
    "depthwise, stride 2": ((2, 6, 1, 11, 70), (12, 1, 1, 3, 5), (1, 2, 2), (1, 1, 1), (0, 0, 1, 1, 2, 2), 6),
    "depthwise, stride 3": ((1, 4, 1, 20, 20), (16, 1, 1, 4, 4), (1, 3, 3), (1, 2, 2), (0, 0, 2, 1, 0, 3), 4),
    "depthwise, three dims": ((1, 3, 5, 6, 7), (3, 1, 3, 3, 2), (1, 2, 1), (2, 1, 3), (1, 2, 1, 0, 2, 2), 3),
    "depthwise, a long line": ((1, 2, 1, 2, 2100), (2, 1, 1, 2, 3), (1, 1, 1), (1, 1, 1), (0, 0, 0, 0, 1, 1), 2),
    "depthwise, high": ((1, 2, 1, 5000, 1), (2, 1, 1, 3, 1), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 0, 0), 2),
    "one filter of many channels": ((1, 60, 1, 7, 7), (1, 60, 1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 1),
    "far dilations": ((1, 2, 1, 230, 231), (2, 2, 1, 3, 3), (1, 1, 1), (1, 110, 110), NO_PADS, 1),
    "a large filter": ((1, 2, 1, 33, 34), (5, 2, 1, 31, 30), (1, 1, 1), (1, 1, 1), (0, 0, 2, 2, 2, 2), 1),
    "single places of many images": ((70, 8, 1, 3, 3), (10, 8, 1, 3, 3), (1, 1, 1), (1, 1, 1), NO_PADS, 1),
    "one place": ((1, 2500, 1, 1, 1), (37, 2500, 1, 1, 1), (1, 1, 1), (1, 1, 1), NO_PADS, 1),
    "one place for each image": ((3, 40, 1, 5, 5), (22, 20, 1, 5, 5), (1, 1, 1), (1, 1, 1), NO_PADS, 2),
    "four places and pads": ((1, 30, 1, 2, 3), (9, 30, 1, 3, 4), (1, 2, 1), (1, 1, 2), (0, 0, 1, 2, 3, 2), 1),
    "few places under a large filter": ((2, 1, 1, 40, 41), (6, 1, 1, 40, 40), (1, 1, 1), (1, 1, 1), NO_PADS, 1),
    "one of everything": ((1, 1, 1, 1, 1), (1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1), NO_PADS, 1),
}


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_geometry(case: str, dtype: Any) -> None:
    shape, filters, *rest = CASES[case]
    x, weight = normal(*shape, dtype=dtype), normal(*filters, dtype=dtype)
    check(x, weight, *rest)
    check(x, weight, *rest, bias=normal(filters[0]), to=np.float32)


@pytest.mark.parametrize("case", ["many filters and channels", "several tiles", "depthwise", "stride 2", "groups", "one place"])
def test_the_bits_depend_on_neither_threads_nor_levels_with_fused_products(case: str) -> None:
    shape, filters, *rest = CASES[case]
    larger = (1, 1) if case == "one place" else (4, 3)
    x, weight = normal(*shape[:3], shape[3] * larger[0], shape[4] * larger[1]), normal(*filters)
    want = None
    before = _kernels.simd_level(), _kernels.threads()
    try:
        for level in _kernels.simd_levels()[1:]:
            for threads in (1, 2, 5):
                _kernels.use_simd_level(level)
                _kernels.use_threads(threads)
                sizes = reference(x[:1, :, :, :, :], weight, *rest).shape
                out = np.empty((x.shape[0], *sizes[1:]), np.float32)
                _kernels.convolve(x, weight, None, out, *rest)
                want = out if want is None else want
                np.testing.assert_array_equal(out.view(np.uint32), want.view(np.uint32))
    finally:
        _kernels.use_simd_level(before[0])
        _kernels.use_threads(before[1])


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("case", ["3x3", "depthwise, stride 2"])
def test_nan_and_infinities_reach_what_meets_them_and_nothing_else(case: str) -> None:
    shape, filters, *rest = CASES[case]
    x, weight = normal(*shape), normal(*filters)
    for value in (np.nan, np.inf):
        x[0, 1, 0, 4, 5] = value
        want = reference(x, weight, *rest)
        out = np.empty(want.shape, np.float32)
        _kernels.convolve(x, weight, None, out, *rest)
        finite = np.isfinite(want)
        assert 0 < np.count_nonzero(~finite) < want.size
        np.testing.assert_array_equal(out[~finite], want[~finite])
        np.testing.assert_allclose(out[finite], want[finite], rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("level")
def test_padding_is_a_zero_that_is_multiplied() -> None:
    x, weight = np.ones((1, 1, 1, 2, 2), np.float32), np.full((5, 1, 1, 2, 2), np.inf, np.float32)
    out = np.empty((1, 5, 1, 3, 3), np.float32)
    _kernels.convolve(x, weight, None, out, (1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 1)
    assert np.isnan(out[..., 0, 0]).all()
    assert (out[..., 1, 1] == np.inf).all()


@pytest.mark.usefixtures("level")
def test_a_half_result_is_rounded_once_and_may_overflow() -> None:
    x, weight = np.full((1, 8, 1, 1, 1), 256, np.float16), np.full((1, 8, 1, 1, 1), 256, np.float16)
    for to, want in ((np.float16, np.inf), (np.float32, 8 * 65536)):
        out = np.empty((1, 1, 1, 1, 1), to)
        _kernels.convolve(x, weight, None, out, (1, 1, 1), (1, 1, 1), NO_PADS, 1)
        assert out[0, 0, 0, 0, 0] == want
    small = np.array([1, 2.0**-11, 2.0**-14], np.float16).reshape(1, 3, 1, 1, 1)
    out = np.empty((1, 1, 1, 1, 1), np.float16)
    _kernels.convolve(small, np.ones_like(small), None, out, (1, 1, 1), (1, 1, 1), NO_PADS, 1)
    assert out[0, 0, 0, 0, 0] == 1 + 2.0**-10


@pytest.mark.parametrize(
    ("x", "filters", "out"),
    [((0, 3, 1, 4, 4), (2, 3, 1, 2, 2), (0, 2, 1, 3, 3)), ((1, 3, 1, 4, 4), (0, 3, 1, 2, 2), (1, 0, 1, 3, 3))],
)
def test_empty_results(x: Three, filters: Three, out: Three) -> None:
    _kernels.convolve(normal(*x), normal(*filters), None, np.empty(out, np.float32), (1, 1, 1), (1, 1, 1), NO_PADS, 1)


def test_no_channels_give_the_bias() -> None:
    out = np.empty((2, 3, 1, 3, 3), np.float32)
    x, weight = np.empty((2, 0, 1, 4, 4), np.float32), np.empty((3, 0, 1, 2, 2), np.float32)
    for bias in (None, np.array([1, 2, 3], np.float32)):
        _kernels.convolve(x, weight, bias, out, (1, 1, 1), (1, 1, 1), NO_PADS, 1)
        each = np.zeros((1, 1, 1, 1)) if bias is None else bias.reshape(-1, 1, 1, 1)
        np.testing.assert_array_equal(out, np.broadcast_to(each, out.shape))


def test_strided_and_overlapping_arrays() -> None:
    x, weight = normal(2, 4, 1, 6, 6), normal(4, 4, 1, 3, 3)
    rest = ((1, 1, 1), (1, 1, 1), (0, 0, 1, 1, 1, 1), 1)
    want = reference(x, weight, *rest)
    wide = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    out = np.empty(want.shape, np.float32)
    _kernels.convolve(np.moveaxis(wide, -1, 1), weight[::-1][::-1], None, out, *rest)
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
    _kernels.convolve(x, weight, None, x, *rest)
    np.testing.assert_allclose(x, want, rtol=1e-5, atol=1e-5)


GOOD: dict[str, Any] = {
    "x": np.zeros((1, 4, 1, 3, 3), np.float32), "filter": np.zeros((2, 2, 1, 2, 2), np.float32), "bias": None,
    "out": np.zeros((1, 2, 1, 2, 2), np.float32), "strides": (1, 1, 1), "dilations": (1, 1, 1), "pads": NO_PADS, "groups": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("x", np.zeros((1, 4, 1, 3, 3)), r"convolve\(\): x has dtype float64; allowed: float16, bfloat16, float32"),
        ("x", np.zeros((1, 4, 3, 3), np.float32), r"convolve\(\): x has shape \(1, 4, 3, 3\); allowed: five dims"),
        ("filter", np.zeros((2, 2, 1, 2, 2), np.float16), r"convolve\(\): filter has dtype float16; allowed: the dtype of x"),
        ("filter", np.zeros((2, 3, 1, 2, 2), np.float32), r"convolve\(\): filter has shape"),
        ("groups", 3, r"convolve\(\): filter has shape"),
        ("groups", 0, r"convolve\(\): filter has shape"),
        ("bias", np.zeros(3, np.float32), r"convolve\(\): bias has shape \(3,\); allowed: one element for each filter"),
        ("bias", np.zeros(2), r"convolve\(\): bias has dtype float64; allowed: float32"),
        ("out", np.zeros((1, 2, 1, 2, 3), np.float32), r"convolve\(\): out has shape"),
        ("out", np.zeros((1, 2, 1, 2, 2), np.float16), r"convolve\(\): out has dtype float16; allowed: the dtype of x"),
        ("strides", (1, 0, 1), r"convolve\(\): strides = \(1, 0, 1\); allowed: 3 numbers, each 1 or more"),
        ("dilations", (1, 1), r"convolve\(\): dilations = \(1, 1\); allowed: 3 numbers"),
        ("dilations", (1, 3, 1), r"convolve\(\): out has shape"),
        ("pads", (0, 0, -1, 0, 0, 0), r"convolve\(\): pads = .*; allowed: 6 numbers, each 0 or more"),
    ],
)
def test_refusals_name_the_argument(name: str, value: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        _kernels.convolve(*{**GOOD, name: value}.values())
