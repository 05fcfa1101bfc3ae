"""Element-wise, reduce, scan, index, shape and sort operators against NumPy: python benchmarks/bench_library1.py [name …]

Two ratios a line, each of medians in one run: float32 to NumPy's best formulation (goal 1.5), float16 to our float32 (goal 1).
A star marks what misses its goal. HOSTACL_THREADS=1 compares one thread with NumPy's one, which a busy machine disturbs less.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from common import fair_environment, ratio

fair_environment()

import numpy as np  # noqa: E402

from hostacl.ops import find  # noqa: E402
from hostacl.tensors import dtypes  # noqa: E402
from hostacl.tensors.spec import TensorSpec  # noqa: E402

Array = Any
RNG = np.random.default_rng(0)
SHAPE = (128, 96, 100)
KINDS = {bool: "bool", int: "int", float: "float", str: "string"}
CODES = {np.dtype(name): dtypes.code_of(name) for name in ("float16", "float32", "float64", "int32", "int64", "bool")}


class Case(NamedTuple):
    """A call, and NumPy's best way to the same: ``peer(out, *inputs)`` with an output of the right shape and dtype."""

    name: str
    op_type: str
    inputs: tuple[Any, ...]
    peer: Callable[..., Any]
    attrs: Mapping[str, Any] = MappingProxyType({})
    const: tuple[int, ...] = ()
    half: bool = True


def prepared(case: Case, inputs: Sequence[Any]) -> tuple[Callable[[], Any], list[Array]]:
    """The call of these inputs, ready to run, and its outputs."""
    operator = find(case.op_type)
    assert operator is not None, case.op_type
    specs = [
        TensorSpec(CODES[one.dtype], one.shape, const=one.tobytes() if place in case.const else None)
        for place, one in enumerate(inputs)
    ]
    attrs = {name: (kind_of(value), value) for name, value in case.attrs.items()}
    found = operator.bind(specs, (), attrs).infer()
    outputs = [TensorSpec(one.dtype, largest(one), one.format) for one in found]
    run = operator.bind(specs, outputs, attrs).function()
    results = [np.empty(one.shape, dtypes.numpy_dtype(one.dtype)) for one in outputs]
    return lambda: run(*inputs, *results), results


def kind_of(value: Any) -> str:
    """The kind of an attribute."""
    return "list_int" if isinstance(value, list) else KINDS[type(value)]


def largest(one: Any) -> tuple[int, ...]:
    """An inferred shape with unknown dims at their largest."""
    return tuple(
        high if size == -1 else size
        for size, (_, high) in zip(one.shape, one.ranges or [(0, 0)] * len(one.shape), strict=True)
    )


def measure(case: Case) -> None:
    """Prints the line of a case."""
    with np.errstate(all="ignore"):
        single, results = prepared(case, case.inputs)
        out = [one.copy() for one in results]
        peer = (lambda: case.peer(out[0], *case.inputs)) if len(out) == 1 else (lambda: case.peer(out, *case.inputs))
        mine, theirs, times = ratio(single, peer, 1)
        told = f"{case.name:<34}{mine * 1e3:>9.3f} ms  NumPy {theirs * 1e3:>9.3f} ms  ratio {times:>5.2f}{mark(times, 1.5)}"
        if case.half:
            narrow, _ = prepared(
                case, [one.astype(np.float16) if one.dtype == np.float32 else one for one in case.inputs]
            )
            halves, _, against = ratio(narrow, single, 1)
            told += f"  float16 {halves * 1e3:>9.3f} ms  ratio {against:>5.2f}{mark(against, 1.1)}"
        print(told, flush=True)


def mark(value: float, limit: float) -> str:
    """A star behind a ratio beyond its limit."""
    return " *" if value > limit else "  "


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> Array:
    return RNG.uniform(0.5, 1.5, shape).astype(np.float32)


UNARY: dict[str, Callable[..., Any]] = {
    "Abs": np.absolute, "Neg": np.negative, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log, "Square": np.square,
    "Reciprocal": np.reciprocal, "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Trunc": np.trunc, "Sign": np.sign,
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Atan": np.arctan, 
    "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh, "Log1p": np.log1p, "Expm1": np.expm1,
    "IsFinite": np.isfinite, "Rsqrt": lambda x, out: np.reciprocal(np.sqrt(x, out=out), out=out),
    "Inv": np.reciprocal,
}  # fmt: skip

