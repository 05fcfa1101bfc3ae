"""Element-wise operators against float32 arithmetic of NumPy, rounded once."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from hostacl import _kernels

pytestmark = pytest.mark.usefixtures("level")

Array = NDArray[Any]
FLOATS = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.float64)]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
UNARY: dict[str, Callable[[Array], Array]] = {
    "absolute": np.abs, "negative": np.negative, "relu": lambda x: np.maximum(x, 0), "sqrt": np.sqrt,
    "reciprocal": lambda x: 1 / x, "square": np.square, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
GUARDED: dict[str, Callable[[Array, Array], Array]] = {
    "divide_no_nan": lambda a, b: np.where(b == 0, a.dtype.type(0), a / b),
    "xdivy": lambda a, b: np.where(a == 0, a.dtype.type(0), a / b),
    "multiply_no_nan": lambda a, b: np.where(b == 0, a.dtype.type(0), a * b),
    "floor_divide": lambda a, b: np.floor(a / b),
    "remainder": np.fmod,
    "floor_remainder": np.mod,
}
FUSED: dict[str, Callable[[Array, Array, Array, Any], Array]] = {
    "add_product": lambda a, b, c, value: a + value * b * c,
    "add_quotient": lambda a, b, c, value: a + value * b / c,
    "interpolate": lambda a, b, c, value: a + c * (b - a),
    "clip": lambda a, b, c, value: np.minimum(np.maximum(a, b), c),
}
TESTS: dict[str, Callable[[Array], Array]] = {"is_finite": np.isfinite, "is_inf": np.isinf, "is_nan": np.isnan}


def wide(x: Array) -> Array:
    return x if x.dtype == np.float64 else x.astype(np.float32)


def samples(dtype: Any, n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(n).clip(-3, 3) * 4.0 ** rng.integers(-9, 8, n).clip(-9, 7)).astype(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], dtype)
    x[rng.integers(0, n, n // 4)] = rng.choice(special, n // 4)
    return x


def expect(function: Callable[..., Array], *arrays: Array, dtype: Any) -> Array:
    return function(*(wide(a) for a in arrays)).astype(dtype)


def check(got: Array, want: Array) -> None:
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: Any) -> None:
    for n in (1, 7, 16, 37, 1003):
        a, b = samples(dtype, n, 1), samples(dtype, n, 2)
        out = np.empty_like(a)
        getattr(_kernels, name)(a, b, out)
        check(out, expect(getattr(np, name), a, b, dtype=dtype))
        for x1, x2 in ((a[:1], b), (a, b[:1]), (a[:1], b[:1])):
            getattr(_kernels, name)(x1, x2, out)
            check(out, np.broadcast_to(expect(getattr(np, name), x1, x2, dtype=dtype), out.shape))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", GUARDED)
def test_guarded_division(name: str, dtype: Any) -> None:
    for n in (1, 16, 37, 1003):
        a, b = samples(dtype, n, 1), samples(dtype, n, 2)
        out = np.empty_like(a)
        for x1, x2 in ((a, b), (a[:1], b), (a, b[:1])):
            getattr(_kernels, name)(x1, x2, out)
            check(out, np.broadcast_to(expect(GUARDED[name], x1, x2, dtype=dtype), out.shape))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["remainder", "floor_remainder"])
def test_remainders_are_exact_for_any_bits(name: str, dtype: Any) -> None:
    """Quotients of all sizes, subnormal numbers and the signs of zeros."""
    bits, n = np.dtype(f"u{dtype.itemsize}"), 4099
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, np.iinfo(bits).max, n, bits, endpoint=True).view(dtype) for _ in range(2))
    near = samples(dtype, n, 4)
    for x1, x2 in ((a, b), (near, near[::-1].copy()), (near, near), ((near * dtype.type(3)).astype(dtype), near)):
        out = np.empty_like(x1)
        getattr(_kernels, name)(x1, x2, out)
        want = expect(GUARDED[name], x1, x2, dtype=dtype)
        check(out, want)
        np.testing.assert_array_equal(np.signbit(out)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUSED)
def test_three_tensors_and_a_number(name: str, dtype: Any) -> None:
    number = wide(np.zeros(1, dtype)).dtype.type(-1.25)
    for n in (1, 16, 37, 1003):
        a, b, c = (samples(dtype, n, seed) for seed in (1, 2, 3))
        out = np.empty_like(a)
        for x1, x2, x3 in ((a, b, c), (a, b[:1], c), (a[:1], b, c[:1]), (a[:1].reshape(()), b, c)):
            getattr(_kernels, name)(x1, x2, x3, -1.25, out)
            want = FUSED[name](*(wide(one) for one in (x1, x2, x3)), number)
            check(out, np.broadcast_to(np.asarray(want).astype(dtype), out.shape))
        table = np.empty((n, n), dtype)
        getattr(_kernels, name)(a[:, None], b, c[:, None], -1.25, table)
        check(table, FUSED[name](wide(a[:, None]), wide(b), wide(c[:, None]), number).astype(dtype))
        want = FUSED[name](wide(a), wide(b), wide(c), number).astype(dtype)
        getattr(_kernels, name)(a, b, c, -1.25, a)
        check(a, want)
    with pytest.raises(ValueError, match=rf"{name}\(\): x3 .*broadcasts"):
        getattr(_kernels, name)(b, b, c[:5], 1.0, out)
    with pytest.raises(TypeError, match=rf"{name}\(\): x2 has dtype int8; allowed: the dtype of out"):
        getattr(_kernels, name)(b, b.astype(np.int8), c, 1.0, out)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", COMPARE)
def test_compare(name: str, dtype: Any) -> None:
    for n in (1, 5, 16, 37, 1003):
        a, b = samples(dtype, n, 1), samples(dtype, n, 2)
        b[::3] = a[::3]
        out = np.full(n, 7, np.uint8).view(np.bool_)
        for x1, x2 in ((a, b), (a[:1], b), (a, b[:1])):
            getattr(_kernels, name)(x1, x2, out)
            want = np.broadcast_to(getattr(np, name)(wide(x1), wide(x2)), (n,)).astype(np.uint8)
            np.testing.assert_array_equal(out.view(np.uint8), want)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: Any) -> None:
    for n in (1, 16, 37, 1003):
        x = samples(dtype, n, 3)
        out = np.empty_like(x)
        getattr(_kernels, name)(x, out)
        check(out, expect(UNARY[name], x, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_adds_and_muls_take_a_float32_scalar(dtype: Any) -> None:
    x = samples(dtype, 103, 4)
    value = np.float64(0.1) if dtype == np.float64 else np.float32(0.1)
    out = np.empty_like(x)
    _kernels.adds(x, 0.1, out)
    check(out, expect(lambda v: v + value, x, dtype=dtype))
    _kernels.muls(x, 0.1, out)
    check(out, expect(lambda v: v * value, x, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.int64, np.complex128])
def test_select(dtype: Any) -> None:
    rng = np.random.default_rng(5)
    condition = rng.random((5, 67)) < 0.5
    a, b = rng.integers(0, 99, (5, 67)).astype(dtype), rng.integers(0, 99, (5, 1)).astype(dtype)
    out = np.empty_like(a)
    _kernels.select(condition, a, b, out)
    np.testing.assert_array_equal(out, np.where(condition, a, b))
    start = a.copy()
    _kernels.select(condition[:, :1], a, b, a)
    np.testing.assert_array_equal(a, np.where(condition[:, :1], start, b))


def test_exp_is_within_one_ulp() -> None:
    x = np.concatenate([np.linspace(-104, 89, 400_001), np.random.default_rng(6).standard_normal(100_000)]).astype(np.float32)
    out = np.empty_like(x)
    _kernels.exp(x, out)
    want = np.exp(x.astype(np.float64))
    unit = np.spacing(np.minimum(want, np.finfo(np.float32).max).astype(np.float32)).astype(np.float64)
    normal = want <= np.finfo(np.float32).max
    assert (np.abs(out[normal] - want[normal]) <= unit[normal]).all()
    assert np.isposinf(out[want > 3.41e38]).all()
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, -200.0, 200.0], np.float32)
    _kernels.exp(special, special)
    np.testing.assert_array_equal(special, np.array([np.nan, np.inf, 0, 1, 1, 0, np.inf], np.float32))


SHAPES = [((), (), ()), ((3,), (), (3,)), ((2, 3), (3,), (2, 3)), ((2, 1, 5), (4, 1), (2, 4, 5)), ((0, 3), (1, 3), (0, 3)),
          ((4, 33, 7), (33, 1), (4, 33, 7)), ((1, 1), (1,), (1, 1)), ((5, 70_000), (5, 1), (5, 70_000))]


@pytest.mark.parametrize(("left", "right", "result"), SHAPES)
def test_broadcasting(left: Any, right: Any, result: Any) -> None:
    a = np.random.default_rng(7).standard_normal(left).astype(np.float16)
    b = np.asarray(np.random.default_rng(8).standard_normal(right)).astype(np.float16)
    out = np.empty(result, np.float16)
    _kernels.add(a, b, out)
    check(out, expect(np.add, a, b, dtype=np.float16))


def test_any_strides() -> None:
    a = np.random.default_rng(9).standard_normal((6, 8, 10)).astype(np.float16)
    memory = np.zeros((10, 16, 6), np.float16)
    out = memory[::-1, ::2]
    _kernels.multiply(a.T, a[::-1].T, out)
    check(out, expect(np.multiply, a.T, a[::-1].T, dtype=np.float16))
    assert not memory[:, 1::2].any()
    row = np.empty((6, 8, 10), np.float16)
    _kernels.square(a[:, ::-1], row)
    check(row, expect(np.square, a[:, ::-1], dtype=np.float16))
    _kernels.square(a[:, :, :1], row)
    check(row, np.broadcast_to(expect(np.square, a[:, :, :1], dtype=np.float16), row.shape))


def test_in_place_and_shifted_overlap() -> None:
    start = np.arange(1, 200, dtype=np.float32)
    x = start.copy()
    _kernels.add(x, x, x)
    np.testing.assert_array_equal(x, start * 2)
    for to, of in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        x = start.copy()
        _kernels.multiply(x[of], x[of], x[to])
        np.testing.assert_array_equal(x[to], start[of] ** 2)
    x = start.copy()
    _kernels.add(x, x[5:6], x)
    np.testing.assert_array_equal(x, start + 6)


def test_levels_give_the_same_bits(level: str) -> None:
    x = samples(np.float32, 4099, 10)
    got, want = np.empty_like(x), np.empty_like(x)
    _kernels.exp(x, got)
    _kernels.use_simd_level("scalar")
    _kernels.exp(x, want)
    np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))


def test_refusals_name_the_argument() -> None:
    x = np.zeros(3, np.float16)
    with pytest.raises(TypeError, match=r"add\(\): x1 has dtype int32; allowed: float16, bfloat16, float32, float64"):
        _kernels.add(np.zeros(3, np.int32), x, x)
    with pytest.raises(TypeError, match=r"add\(\): x2 has dtype float32; allowed: the dtype of x1"):
        _kernels.add(x, np.zeros(3, np.float32), x)
    with pytest.raises(TypeError, match=r"less\(\): out has dtype float16; allowed: bool"):
        _kernels.less(x, x, x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"x2 has shape \(2,\)"):
        _kernels.add(x, x[:2], x)
    with pytest.raises(ValueError, match=r"x1 has shape \(1, 3\)"):
        _kernels.add(x[None], x, x)
    with pytest.raises(TypeError, match=r"exp\(\): x has dtype float64"):
        _kernels.exp(np.zeros(2), np.zeros(2))
    with pytest.raises(TypeError, match=r"takes 3 to 3 positional arguments, 2 were given"):
        _kernels.add(x, x)  # type: ignore[call-arg]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", TESTS)
def test_tests_for_what_is_no_number(name: str, dtype: Any) -> None:
    for n in (1, 37, 70000):
        x, out = samples(dtype, n, n), np.empty(n, np.bool_)
        x[::5] = np.array(65504 if dtype.itemsize == 2 else np.finfo(np.float32).max).astype(dtype)
        getattr(_kernels, name)(x, out)
        np.testing.assert_array_equal(out, TESTS[name](x.astype(np.float64)))
        getattr(_kernels, name)(x[::-2], out[: x[::-2].size])
        np.testing.assert_array_equal(out[: x[::-2].size], TESTS[name](x[::-2].astype(np.float64)))
    with pytest.raises(TypeError, match=rf"{name}\(\): out has dtype uint8; allowed: bool"):
        getattr(_kernels, name)(x, out.view(np.uint8))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("ufunc", [np.power, np.arctan2, np.logaddexp, np.exp, np.hypot])
def test_functions_of_numpy_on_halves(ufunc: np.ufunc, dtype: Any) -> None:
    assert _kernels.has_float_loop(ufunc)
    for n in (1, 1500, 70000):
        arrays = [np.abs(samples(dtype, n, n + place)) for place in range(ufunc.nin)]
        out = np.empty(n, dtype)
        _kernels.widened(ufunc, *arrays, out)
        check(out, expect(ufunc, *arrays, dtype=dtype))
    columns, row, out = np.abs(samples(dtype, 60, 1)).reshape(60, 1), np.abs(samples(dtype, 40, 2)), np.empty((60, 40), dtype)
    if ufunc.nin == 2:
        _kernels.widened(ufunc, columns, row[::-1], out)
        check(out, expect(ufunc, columns, row[::-1], dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_a_function_of_numpy_times_a_factor(dtype: Any) -> None:
    for n in (1, 1500, 70000):
        x, factor, out = samples(dtype, n, n), samples(dtype, n, n + 1), np.empty(n, dtype)
        _kernels.widened_times(np.log, x, factor, out)
        check(out, expect(lambda a, b: np.where(b == 0, np.float32(0), np.log(a) * b), x, factor, dtype=dtype))
        _kernels.widened_times(np.log, x, factor[:1], out)
        check(out, expect(lambda a, b: np.where(b == 0, np.float32(0), np.log(a) * b), x, factor[:1], dtype=dtype))


def test_functions_of_numpy_without_a_float_loop() -> None:
    x = np.ones(3, np.float16)
    for wrong in (np.bitwise_and, np.divmod, np.clip, len, x):
        assert not _kernels.has_float_loop(wrong)
        with pytest.raises(TypeError, match=r"widened\(\): ufunc = .*allowed: one with a float32 loop"):
            _kernels.widened(wrong, x, x, x)
    with pytest.raises(TypeError, match=r"widened\(\) takes 4 to 4"):
        _kernels.widened(np.power, x, x)
    with pytest.raises(TypeError, match=r"widened\(\): out has dtype float32; allowed: float16, bfloat16"):
        _kernels.widened(np.exp, x, x.astype(np.float32))
    with pytest.raises(ValueError, match=r"widened\(\): x2 has shape"):
        _kernels.widened(np.power, x, np.ones(2, np.float16), np.empty(3, np.float16))
