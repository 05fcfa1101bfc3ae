"""Native loops over NumPy arrays: half conversions, element-wise operators, row reductions, copies between layouts.

Every function takes positional ndarrays (any strides unless said otherwise, native byte order), writes its last array in
place and returns None; none warns or reads `np.errstate`. It works for every layout and every overlap: an input that
overlaps the output other than exactly in place is copied first. Inputs broadcast to the output's shape, which is given,
never grown.

"floats" below are float16, bfloat16, float32 and float64, all arrays of one call of one dtype. The half types are widened
to float32, computed and rounded once to nearest even. Results do not depend on the SIMD level (but see convolve, softmax)
or the number of threads.

TypeError: not an ndarray, a dtype the function does not take, dtypes that differ. ValueError: shapes that do not fit, a
read-only output. Calls of 64 Ki elements and more release Python's lock; from 256 Ki on they use the thread pool.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[Any]
_Bool = NDArray[np.bool_]
_Float32 = NDArray[np.float32]

def simd_level() -> str:
    """The level in use: scalar, avx2, avx512 or neon."""

def simd_levels() -> tuple[str, ...]:
    """The levels this machine can run, slowest first."""

def use_simd_level(name: str, /) -> str:
    """Switches to a level of `simd_levels()` and gives the previous one; ValueError for another name."""

def threads() -> int:
    """The number of threads a large call may use: HOSTACL_THREADS, else the CPUs this process may run on."""

def use_threads(count: int, /) -> int:
    """Sets that number (1 to 256) for later calls and gives the previous one."""

def convert(x: _Array, out: _Array, saturate: bool = False, /) -> None:
    """Casts x into out, with one rounding to nearest even when out is a float type.

    Pairs: float to float, float to bool or integer, bool or integer to float (integer to integer is NumPy's business:
    TypeError). To an integer: toward zero, NaN gives 0, a value out of range the nearest bound (our choice). To bool:
    x != 0. A NaN stays a NaN with its sign and upper payload bits, quiet in a half type. saturate (out float16 or
    bfloat16): a value out of range, finite or not, gives the largest finite one of its sign and NaN gives 0, as devices
    without Inf/NaN do.
    """

# Binary: (x1, x2, out), floats.
def add(x1: _Array, x2: _Array, out: _Array, /) -> None: ...
def subtract(x1: _Array, x2: _Array, out: _Array, /) -> None: ...
def multiply(x1: _Array, x2: _Array, out: _Array, /) -> None: ...
def divide(x1: _Array, x2: _Array, out: _Array, /) -> None: ...
def maximum(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """The larger element; NaN when either is NaN, as np.maximum."""

def minimum(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """The smaller element; NaN when either is NaN, as np.minimum."""

def divide_no_nan(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """x1 / x2, and 0 where x2 is 0."""

def xdivy(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """x1 / x2, and 0 where x1 is 0."""

def multiply_no_nan(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """x1 * x2, and 0 where x2 is 0."""

def floor_divide(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """The largest integer not above x1 / x2, which is rounded first."""

def remainder(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """What is left of x1 / x2 cut off, exactly, as np.fmod."""

def floor_remainder(x1: _Array, x2: _Array, out: _Array, /) -> None:
    """What is left of x1 / x2 rounded down, as np.mod."""

# Three tensors and a number, floats: (x1, x2, x3, value, out).
def add_product(x1: _Array, x2: _Array, x3: _Array, value: float, out: _Array, /) -> None:
    """x1 + value * x2 * x3, from left to right."""

def add_quotient(x1: _Array, x2: _Array, x3: _Array, value: float, out: _Array, /) -> None:
    """x1 + value * x2 / x3, from left to right."""

def interpolate(x1: _Array, x2: _Array, x3: _Array, value: float, out: _Array, /) -> None:
    """x1 + x3 * (x2 - x1); value does not count."""

def clip(x1: _Array, x2: _Array, x3: _Array, value: float, out: _Array, /) -> None:
    """minimum(maximum(x1, x2), x3); value does not count."""

# Tests: (x, out), floats to bool.
def is_finite(x: _Array, out: _Bool, /) -> None: ...
def is_inf(x: _Array, out: _Bool, /) -> None: ...
def is_nan(x: _Array, out: _Bool, /) -> None: ...

# NumPy's own functions on halves.
def has_float_loop(ufunc: object, /) -> bool:
    """Whether `widened` takes it: a numpy.ufunc of one or two inputs and one output with a loop of float32."""

def widened(ufunc: object, /, *arrays: _Array) -> None:
    """ufunc of one or two halves into out, the last array, by NumPy's float32 loop, rounded once; TypeError without one."""