BINARY: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "RealDiv": np.divide, "Maximum": np.maximum,
    "Minimum": np.minimum, "Pow": np.power, "FloorDiv": lambda a, b, out: np.floor(np.divide(a, b, out=out), out=out),
    "FloorMod": np.mod, "Mod": np.fmod, "Atan2": np.arctan2,
    "DivNoNan": lambda a, b, out: np.divide(a, b, out=np.zeros_like(a), where=b != 0),
    "Xdivy": lambda a, b, out: np.where(a == 0, np.float32(0), a / b),
    "Xlogy": lambda a, b, out: np.where(a == 0, np.float32(0), a * np.log(b)),
    "Equal": np.equal, "NotEqual": np.not_equal, "Less": np.less, "Greater": np.greater, "GreaterEqual": np.greater_equal,
    "LessEqual": np.less_equal,
    "LogAddExp": np.logaddexp,
}  # fmt: skip

REDUCE: dict[str, Callable[..., Any]] = {
    "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod,
    "ReduceAny": np.any, "ReduceAll": np.all,
}  # fmt: skip

SCANS: dict[str, Callable[..., Any]] = {"Cumsum": np.cumsum, "Cumprod": np.cumprod}


def elementwise() -> Iterator[Case]:
    x, y = positive(*SHAPE), positive(*SHAPE)
    for name, function in UNARY.items():
        yield Case(name, name, (x,), lambda out, x, f=function: f(x, out=out))
    for name, function in BINARY.items():
        if function is not None:
            yield Case(name, name, (x, y), lambda out, a, b, f=function: f(a, b, out=out))
    yield Case("Asin", "Asin", (x - 1,), lambda out, x: np.arcsin(x, out=out))
    one = np.array([0.5], np.float32)
    yield Case("Muls", "Muls", (x,), lambda out, x: np.multiply(x, np.float32(2.5), out=out), {"value": 2.5})
    yield Case("Adds", "Adds", (x,), lambda out, x: np.add(x, np.float32(2.5), out=out), {"value": 2.5})
    yield Case(
        "Axpy",
        "Axpy",
        (x, y),
        lambda out, a, b: np.add(a, np.multiply(b, np.float32(2), out=out), out=out),
        {"alpha": 2.0},
    )
    yield Case("AxpyV2", "AxpyV2", (x, y, one), lambda out, a, b, k: np.add(a, np.multiply(b, k, out=out), out=out))
    yield Case(
        "Addcmul",
        "Addcmul",
        (x, y, x, one),
        lambda out, d, a, b, k: np.add(d, np.multiply(np.multiply(a, k, out=out), b, out=out), out=out),
    )
    yield Case(
        "Addcdiv",
        "Addcdiv",
        (x, y, x, one),
        lambda out, d, a, b, k: np.add(d, np.divide(np.multiply(a, k, out=out), b, out=out), out=out),
    )
    yield Case(
        "Lerp",
        "Lerp",
        (x, y, x),
        lambda out, a, b, w: np.add(np.multiply(np.subtract(b, a, out=out), w, out=out), a, out=out),
    )
    yield Case("ClipByValue", "ClipByValue", (x, one, one + 1), lambda out, x, a, b: np.clip(x, a, b, out=out))
    chosen = RNG.random(SHAPE) < 0.5
    yield Case("SelectV2", "SelectV2", (chosen, x, y), lambda out, c, a, b: np.copyto(out, np.where(c, a, b)))
    yield Case(
        "MaskedFill",
        "MaskedFill",
        (x, chosen, one.reshape(())),
        lambda out, x, m, v: (np.copyto(out, x), np.copyto(out, v, where=m)),
    )
    yield Case(
        "LogicalAnd",
        "LogicalAnd",
        (chosen, chosen[::-1].copy()),
        lambda out, a, b: np.logical_and(a, b, out=out),
        half=False,
    )
    yield Case("LogicalNot", "LogicalNot", (chosen,), lambda out, a: np.logical_not(a, out=out), half=False)
    whole = RNG.integers(1, 1 << 20, SHAPE, np.int32)
    for name, function in {
        "BitwiseAnd": np.bitwise_and,
        "BitwiseOr": np.bitwise_or,
        "BitwiseXor": np.bitwise_xor,
    }.items():
        yield Case(name, name, (whole, whole[::-1].copy()), lambda out, a, b, f=function: f(a, b, out=out), half=False)
    yield Case(
        "FloorDiv int32",
        "FloorDiv",
        (whole, whole[::-1].copy()),
        lambda out, a, b: np.floor_divide(a, b, out=out),
        half=False,
    )
    yield Case(
        "FloorMod int32", "FloorMod", (whole, whole[::-1].copy()), lambda out, a, b: np.mod(a, b, out=out), half=False
    )
    yield Case("Cast to int32", "Cast", (x,), lambda out, x: np.copyto(out, x, casting="unsafe"), {"dst_type": 3})


