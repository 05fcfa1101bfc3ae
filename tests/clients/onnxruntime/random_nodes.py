"""Nodes with seeded random attributes, dtypes and shapes, of every operator that the CANN provider takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import helper

FLOATS = ("float32", "float16")
ALL = ("bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint16", "uint32", "uint64", "uint8")
Node = tuple[list[np.ndarray], int, dict[str, Any]]
"""Inputs, opset and attributes."""


class Dice:
    """A seeded source of what a node needs."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def number(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.random.integers(low, high, endpoint=True))

    def numbers(self, low: int, high: int, count: int) -> list[int]:
        return [self.number(low, high) for _ in range(count)]

    def one_of(self, choices: Any) -> Any:
        return choices[self.number(0, len(choices) - 1)]

    def shape(self, low: int = 0, high: int = 5, empty: bool = True) -> tuple[int, ...]:
        """Some dims; one of them is now and then 0."""
        dims = self.numbers(1, 7, self.number(low, high))
        if dims and empty and self.chance(0.08):
            dims[self.number(0, len(dims) - 1)] = 0
        return tuple(dims)

    def narrower(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to this one."""
        dims = tuple(1 if self.chance(0.35) else dim for dim in shape)
        return dims[self.number(0, len(dims)) :] if self.chance(0.5) else dims

    def values(self, dtype: str, shape: tuple[int, ...] | list[int]) -> np.ndarray:
        """Numbers of either sign where the type has one; integers now and then of their whole range."""
        kind = np.dtype(dtype)
        if kind.kind == "f":
            return np.asarray(self.random.standard_normal(shape) * self.one_of((0.1, 1, 10)), kind)
        if kind.kind == "b":
            return np.asarray(self.random.integers(0, 2, shape), kind)
        whole, low = np.iinfo(kind), 0 if kind.kind == "u" else -100
        low, high = (whole.min, whole.max) if self.chance(0.3) else (low, 100)
        return np.asarray(self.random.integers(low, high, shape, kind, endpoint=True))


def unary(*dtypes: str, opset: int = 13) -> Callable[[Dice], Node]:
    return lambda dice: ([dice.values(dice.one_of(dtypes), dice.shape())], opset, {})


def binary(dice: Dice) -> Node:
    dtype, shape = dice.one_of(("float16", "float32", "float64", "int32", "int64")), dice.shape()
    arrays = [dice.values(dtype, shape), dice.values(dtype, dice.narrower(shape))]
    return arrays[:: dice.one_of((1, -1))], dice.one_of((7, 13, 14)), {}


def division(dice: Dice) -> Node:
    """Of integers of one sign: the provider's rounds down, ONNX's towards zero."""
    (one, other), opset, _ = binary(dice)
    if one.dtype.kind == "i":
        one, other = (np.asarray(np.maximum(array, least), array.dtype) for array, least in ((one, 0), (other, 1)))
    return [one, other], opset, {}


def cast(dice: Dice) -> Node:
    """Numbers that become integers are in the range of all of these: ONNX leaves others open."""
    dtype, target = dice.one_of(ALL), np.dtype(dice.one_of(ALL))
    x = dice.values(dtype, dice.shape())
    if x.dtype.kind != "b" and target.kind in "iu":
        x = np.asarray(np.clip(x, 0, 100), x.dtype)
    return [x], dice.one_of((9, 13, 18)), {"to": helper.np_dtype_to_tensor_dtype(target)}


def flatten(dice: Dice) -> Node:
    shape, dtypes = dice.shape(), [name for name in ALL if name not in ("bool", "float64")]
    return [dice.values(dice.one_of(dtypes), shape)], 13, {"axis": dice.number(-len(shape), len(shape))}


def reshape(dice: Dice) -> Node:
    x = dice.values(dice.one_of(ALL), dice.shape(empty=False))
    first = dice.one_of([count for count in range(1, x.size + 1) if x.size % count == 0])
    return [x, np.array([first, -1] if dice.chance(0.5) else [first, x.size // first, 1])], 13, {}


def transpose(dice: Dice) -> Node:
    shape = dice.shape(1)
    permutation = [int(axis) for axis in dice.random.permutation(len(shape))]
    return [dice.values(dice.one_of([name for name in ALL if name != "float64"]), shape)], 12, {"perm": permutation}


def matmul(dice: Dice) -> Node:
    rows, inner, columns = dice.numbers(1, 29, 3)
    batch = dice.shape(0, 3, empty=False)
    one, other = (*batch, rows, inner), (*dice.narrower(batch), inner, columns)
    if dice.chance(0.3):
        one, other = dice.one_of((((inner,), other), (one, (inner,))))
    dtype = dice.one_of((*FLOATS, "int32"))
    arrays = [dice.values(dtype, shape) for shape in (one, other)]
    if dtype == "int32":
        return [array % 1000 for array in arrays], dice.one_of((9, 13)), {}
    return arrays, dice.one_of((7, 9, 13)), {}


def gemm(dice: Dice) -> Node:
    rows, inner, columns = dice.numbers(1, 39, 3)
    turned = dice.numbers(0, 1, 2)
    shapes = ((rows, inner)[:: 1 - 2 * turned[0]], (inner, columns)[:: 1 - 2 * turned[1]], dice.narrower((rows, columns)))
    scales = {name: dice.one_of((0.5, 1.0, 2.0, -1.25, 0.0)) for name in ("alpha", "beta") if dice.chance(0.5)}
    arrays = [dice.values("float16", shape) for shape in shapes]
    return arrays, dice.one_of((7, 9, 11, 13)), {"transA": turned[0], "transB": turned[1], **scales}


def normalization(dice: Dice) -> Node:
    channels = dice.number(1, 8)
    x = dice.values("float32", (dice.number(1, 3), channels, *dice.shape(0, 3, empty=False)))
    scale, bias, mean, variance = (dice.values("float32", (channels,)) for _ in range(4))
    arrays = [x, scale, bias, mean, np.abs(variance) + np.float32(0.05)]
    return arrays, dice.one_of((7, 9, 14, 15)), {"epsilon": dice.one_of((1e-5, 1e-3, 0.1))}


def convolution(dice: Dice) -> Node:
    """Pads that differ as far as the provider sends them right: left = bottom, and all alike where there are 3 dims."""
    rank, groups = dice.one_of((2, 2, 2, 3)), dice.one_of((1, 1, 2, 3, 4))
    inner, outer = dice.number(1, 4), dice.number(1, 4)
    kernel, dilations, strides = dice.numbers(1, 4, rank), dice.numbers(1, 3, rank), dice.numbers(1, 3, rank)
    top, left, right = dice.numbers(0, 3, 3)
    least = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    dims = [max(one, dice.number(3, 13)) for one in least]
    dtype = dice.one_of(FLOATS)
    arrays = [
        dice.values(dtype, [dice.number(0, 3), inner * groups, *dims]),
        dice.values(dtype, [outer * groups, inner, *kernel]),
        dice.values(dtype, [outer * groups]),
    ]
    attributes = {"dilations": dilations, "strides": strides, "group": groups}
    pads = [top, left, left, right] if rank == 2 else [top % 3] * 6
    attributes.update({"auto_pad": "VALID"} if dice.chance(0.2) else {"pads": pads})
    return arrays[: dice.number(2, 3)], dice.one_of((7, 9, 11, 13)), attributes


def pooling(dice: Dice, opset: int) -> Node:
    kernel, strides = dice.numbers(1, 4, 2), dice.numbers(1, 3, 2)
    dims = [size + dice.number(0, 8) for size in kernel]
    top, left, right = dice.number(0, kernel[0] - 1), dice.number(0, min(kernel) - 1), dice.number(0, kernel[1] - 1)
    where = {"auto_pad": "VALID"} if opset > 7 or dice.chance(0.3) else {"pads": [top, left, left, right]}
    x = dice.values(dice.one_of(FLOATS), (*dice.shape(2, 2, empty=False), *dims))
    return [x], opset, {"kernel_shape": kernel, "strides": strides, **where}


def average(dice: Dice) -> Node:
    """Without pads, which count the wrong way round there."""
    arrays, opset, attributes = pooling(dice, dice.one_of((10, 11, 18)))
    attributes.pop("auto_pad")
    return arrays, opset, {**attributes, "ceil_mode": dice.number(0, 1)}


def whole_image(dice: Dice) -> Node:
    return [dice.values(dice.one_of(FLOATS), dice.shape(4, 4, empty=False))], dice.one_of((7, 11, 13)), {}


MAKERS: dict[str, Callable[[Dice], Node]] = {
    **dict.fromkeys(("Add", "Sub", "Mul"), binary),
    **dict.fromkeys(("Ceil", "Cos", "Erf", "Floor", "Log", "Reciprocal", "Round", "Sin", "Sqrt"), unary(*FLOATS)),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), whole_image),
    "Abs": unary(*FLOATS, "int32"),
    "AveragePool": average,
    "BatchNormalization": normalization,
    "Cast": cast,
    "Conv": convolution,
    "Div": division,
    "Dropout": unary(*FLOATS, opset=12),
    "Exp": unary("float16"),
    "Flatten": flatten,
    "Gemm": gemm,
    "Identity": unary(*ALL),
    "MatMul": matmul,
    "MaxPool": lambda dice: pooling(dice, 7),
    "Neg": unary(*FLOATS, "int32", "int8"),
    "Relu": unary(*FLOATS, "float64", "int8", "int32", opset=14),
    "Reshape": reshape,
    "Transpose": transpose,
}
