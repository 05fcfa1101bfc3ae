"""Quantised products of groups along the inner axis, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.matmul import sizes
from random_calls.oracles.quant_matmul import matrix, powers

MX = 32


@shapes("QuantGroupedMatmulInplaceAdd")
def added_call(d: Dice) -> None:
    m, k, n = sizes(d)
    if d.dtype != dtypes.HIFLOAT8 and k and d.kind != "one element":
        k = d.int(1, 150)
    groups = 1 if d.kind == "one element" else d.int(1, 4)
    lengths = np.diff(np.sort(d.rng.integers(0, k + 1, groups)), prepend=0)
    if d.kind == "one element":
        lengths[:] = 1
    matrix(d, "x1", (k, m), d.dtype)
    other = (dtypes.FLOAT8_E5M2, dtypes.FLOAT8_E4M3FN)
    matrix(d, "x2", (k, n), d.choose(*other) if d.dtype in other and d.kind == "mixed dtypes" else d.dtype)
    micro = d.dtype != dtypes.HIFLOAT8
    rows = k // (2 * MX) + groups
    if micro:
        scale_pairs(d, "scale2", (rows, n, 2))
    else:
        d.values["over scale2"] = powers(d, (groups, *d.choose((), (1,), (n,))))
        d.tensor("scale2", d.values["over scale2"], dtype=dtypes.FLOAT)
    d.tensor("group_list", np.cumsum(lengths), dtype=dtypes.INT64)
    d.tensor("y", (groups, m, n), -4, 4)
    d.values["lengths"] = lengths
    if micro:
        scale_pairs(d, "scale1", (rows, m, 2))
    elif d.optional("scale1"):
        d.values["over scale1"] = powers(d, (groups, *d.choose((), (1,))))
        d.tensor("scale1", d.values["over scale1"], dtype=dtypes.FLOAT)
    if d.attr("group_list_type", 1) == 1:
        d.inputs["group_list"][0].data[...] = lengths
    d.output("y", dtypes.FLOAT)


def scale_pairs(d: Dice, name: str, shape: tuple[int, ...]) -> None:
    """Powers of two as float8_e8m0: what is stored is the exponent plus 127."""
    powers_of = d.rng.integers(-3, 2, shape)
    d.tensor(name, (powers_of + 127).astype(np.uint8), dtype=dtypes.FLOAT8_E8M0)
    d.values[f"over {name}"] = 2.0**powers_of


def scale_of(dice: Dice, name: str, group: int, start: int, row: int, column: int) -> float:
    """The factor of one element: row ``row`` of a group whose first row is ``start``."""
    table = dice.values.get(f"over {name}")
    if table is None:
        return 1.0
    if table.ndim == 3:
        return float(table[start // 64 + group + row // 64, column, row // 32 % 2])
    line = np.ravel(table[group])
    return float(line[column if line.size > 1 else 0])


@oracle("QuantGroupedMatmulInplaceAdd", family="matmul")
def added(y: Any, dice: Dice) -> Any:
    x1, x2 = dice.values["true x1"], dice.values["true x2"]
    result, slack = y.astype(np.float64), finite(y) * 2.0**-23
    start = 0
    for group, length in enumerate(dice.values["lengths"]):
        for i in range(x1.shape[1]):
            for j in range(x2.shape[1]):
                for row in range(int(length)):
                    by = scale_of(dice, "scale1", group, start, row, i) * scale_of(dice, "scale2", group, start, row, j)
                    term = float(x1[start + row, i] * x2[start + row, j]) * by
                    result[group, i, j] += term
                    slack[group, i, j] += abs(term) * 2.0**-23
        start += int(length)
    return Within(result, slack)