def reductions() -> Iterator[Case]:
    x = positive(*SHAPE)
    truth = RNG.random(SHAPE) < 0.5
    for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        for name, function in REDUCE.items():
            logical = name in ("ReduceAny", "ReduceAll")
            yield Case(
                f"{name} {axes}",
                name,
                (truth if logical else x, np.array(axes, np.int32)),
                lambda out, x, _, f=function, a=axes: f(x, axis=a, out=out),
                const=(1,),
                half=not logical,
            )
    long = positive(1 << 20)
    for name, function in list(REDUCE.items())[:5]:
        yield Case(
            f"{name} 1M to one",
            name,
            (long, np.array([0], np.int32)),
            lambda out, x, _, f=function: f(x, axis=0, out=out),
            const=(1,),
        )
        for shape in ((4096, 256), (256, 4096), (1 << 17, 8), (8, 1 << 17)):
            for axis in (0, 1):
                yield Case(
                    f"{name} {shape} {axis}",
                    name,
                    (positive(*shape), np.array([axis], np.int32)),
                    lambda out, x, _, f=function, a=axis: f(x, axis=a, out=out),
                    const=(1,),
                )
    for axis in (0, 1, 2):
        yield Case(
            f"ArgMaxV2 {axis}",
            "ArgMaxV2",
            (x, np.array(axis, np.int32)),
            lambda out, x, _, a=axis: np.copyto(out, np.argmax(x, axis=a)),
            const=(1,),
        )
        yield Case(
            f"ArgMaxWithValue {axis}",
            "ArgMaxWithValue",
            (x,),
            lambda out, x, a=axis: (np.copyto(out[0], np.argmax(x, axis=a)), np.max(x, axis=a, out=out[1])),
            {"dimension": axis},
        )


def more_reductions() -> Iterator[Case]:
    """Norms, deviations and logarithms of sums, along the first, a middle, the last axis and all."""
    x = positive(*SHAPE)
    for axes in ((0,), (1,), (2,), (0, 1, 2)):
        place = np.array(axes, np.int32)
        yield Case(
            f"ReduceLogSumExp {axes}",
            "ReduceLogSumExp",
            (x, place),
            lambda out, x, _, a=axes: log_sum_exp(out, x, a),
            const=(1,),
        )
        yield Case(
            f"ReduceLogSum {axes}",
            "ReduceLogSum",
            (x, place),
            lambda out, x, _, a=axes: np.log(np.sum(x, axis=a, out=out), out=out),
            const=(1,),
        )
        yield Case(
            f"SquareSumV1 {axes}",
            "SquareSumV1",
            (x,),
            lambda out, x, a=axes: np.sum(np.square(x), axis=a, out=out),
            {"axis": list(axes)},
        )
        yield Case(
            f"ReduceStd {axes}",
            "ReduceStd",
            (x,),
            lambda out, x, a=axes: (np.mean(x, axis=a, out=out[1]), np.std(x, axis=a, ddof=1, out=out[0])),
            {"dim": list(axes)},
        )
        yield Case(
            f"ReduceStdWithMean {axes}",
            "ReduceStdWithMean",
            (x, np.broadcast_to(x.mean(axis=axes, keepdims=True), x.shape).copy()),
            lambda out, x, m, a=axes: np.sqrt(np.square(x - m).sum(axis=a) / (x.size / out.size - 1), out=out),
            {"dim": list(axes), "unbiased": True},
        )


