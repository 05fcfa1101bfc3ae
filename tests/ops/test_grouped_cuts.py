"""GroupedMatmul in pieces: rows, columns, the inner axis, and pairs give what loops over the groups give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Failed
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, spec
from tests.ops.test_batches import SMALLER, peak, smaller
from tests.pieces import tiny_pieces

RNG = np.random.default_rng(8)
F16, F32, I8 = np.float16, np.float32, np.int8
ROWS, INNER, PAIRS = 0, 2, -1


def whole(*shape: int, dtype: Any = F16) -> Any:
    return RNG.integers(-4, 5, shape).astype(dtype)


def call_of(tensors: dict[str, Any], outputs: list[tuple[int, ...]], code: int, **attrs: Any) -> Any:
    """The function of a call with lists by name, and the arrays it takes."""
    order = ("x", "weight", "bias", "scale", "offset", "antiquant_scale", "antiquant_offset")
    single = ("group_list", "per_token_scale")
    specs, arrays = [], []
    for name in order:
        for place, one in enumerate(tensors.get(name, [])):
            specs.append(spec(one)._replace(dynamic_input=name, name=f"{name}{place}"))
            arrays.append(one)
    for name in single:
        if name in tensors:
            specs.append(spec(tensors[name]))
            arrays.append(tensors[name])
    described_y = [TensorSpec(code, shape) for shape in outputs]
    with override(dtypes="permissive"):
        function = bind("GroupedMatmul", specs, described_y, **attrs).function()
    return function, arrays, [np.full(shape, 77, dtypes.numpy_dtype(code)) for shape in outputs]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Everything is large; the list gets the length of what each cut divides."""
    return tiny_pieces(monkeypatch)


LENGTHS = np.array([3, 0, 5, 2], np.int64)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("stacked", [False, True])
def test_groups_of_rows(kind, flip, stacked, tiny):
    x, w, b = whole(12, 6), whole(4, 6, 7), whole(4, 7)
    given = np.swapaxes(w, 1, 2).copy() if flip else w
    lists = {"weight": [given] if stacked else list(given), "bias": [b] if stacked else list(b)}
    groups = LENGTHS if kind else np.cumsum(LENGTHS)
    function, arrays, (y,) = call_of({"x": [x], "group_list": groups, **lists}, [(12, 7)], dtypes.FLOAT16, split_item=2,
                                     group_type=ROWS, group_list_type=kind, transpose_weight=flip)  # fmt: skip
    function(*arrays, y)
    wanted, start = np.zeros((12, 7)), 0
    for place, length in enumerate(LENGTHS):
        part = slice(start, start + length)
        wanted[part] = x[part].astype(float) @ w[place].astype(float) + b[place]
        start += length
    np.testing.assert_array_equal(y, wanted)
    assert tiny


def test_rows_of_int8_with_scales_of_columns_and_rows(tiny):
    x, w = whole(12, 6, dtype=I8), whole(4, 6, 7, dtype=I8)
    scale, token = RNG.uniform(1, 2, (4, 7)).astype(F32), RNG.uniform(1, 2, 12).astype(F32)
    function, arrays, (y,) = call_of(
        {"x": [x], "weight": [w], "scale": [scale], "group_list": LENGTHS, "per_token_scale": token}, [(12, 7)],
        dtypes.FLOAT16, split_item=2, group_type=ROWS, group_list_type=1,
    )  # fmt: skip
    function(*arrays, y)
    start = 0
    for place, length in enumerate(LENGTHS):
        part = slice(start, start + length)
        exact = (x[part].astype(float) @ w[place].astype(float)) * scale[place].astype(float) * token[part, None].astype(float)
        np.testing.assert_allclose(y[part], exact, rtol=2e-3)
        start += length
    assert not y[start:].any()
    assert tiny