def widened_times(ufunc: object, /, *arrays: _Array) -> None:
    """The same times a factor, the array before the last, and 0 where the factor is 0."""

# Comparisons: (x1, x2, out), floats to bool.
def equal(x1: _Array, x2: _Array, out: _Bool, /) -> None: ...
def not_equal(x1: _Array, x2: _Array, out: _Bool, /) -> None: ...
def less(x1: _Array, x2: _Array, out: _Bool, /) -> None: ...
def less_equal(x1: _Array, x2: _Array, out: _Bool, /) -> None: ...
def greater(x1: _Array, x2: _Array, out: _Bool, /) -> None: ...
def greater_equal(x1: _Array, x2: _Array, out: _Bool, /) -> None: ...

# Unary: (x, out), floats.
def absolute(x: _Array, out: _Array, /) -> None: ...
def negative(x: _Array, out: _Array, /) -> None: ...
def relu(x: _Array, out: _Array, /) -> None:
    """x where x > 0, NaN where x is NaN, else +0."""

def sqrt(x: _Array, out: _Array, /) -> None: ...
def reciprocal(x: _Array, out: _Array, /) -> None: ...
def square(x: _Array, out: _Array, /) -> None: ...
def floor(x: _Array, out: _Array, /) -> None: ...
def ceil(x: _Array, out: _Array, /) -> None: ...
def trunc(x: _Array, out: _Array, /) -> None: ...
def rint(x: _Array, out: _Array, /) -> None:
    """To the nearest integer, halves to even."""

def rsqrt(x: _Array, out: _Array, /) -> None:
    """1 / sqrt(x), each rounded."""

def exp(x: _Array, out: _Array, /) -> None:
    """e to the x within 1 ulp of float32 (before the one rounding of half types); not for float64."""

def adds(x: _Array, value: float, out: _Array, /) -> None:
    """x + value; value is taken as float32 (float64 for a float64 x)."""

def muls(x: _Array, value: float, out: _Array, /) -> None:
    """x * value; value is taken as float32 (float64 for a float64 x)."""

def select(condition: _Bool, x1: _Array, x2: _Array, out: _Array, /) -> None:
    """x1 where condition, else x2; every dtype of 1, 2, 4, 8 or 16 bytes."""

def table_lookup(x: _Array, table: _Array, out: _Array, /) -> None:
    """table[bits of x]: any function of one 16-bit element, tabulated once.

    x has 2-byte elements of any dtype; table is contiguous with 65,536 elements of out's dtype (1, 2, 4 or 8 bytes).
    """

# Rows: the last axis of x, float16, bfloat16 or float32 (copied first when it is not C-contiguous). Sums run in blocks of
# 1,024 elements in float32, and the blocks are added in float64.
def softmax(x: _Array, out: _Array, /) -> None:
    """exp(x - max) / sum over the last axis; out contiguous, of x's shape, of x's dtype or float32.

    Here and in log_softmax the last bits of the scalar level may differ from the others'.
    """

def log_softmax(x: _Array, out: _Array, /) -> None:
    """x - max - log(sum(exp(x - max))) over the last axis; out as for softmax."""

