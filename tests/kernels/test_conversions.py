"""Casts are bit for bit what NumPy and ml_dtypes give where they round once, and exact arithmetic says the rest."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from hostacl import _kernels

pytestmark = pytest.mark.usefixtures("level")

BF16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BF16]
INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
Array = NDArray[Any]


def cast(x: Array, dtype: Any, saturate: bool = False) -> Array:
    out = np.empty(x.shape, dtype)
    _kernels.convert(x, out, saturate)
    return out


def same_bits(got: Array, want: Array) -> None:
    """Equal bits, but any NaN for a NaN."""
    nan = np.isnan(want.astype(np.float64))
    assert np.isnan(got.astype(np.float64))[nan].all()
    bits = np.dtype(f"u{got.itemsize}")
    np.testing.assert_array_equal(got.view(bits)[~nan], want.view(bits)[~nan])


def every_half(dtype: Any) -> Array:
    return np.arange(65536, dtype=np.uint16).view(dtype)


def float_samples() -> NDArray[np.float32]:
    """Floats of every exponent, the halfway points of both half types and their neighbours."""
    rng = np.random.default_rng(1)
    random = rng.integers(0, 2**32, 200_003, dtype=np.uint64).astype(np.uint32)
    near = np.float32(2) ** rng.uniform(-27, 17, 50_000).astype(np.float32)
    bits = np.arange(0, 2**32, 2**13, dtype=np.uint64)
    neighbours = np.concatenate([bits + 0x0FFF, bits + 0x1000, bits + 0x1001, bits + 0x7FFF, bits]).astype(np.uint32)
    return np.concatenate([random.view(np.float32), near, -near, neighbours.view(np.float32)])


def nearest(value: float, dtype: Any) -> Array:
    """The element of a half type nearest to a finite value, ties to even, by exact arithmetic over all elements."""
    every = every_half(dtype)
    wide = every.astype(np.float64)
    finite = np.flatnonzero(np.isfinite(wide))
    top = Fraction(float(wide[finite].max()))
    step = top - Fraction(float(np.unique(wide[finite])[-2]))
    if abs(Fraction(value)) >= top + step / 2:
        return np.array(np.copysign(np.inf, value)).astype(dtype)
    sign = finite[np.signbit(wide[finite]) == np.signbit(value)]
    close = sign[np.argsort(np.abs(wide[sign] - value))[:4]]
    return np.array(every[min(close, key=lambda i: (abs(Fraction(float(wide[i])) - Fraction(value)), i & 1))])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("to", [np.float32, np.float64])
def test_every_half_widens_exactly(dtype: Any, to: Any) -> None:
    x = every_half(dtype)
    same_bits(cast(x, to), x.astype(to))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_float32_rounds_to_nearest_even(dtype: Any) -> None:
    x = float_samples()
    same_bits(cast(x, dtype), x.astype(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_half_survives_the_way_there_and_back(dtype: Any) -> None:
    x = every_half(dtype)
    same_bits(cast(cast(x, np.float32), dtype), x)
    same_bits(cast(cast(x, np.float64), dtype), x)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_nan_stays_a_quiet_nan_with_its_sign(dtype: Any) -> None:
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF812345, 0x7FFFFFFF, 0xFFFFFFFF] * 5, np.uint32)
    got = cast(bits.view(np.float32), dtype)
    assert np.isnan(got.astype(np.float32)).all()
    np.testing.assert_array_equal(got.view(np.uint16) >> 15, bits >> 31)
    assert (got.view(np.uint16) & (0x200 if dtype == np.float16 else 0x40)).all()


def test_float64_to_float16_rounds_once() -> None:
    rng = np.random.default_rng(2)
    ties = (np.arange(2048, 4096, dtype=np.float64) + 0.5) / 4096
    edges = [65519.99999999, 65520.0, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan]
    x = np.concatenate([ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), rng.standard_normal(5001), -ties * 2.0**-14,
                        ties * 2.0**-14 * (1 + 2.0**-50), edges])
    same_bits(cast(x, np.float16), x.astype(np.float16))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_float64_next_to_a_tie_rounds_by_exact_arithmetic(dtype: Any) -> None:
    every = np.sort(every_half(dtype)[:0x7C00 if dtype == np.float16 else 0x7F80].astype(np.float64))
    middle = (every[:-1] + every[1:])[::997] / 2
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), -middle])
    same_bits(cast(x, dtype), np.array([nearest(v, dtype) for v in x], dtype))


def test_int64_to_bfloat16_rounds_once() -> None:
    tie = 2**62 + 2**54
    x = np.array([tie + 1, tie, 2**62 + 3 * 2**54 - 1, -tie - 1, -tie, 257, 258, 259, -7])
    want = np.array([nearest_integer(int(v)) for v in x])
    np.testing.assert_array_equal(cast(x, BF16).astype(np.float64), want)
    np.testing.assert_array_equal(cast(x[4:5].astype(np.uint64), BF16).astype(np.float64), nearest_integer(int(x[4]) + 2**64))


def nearest_integer(v: int) -> float:
    """v with 8 significant bits, ties to even."""
    shift = max(abs(v).bit_length() - 8, 0)
    return float(np.copysign(round(Fraction(abs(v), 1 << shift)) << shift, v))


@pytest.mark.parametrize("source", [np.dtype(bool), *INTEGERS], ids=str)
@pytest.mark.parametrize("to", [*HALVES, np.dtype(np.float32), np.dtype(np.float64)], ids=str)
def test_integers_become_floats(source: Any, to: Any) -> None:
    x = np.arange(-130, 131).astype(source)
    want = x.astype(np.float32).astype(to) if to in HALVES else x.astype(to)
    np.testing.assert_array_equal(cast(x, to).astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("source", [*HALVES, np.dtype(np.float32), np.dtype(np.float64)], ids=str)
@pytest.mark.parametrize("to", INTEGERS, ids=str)
def test_floats_become_integers_toward_zero_within_bounds(source: Any, to: Any) -> None:
    powers = [sign * 2.0**k for k in (31, 32, 63, 64) for sign in (1, -1)]
    edges = [0.5, -0.5, 1.5, -1.5, 126.7, 127.5, -128.5, 255.9, 256.0, 32767.5, *powers]
    x = np.array([*edges, 1e30, -1e30, np.inf, -np.inf, np.nan, -0.0] * 3).astype(source)
    lowest, highest = int(np.iinfo(to).min), int(np.iinfo(to).max)
    finite = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
    want = [min(max(int(v), lowest), highest) for v in finite]
    np.testing.assert_array_equal(cast(x, to), np.array(want, dtype=to))


@pytest.mark.parametrize("source", [*HALVES, np.dtype(np.float32), np.dtype(np.float64)], ids=str)
def test_to_bool_is_not_equal_to_zero(source: Any) -> None:
    x = np.array([0.0, -0.0, 0.25, np.nan, np.inf, -3.0], source)
    np.testing.assert_array_equal(cast(x, np.bool_), [False, False, True, True, True, True])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_saturate_keeps_the_result_finite(dtype: Any, source: Any) -> None:
    top = 65504.0 if dtype == np.float16 else float.fromhex("0x1.fep127")
    x = np.array([np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, top, -top, 1.0, -0.0] * 3, source)
    want = np.array([top, -top, 0, top, -top, top, -top, 1, -0.0] * 3)
    if dtype == np.float16:
        x = np.append(x, [65519, 65520, 1e6]).astype(source)
        want = np.append(want, [top, top, top])
    np.testing.assert_array_equal(cast(x, dtype, True).astype(np.float64), want)


@pytest.mark.parametrize("n", [0, 1, 3, 15, 16, 17, 31, 255, 256, 257, 1000])
def test_every_length(n: int) -> None:
    x = np.linspace(-3, 3, n, dtype=np.float32)
    for dtype in HALVES:
        same_bits(cast(x, dtype), x.astype(dtype))
        same_bits(cast(x.astype(dtype), np.float32), x.astype(dtype).astype(np.float32))
        np.testing.assert_array_equal(cast(x.astype(dtype), np.int8), x.astype(dtype).astype(np.float32).astype(np.int8))


def test_strided_and_broadcast_and_overlapping() -> None:
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    np.testing.assert_array_equal(cast(x.T[:, ::-1], np.float16), x.T[:, ::-1].astype(np.float16))
    out = np.zeros((3, 8, 5), np.float16)
    _kernels.convert(x[:, :1], out[:, ::2])
    np.testing.assert_array_equal(out[:, ::2], np.broadcast_to(x[:, :1], (3, 4, 5)))
    assert not out[:, 1::2].any()
    memory = np.arange(64, dtype=np.float32)
    _kernels.convert(memory, memory.view(np.float16)[:64])
    np.testing.assert_array_equal(memory.view(np.float16)[:64], np.arange(64))


@pytest.mark.parametrize("values", [np.uint8, np.float16, np.float32, np.float64])
def test_table_lookup(values: Any) -> None:
    table = np.random.default_rng(3).integers(0, 200, 65536).astype(values)
    x = np.random.default_rng(4).integers(0, 65536, (33, 31)).astype(np.uint16)
    out = np.empty(x.shape, values)
    for view in (x, x.view(np.float16), x.view(BF16)):
        _kernels.table_lookup(view, table, out)
        np.testing.assert_array_equal(out, table[x])
    _kernels.table_lookup(x.T, table, out.T)
    np.testing.assert_array_equal(out, table[x])


def test_refusals_name_the_argument() -> None:
    x = np.zeros(3, np.float16)
    with pytest.raises(TypeError, match=r"convert\(\): out has dtype int32; allowed: a float dtype when x is bool or integer"):
        _kernels.convert(np.zeros(3, np.int32), np.zeros(3, np.int32))
    with pytest.raises(TypeError, match=r"x has dtype complex64"):
        _kernels.convert(np.zeros(3, np.complex64), x)
    with pytest.raises(TypeError, match=r"x has dtype >f4"):
        _kernels.convert(np.zeros(3, ">f4"), x)
    with pytest.raises(TypeError, match=r"x is a list"):
        _kernels.convert([1.0], x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"x has shape \(4,\)"):
        _kernels.convert(np.zeros(4, np.float32), x)
    x.flags.writeable = False
    with pytest.raises(ValueError, match=r"out is read-only"):
        _kernels.convert(np.zeros(3, np.float32), x)
    with pytest.raises(ValueError, match=r"table has shape \(65535,\)"):
        _kernels.table_lookup(x, np.zeros(65535, np.float16), np.zeros(3, np.float16))