def log_sum_exp(out: Array, x: Array, axes: tuple[int, ...]) -> None:
    top = x.max(axis=axes, keepdims=True)
    np.add(np.log(np.exp(x - top).sum(axis=axes)), top.reshape(out.shape), out=out)


def scans() -> Iterator[Case]:
    for shape in (SHAPE, (1024, 1024), (1 << 20,), (1 << 15, 32)):
        x = (1 + normal(*shape) / 64).astype(np.float32)
        for name, function in SCANS.items():
            for axis in range(len(shape)):
                yield Case(
                    f"{name} {shape} {axis}",
                    name,
                    (x, np.array(axis, np.int32)),
                    lambda out, x, _, f=function, a=axis: f(x, axis=a, out=out),
                    const=(1,),
                )
    x = normal(*SHAPE)
    for axis in (0, 2):
        yield Case(f"Cummax {axis}", "Cummax", (x,), lambda out, x, a=axis: best_numpy_cummax(out, x, a), {"dim": axis})


def best_numpy_cummax(out: list[Array], x: Array, axis: int) -> None:
    best = np.maximum.accumulate(x, axis=axis, out=out[0])
    shape = [1] * x.ndim
    shape[axis] = -1
    np.maximum.accumulate(np.where(x == best, np.arange(x.shape[axis]).reshape(shape), 0), axis=axis, out=out[1])


def indexing() -> Iterator[Case]:
    table = normal(20000, 64)
    rows = RNG.integers(0, 20000, 16384)
    yield Case(
        "GatherV2 rows",
        "GatherV2",
        (table, rows, np.array(0, np.int32)),
        lambda out, x, i, _: np.take(x, i, axis=0, out=out, mode="clip"),
        const=(2,),
    )
    wide = normal(64, 20000)
    yield Case(
        "GatherV2 axis 1",
        "GatherV2",
        (wide, rows, np.array(1, np.int32)),
        lambda out, x, i, _: np.take(x, i, axis=1, out=out, mode="clip"),
        const=(2,),
    )
    x, few = normal(*SHAPE), RNG.integers(0, 90, 64)
    for axis in (0, 1, 2):
        yield Case(
            f"GatherV2 {SHAPE} {axis}",
            "GatherV2",
            (x, few, np.array(axis, np.int32)),
            lambda out, x, i, _, a=axis: np.take(x, i, axis=a, out=out, mode="clip"),
            const=(2,),
        )
    flat, many = normal(1 << 20), RNG.integers(0, 1 << 20, 1 << 20)
    yield Case(
        "GatherV2 single elements",
        "GatherV2",
        (flat, many, np.array(0, np.int32)),
        lambda out, x, i, _: np.take(x, i, out=out, mode="clip"),
        const=(2,),
    )
    square, places = normal(1024, 1024), RNG.integers(0, 1024, (1024, 1024))
    for axis in (0, 1):
        yield Case(
            f"GatherElements {axis}",
            "GatherElements",
            (square, places),
            lambda out, x, i, a=axis: np.copyto(out, np.take_along_axis(x, i, a)),
            {"dim": axis},
        )
        yield Case(
            f"ScatterElements add {axis}",
            "ScatterElements",
            (square, places, square),
            lambda out, x, i, u, a=axis: scatter_elements(out, x, i, u, a),
            {"axis": axis, "reduction": "add"},
        )
        yield Case(
            f"ScatterElements {axis}",
            "ScatterElements",
            (square, places, square),
            lambda out, x, i, u, a=axis: (np.copyto(out, x), np.put_along_axis(out, i, u, a)),
            {"axis": axis},
        )
    pairs = RNG.integers(0, 128, (100000, 2))
    yield Case(
        "GatherNd", "GatherNd", (normal(128, 128, 8), pairs), lambda out, x, i: np.copyto(out, x[i[:, 0], i[:, 1]])
    )
    updates = normal(16384, 64)
    yield Case(
        "ScatterNdAdd rows",
        "ScatterNdAdd",
        (table, rows[:, None], updates),
        lambda out, x, i, u: (np.copyto(out, x), np.add.at(out, i[:, 0], u)),
    )
    yield Case(
        "ScatterAdd rows",
        "ScatterAdd",
        (table, rows, updates),
        scatter_add,
    )
    yield Case(
        "ScatterUpdate rows",
        "ScatterUpdate",
        (table, rows, updates),
        lambda out, x, i, u: (np.copyto(out, x), out.__setitem__(i, u)),
    )
    yield Case(
        "ScatterNdAdd elements",
        "ScatterNdAdd",
        (flat, many[:, None], flat),
        lambda out, x, i, u: (np.copyto(out, x), np.add.at(out, i[:, 0], u)),
    )
    yield Case(
        "TensorScatterUpdate",
        "TensorScatterUpdate",
        (flat, many[:, None], flat),
        lambda out, x, i, u: (np.copyto(out, x), out.__setitem__(i[:, 0], u)),
    )
    yield Case(
        "ScatterNdMax rows",
        "ScatterNdMax",
        (table, rows[:, None], updates),
        lambda out, x, i, u: (np.copyto(out, x), np.maximum.at(out, i[:, 0], u)),
    )
    ids = RNG.integers(0, 1000, 16384).astype(np.int32)
    yield Case(
        "UnsortedSegmentSum",
        "UnsortedSegmentSum",
        (updates, ids, np.array(1000, np.int32)),
        lambda out, x, i, _: (out.fill(0), np.add.at(out, i, x)),
        const=(2,),
    )
    yield Case(
        "EmbeddingDenseGrad",
        "EmbeddingDenseGrad",
        (updates, ids),
        lambda out, g, i: (out.fill(0), np.add.at(out, i, g)),
        {"num_weights": 1000},
    )
    yield from combining(table, rows, updates, ids)
    yield from meeting(table, updates)
    batches, each = normal(64, 512, 64), RNG.integers(0, 512, (64, 256))
    yield Case(
        "GatherV2 of batches",
        "GatherV2",
        (batches, each, np.array(1, np.int32)),
        lambda out, x, i, _: np.copyto(out, np.take_along_axis(x, i[:, :, None], 1)),
        {"batch_dims": 1},
        const=(2,),
    )
    classes = RNG.integers(0, 100, 10000).astype(np.int32)
    on, off = np.ones((), np.float32), np.zeros((), np.float32)
    yield Case(
        "OneHot",
        "OneHot",
        (classes, np.array(100, np.int32), on, off),
        lambda out, i, *_: (out.fill(0), out.__setitem__((np.arange(10000), i), 1)),
        {"axis": -1},
        const=(1,),
    )