def normalise_rows(
    x: _Array, gamma: _Float32 | None, beta: _Float32 | None, out: _Array, epsilon: float, mean: _Float32 | None,
    second: _Float32 | None, centred: bool, inverse: bool, /,
) -> None:
    """(x - mean)/√(variance + epsilon)·gamma + beta over the last axis, which is not empty; out as for softmax.

    Not centred: x/√(mean of squares + epsilon)·gamma + beta. mean and second are written, one element a row: second is the
    variance (mean of squares), or with ``inverse`` 1/√(that + epsilon).
    """

def row_sum(x: _Array, out: _Float32, /) -> None:
    """Sums over the last axis. out, here and below, is contiguous float32 with one element a row, of any shape."""

def row_sum_of_squares(x: _Array, out: _Float32, /) -> None:
    """Sums of squares over the last axis."""

def row_max(x: _Array, out: _Float32, /) -> None:
    """Largest elements over the last axis, NaN when there is one; ValueError when the axis is empty."""

def row_moments(x: _Array, mean: _Float32, variance: _Float32, /) -> None:
    """Mean and population variance (of centred values) over the last axis; ValueError when the axis is empty."""

# Lines: the middle one of x's three axes (before, along, after), float16, bfloat16 or float32 (running ones float64 too); out
# is contiguous. Nothing is widened as a whole.
def axis_sum(x: _Array, out: _Array, divisor: float = 1.0, /) -> None:
    """Sums over the middle axis, divided: runs in float32, the runs in float64, rounded once to any of the three types."""

def axis_product(x: _Array, out: _Array, /) -> None:
    """Products over the middle axis in float64, rounded once to any of the three types."""

def axis_max(x: _Array, out: _Array, /) -> None:
    """Largest elements over the middle axis, NaN when there is one; ValueError when it is empty."""

def axis_min(x: _Array, out: _Array, /) -> None:
    """Smallest elements over the middle axis, NaN when there is one; ValueError when it is empty."""

def axis_argmax(x: _Array, out: NDArray[np.int64], /) -> None:
    """Where the first largest element of each line is, a NaN being the largest."""

def axis_argmin(x: _Array, out: NDArray[np.int64], /) -> None:
    """Where the first smallest element of each line is, a NaN being the smallest."""

def axis_squares(x: _Array, centre: _Array | None, out: NDArray[np.float64], /) -> None:
    """Σ (x - centre)² of each line of float32 or halves, in float32 runs that are added in float64.

    centre: one float32 a line, or of x's shape and dtype; None is 0.
    """

def axis_exponentials(x: _Array, centre: _Array | None, out: NDArray[np.float64], /) -> None:
    """Σ e^(x - centre) likewise."""

def running_sum(x: _Array, out: _Array, exclusive: bool, reverse: bool, /) -> None:
    """Running sums along the middle axis: halves in float32, else in float64; out has x's shape and dtype, may be x."""

def running_product(x: _Array, out: _Array, exclusive: bool, reverse: bool, /) -> None:
    """Running products along the middle axis: halves in float32, else in float64; out has x's shape and dtype, may be x."""

def running_max(x: _Array, values: _Array, places: NDArray[np.int64], /) -> None:
    """The largest so far along the middle axis and its last place; from a NaN on NaN and the last one's place. Not float64."""

def running_min(x: _Array, values: _Array, places: NDArray[np.int64], /) -> None:
    """The smallest so far along the middle axis and its last place; from a NaN on NaN and the last one's place. Not float64."""

