"""Times of the native loops as ratios to NumPy's float32 ones: python benchmarks/bench_kernels.py"""

import os
import statistics
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

from hostacl import _kernels  # noqa: E402

MILLION = 1 << 20


def milliseconds(call: Callable[[], Any]) -> float:
    """The median of seven, after one call that warms the caches."""
    call()
    return statistics.median(timeit.repeat(call, number=1, repeat=7)) * 1e3


def report(what: str, ours: Callable[[], Any], reference: Callable[[], Any], goal: float | None = None) -> None:
    mine, theirs = milliseconds(ours), milliseconds(reference)
    wanted = "" if goal is None else f"  goal <= {goal}"
    print(f"{what:58} {mine:8.3f} ms  reference {theirs:8.3f} ms  ratio {mine / theirs:6.3f}{wanted}")


def float32_add() -> None:
    x, out = np.ones(MILLION, np.float32), np.empty(MILLION, np.float32)
    report("float32 add 1M / numpy", lambda: _kernels.add(x, x, out), lambda: np.add(x, x, out=out))


def half_loops(dtype: Any) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, MILLION)).astype(np.float32)
    a, b = x.astype(dtype), y.astype(dtype)
    out, out32 = np.empty_like(a), np.empty_like(x)
    index, table = a.view(np.uint16), np.arange(65536, dtype=np.uint16).view(dtype)
    report(f"{a.dtype} add 1M / numpy float32", lambda: _kernels.add(a, b, out), lambda: np.add(x, y, out=out32), 1.0)
    report(f"{a.dtype} table look-up 1M / numpy take", lambda: _kernels.table_lookup(a, table, out),
           lambda: np.take(table, index, out=out))


def casts(dtype: Any) -> None:
    x = np.random.default_rng(1).standard_normal(16 * MILLION).astype(np.float32)
    same, wide, half = np.empty_like(x), x.astype(np.float64), np.empty(x.shape, dtype)
    pairs = ((x, half, 0.8), (half, same, None), (wide, half, None))
    for source, to, goal in pairs:
        what = f"{source.dtype} to {to.dtype} 16M / copy of float32"
        report(what, partial(_kernels.convert, source, to), lambda: np.copyto(same, x), goal)


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax(dtype: Any) -> None:
    x = np.random.default_rng(2).standard_normal((1024, 1000)).astype(np.float32)
    a, out = x.astype(dtype), np.empty(x.shape, dtype)
    report(f"{a.dtype} softmax 1024 x 1000 / numpy float32", lambda: _kernels.softmax(a, out), lambda: numpy_softmax(x))


def transpose(dtype: Any) -> None:
    x, out = np.ones((2048, 2048), dtype), np.empty((2048, 2048), dtype)
    report(f"{x.dtype} transpose 2048 x 2048 / numpy", lambda: _kernels.copy(x, out, (1, 0)), lambda: np.copyto(out, x.T))


def blocks() -> None:
    image, five = np.ones((8, 16, 16, 56, 56), np.float16), np.empty((8, 16, 56, 56, 16), np.float16)
    view = image.transpose(0, 1, 3, 4, 2)
    report("NCHW to NC1HWC0 / numpy", lambda: _kernels.copy(view, five), lambda: np.copyto(five, view))


def main() -> None:
    print(f"{_kernels.simd_level()}, {_kernels.threads()} threads")
    float32_add()
    for half in (np.float16, ml_dtypes.bfloat16):
        half_loops(half)
        casts(half)
    for dtype in (np.float32, np.float16):
        softmax(dtype)
    for sized in (np.uint8, np.float16, np.float32, np.float64):
        transpose(sized)
    blocks()


if __name__ == "__main__":
    main()
