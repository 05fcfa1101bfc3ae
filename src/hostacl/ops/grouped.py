"""Matrix products in groups: each with a weight of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.batches import Cut, evenly
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.gemm import flipped
from hostacl.ops.grouped_cuts import column_cuts, pair_cuts, with_groups
from hostacl.ops.matmul import product, with_whole
from hostacl.ops.quant_scales import columns, factors, finished
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def row_groups(call: Call, group_list: Array, kind: int, rows: int) -> list[slice]:
    """The rows of each group: group_list holds where they end (0) or how many they are (1)."""
    given = group_list.ravel().astype(np.int64)
    ends = given if kind == 0 else np.cumsum(given)
    starts = np.concatenate([[0], ends[:-1]]) if ends.size else ends
    if np.any(ends < starts) or (ends.size and (ends[-1] > rows or starts.min() < 0)):
        what = ("rising ends of groups", "lengths of groups")[kind]
        raise Failed("HA510", f"{call.op_type}: group_list = {given.tolist()}; allowed: {what}, {rows} rows in all.")
    return [slice(int(one), int(other)) for one, other in zip(starts, ends, strict=True)]


SEPARATE, ROWS, INNER = -1, 0, 2
"""Values of group_type: pairs of tensors, groups of rows of x, groups along the inner axis."""


class Layout:
    """What GroupedMatmul is given: how many x, weights and outputs, and what the groups divide."""

    def __init__(self, call: Call) -> None:
        self.kind = int(call.attr("group_type"))
        self.flips = bool(call.attr("transpose_x")), bool(call.attr("transpose_weight"))
        self.x, self.weight = call.shapes("x"), call.shapes("weight")
        self.single = int(call.attr("split_item")) in (2, 3)
        self.ends = int(call.attrs.get("group_list_type") or 0)
        self.check(call)

    def check(self, call: Call) -> None:
        """Refuses what does not go together."""
        if self.kind not in (SEPARATE, ROWS, INNER):
            raise call.refuse("HA508", f"group_type = {self.kind}; allowed: -1 (none), 0 (rows), 2 (the inner axis).")
        if call.attr("split_item") not in (0, 1, 2, 3):
            raise call.refuse("HA508", f"split_item = {call.attr('split_item')}; allowed: 0, 1 (several y), 2, 3 (one y).")
        if self.ends not in (0, 1):
            raise call.refuse("HA508", f"group_list_type = {self.ends}; allowed: 0 (ends), 1 (lengths).")
        if self.kind == SEPARATE and len(self.x) != len(self.weight):
            raise call.refuse("HA513", f"{len(self.x)} x and {len(self.weight)} weights; group_type -1 pairs them, one each.")
        if self.kind != SEPARATE and (len(self.x) != 1 or not call.has("group_list")):
            raise call.refuse("HA513", f"{len(self.x)} x; group_type {self.kind} divides a single x by group_list.")
        if call.has("per_token_scale") and self.kind != ROWS:
            raise call.refuse("HA513", f"per_token_scale was given with group_type {self.kind}; it is for 0, groups of rows.")
        if call.attrs.get("act_type"):
            raise call.refuse("HA508", f"act_type = {call.attrs['act_type']}; allowed: 0, no activation.")

    def matrices(self, call: Call) -> list[tuple[Dim, Dim]]:
        """(k, n) of each weight, those of one tensor of three dims one by one; with groups along k the whole of it."""
        shapes = [one[1:] for one in self.weight for _ in range(int_of(one[0]))] if self.stacked else self.weight
        if any(len(one) != 2 for one in shapes):
            raise call.refuse("HA516", "weights are matrices, or one tensor of them: allowed are 2 dims each, or 3.")
        return [(one[1], one[0]) if self.flips[1] else (one[0], one[1]) for one in shapes]

    @property
    def stacked(self) -> bool:
        """Whether all weights are one tensor."""
        return len(self.weight) == 1 and len(self.weight[0]) == 3


def int_of(dim: Dim) -> int:
    """A dim that must be known: how many weights there are."""
    if not isinstance(dim, int):
        raise Unknown("weight")
    return dim


def grouped_shape(call: Call) -> list[list[Shape]]:
    """The shapes of all y."""
    layout = Layout(call)
    matrices = layout.matrices(call)
    rows = [(*one[:-2], one[-1]) if layout.flips[0] else one[:-1] for one in layout.x]
    inner = [one[-2] if layout.flips[0] else one[-1] for one in layout.x]
    groups = rank_is(call, "group_list", 1)[0] if call.has("group_list") else len(layout.x)
    for place, (k, n) in enumerate(matrices):
        own = inner[place if layout.kind == SEPARATE else 0]
        if dims.known(own, k) and own != k:
            told = f"x{place if layout.kind == SEPARATE else 0} has {own} along the inner axis, weight{place} {k}"
            raise call.refuse("HA504", f"{told}; they must be equal.")
        check_bias(call, place, n)
    if layout.kind == INNER:
        if groups == 0:
            raise call.refuse("HA504", "group_list has no elements; allowed: one for each group, 1 or more.")
        return [[(groups, *rows[0], matrices[0][1])]]
    if layout.kind == ROWS:
        if isinstance(groups, int) and groups != len(matrices):
            raise call.refuse("HA504", f"group_list has {groups} entries for {len(matrices)} weights; they must be equal.")
        if not layout.single:
            raise call.refuse("HA508", f"split_item = {call.attr('split_item')} with group_type 0; allowed: 2 or 3, one y.")
        return [[(*rows[0], matrices[0][1])]]
    if layout.single:
        return [[(sum((dims.count(one) for one in rows[1:]), start=dims.count(rows[0])), matrices[0][1])]]
    return [[(*one, n) for one, (_, n) in zip(rows, matrices, strict=True)]]


def check_bias(call: Call, place: int, n: Dim) -> None:
    """A bias has one element for each column; one tensor of two dims has them for all weights."""
    biases = call.shapes("bias") if call.has("bias") else []
    if len(biases) == 1 and len(biases[0]) == 2:
        if isinstance(biases[0][0], int) and place >= biases[0][0]:
            raise call.refuse("HA504", f"bias = {dims.text(biases[0])} has no row for weight {place}; allowed: one for each.")
        biases = [biases[0][1:]] * (place + 1)
    if biases and place < len(biases) and dims.known(n, *biases[place]) and dims.count(biases[place]) != n:
        raise call.refuse("HA504", f"bias{place} = {dims.text(biases[place])}; allowed: one element for each of {n} columns.")


def y_dtype(call: Call) -> tuple[int, ...]:
    """A half type gives itself or float32, int8 a half type (by scales), int8 or int32."""
    code = call.dtype("x")
    if code != dtypes.INT8:
        return (code, dtypes.FLOAT)
    return (dtypes.FLOAT16, dtypes.BF16) if call.has("scale") else (dtypes.INT32,)


BY_COLUMN = ("bias", "scale", "antiquant_scale", "antiquant_offset")
"""What has one element for each column."""


def grouped_cuts(call: Call) -> Iterator[Cut]:
    """By pairs, by rows and columns; groups along the inner axis are added up from pieces of it."""
    layout = Layout(call)
    row, inner = (-1, -2) if layout.flips[0] else (-2, -1)
    column, depth = (-2, -1) if layout.flips[1] else (-1, -2)
    if layout.kind == SEPARATE:
        if len(layout.x) > 1:
            yield from pair_cuts(call, layout.single)
        elif row == -2 or len(layout.x[0]) == 2:
            yield from evenly(call, {"x": 0 if row == -2 else -1, "y": 0})
            yield from column_cuts(call, column, BY_COLUMN)
        return
    lists, whole = bool(layout.ends), int_of(layout.x[0][row if layout.kind == ROWS else inner])
    for cut in evenly(call, {"x": row, "y": -2, "per_token_scale": 0}):
        grouped = layout.kind == ROWS
        yield with_groups(cut, lambda groups: row_groups(call, groups, layout.ends, whole), lists) if grouped else cut
    yield from column_cuts(call, column, BY_COLUMN)
    if layout.kind == INNER:
        for cut in evenly(call, {"x": inner, "weight": depth}, adds=True):
            yield with_groups(cut, lambda groups: row_groups(call, groups, layout.ends, whole), lists)


@kernel("GroupedMatmul", cuts=grouped_cuts, shape=grouped_shape, dtype={"y": y_dtype}, dtype_attrs={},
        attrs={"group_list_type": 0, "act_type": 0},
        dtypes={"scale": (dtypes.FLOAT, dtypes.BF16, dtypes.INT64), "per_token_scale": (dtypes.FLOAT,),
                "y": (dtypes.INT32, dtypes.FLOAT)},
        mixed=("x", "weight", "bias", "scale", "offset", "antiquant_scale", "antiquant_offset", "y"))  # fmt: skip
def grouped_matmul(
    x: list[Array], weight: list[Array], bias: list[Array], scale: list[Array], antiquant_scale: list[Array],
    antiquant_offset: list[Array], group_list: Array | None, per_token_scale: Array | None, call: Call, out: tuple[Out, ...],
) -> list[Array]:  # fmt: skip
    """x · weight + bias for each group.

    group_type -1: each x with its weight; 0: rows of one x, divided by group_list among the weights (one tensor of three dims,
    or several); 2: one x and weight divided along the inner axis, a product for each group. group_list holds ends, or lengths
    with group_list_type 1; rows behind the last group are 0. int8 x: times scale (of columns) and per_token_scale (of rows), an
    int32 bias before them. int8 weights of a half x: (weight + antiquant_offset)·antiquant_scale. split_item 2 and 3: one y.
    What y is its descriptor says; dtype and tuning_config change nothing.
    """
    layout = Layout(call)
    lists = Lists(weight, bias, scale, antiquant_scale, antiquant_offset, layout.stacked)
    rows = [flipped(one, layout.flips[0]) for one in x]
    code = out[0].code
    if layout.kind == INNER:
        assert group_list is not None
        ends = row_groups(call, group_list, layout.ends, rows[0].shape[-1])
        wide = flipped(weight[0] if weight[0].ndim == 2 else weight[0][0], layout.flips[1])
        return [np.stack([product(rows[0][:, part], wide[part]) for part in ends])]
    if layout.kind == ROWS:
        assert group_list is not None
        y = np.zeros((len(rows[0]), lists.width(layout.flips[1])), np.int32 if code == dtypes.INT32 else np.float32)
        for place, part in enumerate(row_groups(call, group_list, layout.ends, len(rows[0]))):
            token = None if per_token_scale is None else per_token_scale.reshape(-1)[part]
            y[part] = lists.product(rows[0][part], place, layout.flips[1], token, code)
        return [y]
    found = [lists.product(one, place, layout.flips[1], None, code) for place, one in enumerate(rows)]
    return [np.concatenate([one.reshape(-1, one.shape[-1]) for one in found])] if layout.single else found


class Lists:
    """The lists of GroupedMatmul, which give what belongs to a group."""

    def __init__(
        self, weight: list[Array], bias: list[Array], scale: list[Array], antiquant_scale: list[Array],
        antiquant_offset: list[Array], stacked: bool,
    ) -> None:  # fmt: skip
        self.weight: Sequence[Array] = list(weight[0]) if stacked else weight
        self.others = [entries(one) for one in (bias, scale, antiquant_scale, antiquant_offset)]

    def width(self, flip: bool) -> int:
        """The columns of y."""
        return int(self.weight[0].shape[0 if flip else 1]) if self.weight else 0

    def product(self, x: Array, place: int, flip: bool, token: Array | None, code: int) -> Array:
        """Rows of x with the weight of a group."""
        bias, scale, factor, moved = (one[place] if one else None for one in self.others)
        weight = flipped(self.weight[place], flip)
        if factor is not None:
            weight = weight if moved is None else weight + moved.reshape(-1, weight.shape[1])
            weight = weight * factor.reshape(-1, weight.shape[1])
        total = product(x, weight)
        total = total if bias is None else with_whole(total, bias.reshape(-1))
        if scale is None and token is None:
            return total
        by = columns(factors(scale)) if scale is not None else np.float64(1)
        return finished(total, lambda rows, part: rows * by if token is None else rows * by * token[part, None], code)


def entries(arrays: list[Array]) -> Sequence[Array]:
    """The entries of a list; one tensor of two dims holds those of all groups."""
    return list(arrays[0]) if len(arrays) == 1 and arrays[0].ndim >= 2 else arrays