def combining(table: Array, rows: Array, updates: Array, ids: Array) -> Iterator[Case]:
    """Combining of rows and elements beyond sums along the first axis."""
    count = np.array(1000, np.int32)
    for name, start, function in (
        ("Max", -np.inf, np.maximum), ("Min", np.inf, np.minimum), ("Prod", 1, np.multiply)
    ):  # fmt: skip
        yield Case(
            f"UnsortedSegment{name}",
            f"UnsortedSegment{name}",
            (updates, ids, count),
            lambda out, x, i, _, s=start, f=function: (out.fill(s), f.at(out, i, x)),
            const=(2,),
        )
    yield Case(
        "ScatterMul rows",
        "ScatterMul",
        (table, rows, updates),
        lambda out, x, i, u: (np.copyto(out, x), np.multiply.at(out, i, u)),
    )
    wide, across = np.ascontiguousarray(table[:8192].T), np.ascontiguousarray(updates.T)
    for name in ("IndexAdd", "InplaceIndexAdd"):
        for axis, x, each in ((0, table, updates), (1, wide, across)):
            yield Case(
                f"{name} {axis}",
                name,
                (x, (rows % x.shape[axis]).astype(np.int32), each),
                lambda out, x, i, u, a=axis: (np.copyto(out, x), np.add.at(out, (slice(None),) * a + (i,), u)),
                {"axis": axis},
            )
    square, places = positive(1024, 1024), RNG.integers(0, 1024, (1024, 1024))
    yield Case(
        "ScatterElements mul",
        "ScatterElements",
        (square, places, square),
        lambda out, x, i, u: (np.copyto(out, x), np.multiply.at(out, (np.arange(1024)[:, None], i), u)),
        {"axis": 1, "reduction": "mul"},
    )