# Scatters: out = target, then changed by updates, one after the other. out is contiguous, of target's shape and dtype, or
# float32 or float64 for a narrower float; it may be target. float32, float64 (floats into them), halves (in float32, rounded
# once at the end; no products) and integers, which wrap.
# Numbers, int32 or int64, count from the end when negative; one out of range is an IndexError, and nothing was written.
# All give True.
def scatter_add(
    target: _Array, rows: _Array, updates: _Array, out: _Array, limit: int = 0, apart: bool = False, /
) -> bool:
    """Rows of updates (one for each number in rows) added to rows of target (rows x width, or as many of these as there are).

    limit (up to 254, 0: none): False, and nothing is written, where a row gets more updates than that. ``apart``: those of such
    rows are added in float64 and rounded once instead, where out has target's dtype and a width of 8 or more.
    """

def scatter_subtract(
    target: _Array, rows: _Array, updates: _Array, out: _Array, limit: int = 0, apart: bool = False, /
) -> bool: ...
def scatter_multiply(target: _Array, rows: _Array, updates: _Array, out: _Array, /) -> bool: ...
def scatter_max(target: _Array, rows: _Array, updates: _Array, out: _Array, /) -> bool:
    """The larger, NaN when one is."""

def scatter_min(target: _Array, rows: _Array, updates: _Array, out: _Array, /) -> bool:
    """The smaller, NaN when one is."""

def scatter_assign(target: _Array, rows: _Array, updates: _Array, out: _Array, /) -> bool:
    """The updates' bytes, of any dtype; of several for one row the last wins."""

def elements_add(target: _Array, indices: _Array, updates: _Array, axis: int, out: _Array, limit: int = 0, /) -> bool:
    """The same element by element: each of updates (of the shape of indices) at its own coordinates, but for the axis."""

def elements_subtract(target: _Array, indices: _Array, updates: _Array, axis: int, out: _Array, limit: int = 0, /) -> bool: ...
def elements_multiply(target: _Array, indices: _Array, updates: _Array, axis: int, out: _Array, /) -> bool: ...
def elements_max(target: _Array, indices: _Array, updates: _Array, axis: int, out: _Array, /) -> bool: ...
def elements_min(target: _Array, indices: _Array, updates: _Array, axis: int, out: _Array, /) -> bool: ...
def elements_assign(target: _Array, indices: _Array, updates: _Array, axis: int, out: _Array, /) -> bool: ...

# Convolutions.
def convolve(
    x: _Array, filter: _Array, bias: _Float32 | None, out: _Array, strides: Sequence[int], dilations: Sequence[int],
    pads: Sequence[int], groups: int, /,
) -> None:
    """Grouped cross-correlation of images (N, C, D, H, W) with filters (O, C/groups, kd, kh, kw), plus a bias for each filter.

    x and filter are float16, bfloat16 or float32, out (contiguous) is of their dtype or float32. Strides and dilations are
    three numbers, pads six (before and after along D, H and W). Products are added up in float32, in runs of up to 256, and
    rounded once; with fused multiply-adds at every level but scalar, whose last bits may differ. A thread keeps 512 KiB.
    """

# Pooling over the last three of x's four axes; float16, bfloat16 or float32, out contiguous, of x's dtype. sizes, strides,
# dilations and before (the padding in front) are three numbers each; what lies outside x does not count. False, and out is not
# to be used: windows of more than 256 elements, or with such dilations that their lines do not fit into a thread's 512 KiB.
def pool_max(
    x: _Array, out: _Array, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], before: Sequence[int], /
) -> bool:
    """The largest element of each window, NaN when there is one, -Inf of none."""

def pool_mean(
    x: _Array, out: _Array, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], before: Sequence[int],
    divisors: _Float32, /,
) -> bool:
    """The sum of each window in float32 over its place's divisor (one for each place of out[0]). False: not all are finite."""

# Layouts.
def copy(x: _Array, out: _Array, perm: Sequence[int] | None = None, /) -> None:
    """out[...] = x.transpose(perm), blocked for the cache; elements of 1, 2, 4, 8 or 16 bytes, out of the permuted shape.

    The bytes are copied, not cast. NCHW to NC1HWC0, ND to FRACTAL_NZ and back are this copy between reshaped views.
    """