def test_int8_weights_of_halves(tiny):
    x, w = whole(12, 6), whole(4, 6, 7, dtype=I8)
    factor, moved = whole(4, 7), whole(4, 7)
    function, arrays, (y,) = call_of(
        {"x": [x], "weight": [w], "antiquant_scale": [factor], "antiquant_offset": [moved], "group_list": LENGTHS}, [(12, 7)],
        dtypes.FLOAT16, split_item=3, group_type=ROWS, group_list_type=1,
    )  # fmt: skip
    function(*arrays, y)
    owner = np.repeat(np.arange(4), LENGTHS)
    for row, place in enumerate(owner):
        wide = (w[place].astype(float) + moved[place].astype(float)) * factor[place].astype(float)
        np.testing.assert_array_equal(y[row], x[row].astype(float) @ wide)
    assert tiny


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("flip", [False, True])
def test_groups_along_the_inner_axis(kind, flip, tiny):
    x, w = whole(5, 12), whole(12, 7)
    groups = LENGTHS if kind else np.cumsum(LENGTHS)
    function, arrays, (y,) = call_of(
        {"x": [x.T.copy() if flip else x], "weight": [w], "group_list": groups}, [(4, 5, 7)],
        dtypes.FLOAT16, split_item=2, group_type=INNER, group_list_type=kind, transpose_x=flip,
    )  # fmt: skip
    function(*arrays, y)
    owner = np.repeat(np.arange(4), LENGTHS)
    wanted = np.zeros((4, 5, 7))
    for at, place in enumerate(owner):
        wanted[place] += np.outer(x[:, at].astype(float), w[at].astype(float))
    np.testing.assert_array_equal(y, wanted)
    assert tiny


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("table", [False, True])
def test_pairs(joined, table, tiny):
    x, w = [whole(3, 6), whole(9, 5), whole(2, 4)], [whole(6, 7), whole(5, 7), whole(4, 7)]
    bias = whole(3, 7)
    shapes = [(14, 7)] if joined else [(3, 7), (9, 7), (2, 7)]
    function, arrays, ys = call_of({"x": x, "weight": w, "bias": [bias] if table else list(bias)}, shapes, dtypes.FLOAT16,
                                   split_item=3 if joined else 0, group_type=PAIRS)  # fmt: skip
    function(*arrays, *ys)
    wanted = [one.astype(float) @ other.astype(float) + b for one, other, b in zip(x, w, bias, strict=True)]
    np.testing.assert_array_equal(np.concatenate(ys), np.concatenate(wanted))
    assert 3 in tiny


@pytest.mark.parametrize("groups", [[3, 1, 5, 6], [2, 4, 6, 13], [-1, 2, 3, 4]])
def test_bad_groups_are_told_before_anything_is_written(groups, tiny):
    tensors = {"x": [whole(12, 6)], "weight": [whole(4, 6, 7)], "group_list": np.array(groups, np.int64)}
    function, arrays, (y,) = call_of(tensors, [(12, 7)], dtypes.FLOAT16, split_item=2, group_type=ROWS)
    with pytest.raises(Failed, match="group_list = "):
        function(*arrays, y)
    assert (y == 77).all()


@pytest.mark.parametrize(("x", "weight", "y", "attrs"), [
    ((40000, 32), [(2, 32, 8)], (40000, 8), {"group_type": ROWS, "split_item": 2}),
    ((20, 512), [(8, 512, 400)], (20, 400), {"group_type": ROWS, "split_item": 2}),
    ((20, 512), [(512, 400)] * 8, (20, 400), {"group_type": ROWS, "split_item": 2}),
    ((16, 100000), [(100000, 8)], (2, 16, 8), {"group_type": INNER, "split_item": 2}),
    ((40000, 32), [(32, 8)], (40000, 8), {"group_type": PAIRS, "split_item": 0}),
])  # fmt: skip
def test_large_operands_need_little_memory(x, weight, y, attrs, monkeypatch):
    smaller(monkeypatch)
    tensors: dict[str, Any] = {"x": [np.ones(x, F16)], "weight": [np.ones(one, F16) for one in weight]}
    if attrs["group_type"] != PAIRS:
        count, size = max(len(weight), weight[0][0] if len(weight[0]) == 3 else 2), x[0 if attrs["group_type"] == ROWS else 1]
        tensors["group_list"] = np.linspace(0, size, count + 1).astype(np.int64)[1:]
    function, arrays, results = call_of(tensors, [y], dtypes.FLOAT16, **attrs)
    assert peak(lambda: function(*arrays, *results)) < (256 << 20) // SMALLER