def meeting(table: Array, updates: Array) -> Iterator[Case]:
    """Scatter-add where hundreds of updates meet in a row, of rows of few elements, and into a few rows of a large target."""
    crowd = RNG.integers(0, 100, 16384)
    yield Case(
        "ScatterAdd into 100 rows",
        "ScatterAdd",
        (table, crowd, updates),
        scatter_add,
    )
    yield Case(
        "ScatterAdd 16 rows",
        "ScatterAdd",
        (table, crowd[:16], updates[:16]),
        scatter_add,
    )
    for width in (4, 16):
        narrow, more = normal(1 << 16, width), normal(1 << 16, width)
        yield Case(
            f"ScatterNdAdd rows of {width}",
            "ScatterNdAdd",
            (narrow, RNG.integers(0, 1 << 16, (1 << 16, 1)), more),
            lambda out, x, i, u: (np.copyto(out, x), np.add.at(out, i[:, 0], u)),
        )
    pairs = RNG.integers(0, 256, (1 << 16, 2))
    yield Case(
        "TensorScatterAdd pairs",
        "TensorScatterAdd",
        (normal(256, 256, 16), pairs, normal(1 << 16, 16)),
        lambda out, x, i, u: (np.copyto(out, x), np.add.at(out, (i[:, 0], i[:, 1]), u)),
    )
    for axis in (0, 1, 2):
        shape = [64, 64, 64]
        shape[axis] = 256
        yield Case(
            f"IndexAdd of three axes, {axis}",
            "IndexAdd",
            (normal(64, 64, 64), RNG.integers(0, 64, 256).astype(np.int32), normal(*shape)),
            lambda out, x, i, u, a=axis: (np.copyto(out, x), np.add.at(out, (slice(None),) * a + (i,), u)),
            {"axis": axis},
        )


def scatter_add(out: Array, x: Array, rows: Array, updates: Array) -> None:
    np.copyto(out, x)
    np.add.at(out, rows, updates)


def scatter_elements(out: Array, x: Array, indices: Array, updates: Array, axis: int) -> None:
    np.copyto(out, x)
    other = np.arange(x.shape[1 - axis])
    np.add.at(out, (indices, other[None, :]) if axis == 0 else (other[:, None], indices), updates)


def moving() -> Iterator[Case]:
    x = normal(*SHAPE)
    ints = lambda *values: np.array(values, np.int32)  # noqa: E731
    yield Case(
        "Transpose (2, 0, 1)",
        "Transpose",
        (x, ints(2, 0, 1)),
        lambda out, x, _: np.copyto(out, x.transpose(2, 0, 1)),
        const=(1,),
    )
    yield Case(
        "Slice",
        "Slice",
        (x, ints(1, 2, 3), ints(100, 80, 90)),
        lambda out, x, *_: np.copyto(out, x[1:101, 2:82, 3:93]),
        const=(1, 2),
    )
    yield Case(
        "StridedSlice",
        "StridedSlice",
        (x, ints(0, 0, 1), ints(128, 96, 100), ints(1, 2, 3)),
        lambda out, x, *_: np.copyto(out, x[:, ::2, 1::3]),
        const=(1, 2, 3),
    )
    yield Case(
        "Pad",
        "Pad",
        (x, np.array([[1, 1], [2, 2], [3, 3]], np.int32)),
        lambda out, x, _: (out.fill(0), out[1:-1, 2:-2, 3:-3].__setitem__(..., x)),
        const=(1,),
    )
    yield Case(
        "Tile", "Tile", (x[:32], ints(1, 2, 2)), lambda out, x, _: np.copyto(out, np.tile(x, (1, 2, 2))), const=(1,)
    )
    yield Case("BroadcastTo", "BroadcastTo", (x[:, :1], ints(*SHAPE)), lambda out, x, _: np.copyto(out, x), const=(1,))
    yield Case(
        "ReverseV2", "ReverseV2", (x, ints(0, 2)), lambda out, x, _: np.copyto(out, x[::-1, :, ::-1]), const=(1,)
    )
    yield Case("Fill", "Fill", (ints(*SHAPE), np.full((), 2, np.float32)), lambda out, *_: out.fill(2), const=(0,))
    yield Case("Tril", "Tril", (normal(64, 128, 128),), lambda out, x: np.copyto(out, np.tril(x)))
    yield Case(
        "RepeatInterleave",
        "RepeatInterleave",
        (x[:32], ints(3)),
        lambda out, x, _: np.copyto(out, np.repeat(x, 3, axis=1)),
        {"axis": 1},
        const=(1,),
    )
    yield Case(
        "RollV2", "RollV2", (x, ints(5), ints(1)), lambda out, x, *_: np.copyto(out, np.roll(x, 5, 1)), const=(1, 2)
    )


def sorting() -> Iterator[Case]:
    for shape in ((1024, 1000), (1, 1 << 20), (1 << 15, 32)):
        x = normal(*shape)
        yield Case(f"Sort {shape}", "Sort", (x,), sort_both, {"axis": -1})
        k = min(shape[1], 10)
        yield Case(
            f"TopKV2 {shape} k={k}",
            "TopKV2",
            (x, np.array(k, np.int32)),
            lambda out, x, _, k=k: top_k(out, x, k),
            const=(1,),
        )
    cube = normal(64, 128, 100)
    for axis in (0, 1, 2):
        yield Case(f"Sort {cube.shape} {axis}", "Sort", (cube,), lambda out, x, a=axis: sort_both(out, x, a), {"axis": axis})
        yield Case(
            f"TopKV2 {cube.shape} {axis}",
            "TopKV2",
            (cube, np.array(5, np.int32)),
            lambda out, x, _, a=axis: top_k_along(out, x, 5, a),
            {"dim": axis},
            const=(1,),
        )
    for k in (1, 100, 1000):
        yield Case(
            f"TopKV2 (1024, 1000) k={k}",
            "TopKV2",
            (normal(1024, 1000), np.array(k, np.int32)),
            (lambda out, x, _, k=k: top_k(out, x, k)) if k < 1000 else (lambda out, x, _: sort_down(out, x)),
            const=(1,),
        )
    x = normal(1000, 1024)
    yield Case("Sort axis 0", "Sort", (x,), lambda out, x: sort_both(out, x, 0), {"axis": 0})
    yield Case(
        "SearchSorted",
        "SearchSorted",
        (np.sort(normal(1 << 16)), normal(1 << 18)),
        lambda out, s, v: np.copyto(out, np.searchsorted(s, v)),
    )
    flat = RNG.integers(0, 1000, 1 << 18).astype(np.float32)
    unique = lambda out, x: np.unique(x, return_inverse=True, return_counts=True)  # noqa: E731
    yield Case(
        "UniqueWithCountsAndSorting",
        "UniqueWithCountsAndSorting",
        (flat,),
        unique,
        {"return_inverse": True, "return_counts": True},
    )
    sparse = (normal(1024, 1024) > 1).astype(np.float32)
    yield Case("NonZero", "NonZero", (sparse,), lambda out, x: np.argwhere(x))
    yield Case("MaskedSelect", "MaskedSelect", (sparse, sparse != 0), lambda out, x, m: x[m])


def sort_both(out: list[Array], x: Array, axis: int = -1) -> None:
    places = np.argsort(x, axis=axis)
    np.copyto(out[1], places)
    np.copyto(out[0], np.take_along_axis(x, places, axis))


def top_k(out: list[Array], x: Array, k: int) -> None:
    near = np.argpartition(x, x.shape[1] - k, axis=-1)[:, -k:]
    values = np.take_along_axis(x, near, -1)
    order = np.argsort(-values, axis=-1)
    np.copyto(out[0], np.take_along_axis(values, order, -1))
    np.copyto(out[1], np.take_along_axis(near, order, -1))


def sort_down(out: list[Array], x: Array) -> None:
    sort_both(out, -x)
    np.negative(out[0], out=out[0])


def top_k_along(out: list[Array], x: Array, k: int, axis: int) -> None:
    near = np.argpartition(x, x.shape[axis] - k, axis=axis).take(range(x.shape[axis] - k, x.shape[axis]), axis)
    values = np.take_along_axis(x, near, axis)
    order = np.argsort(-values, axis=axis)
    np.copyto(out[0], np.take_along_axis(values, order, axis))
    np.copyto(out[1], np.take_along_axis(near, order, axis))


def main() -> None:
    wanted = sys.argv[1:]
    for group in (elementwise, reductions, more_reductions, scans, indexing, moving, sorting):
        for case in group():
            if not wanted or any(case.name.startswith(one) or one == group.__name__ for one in wanted):
                measure(case)


if __name__ == "__main__":
    main()
