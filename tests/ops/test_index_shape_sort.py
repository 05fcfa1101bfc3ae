"""Quirks, refusals and inference of the operators that move, gather, scatter, sort and count; values are written out."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run


def i32(*values: Any) -> Any:
    return np.array(values, np.int32)


def i64(*values: Any) -> Any:
    return np.array(values, np.int64)


def f32(*values: Any) -> Any:
    return np.array(values, np.float32)


GRID = np.arange(20, dtype=np.float32).reshape(5, 4)


@pytest.mark.parametrize(
    ("op", "inputs", "const", "attrs", "rule", "words"),
    [
        ("Reshape", [GRID, i32(3, -1)], [1], {}, "HA504", "do not divide by 3"),
        ("Reshape", [GRID, i32(-1, -1)], [1], {}, "HA519", "one -1"),
        ("Squeeze", [GRID], [], {"axis": [1]}, "HA504", "axis 1"),
        ("Unsqueeze", [GRID], [], {"axes": [3, -1]}, "HA509", "axes"),
        ("ReverseV2", [GRID, i32(2)], [1], {}, "HA509", "axis 2"),
        ("Roll", [GRID], [], {"shifts": [1, 2], "dims": [0]}, "HA508", "equally many"),
        ("Expand", [GRID, i32(5, 3)], [1], {}, "HA504", "do not broadcast"),
        ("Tile", [GRID, i32(2)], [1], {}, "HA519", "one for each dim"),
        ("RepeatInterleave", [GRID, i32(1, 2)], [1], {"axis": 0}, "HA519", "repeats has 2 entries"),
        ("SplitD", [GRID], [], {"split_dim": 1, "num_split": 3}, "HA508", "num_split = 3"),
        ("SplitVD", [GRID], [], {"split_dim": 1, "num_split": 2, "size_splits": [1, 2]}, "HA519", "add up to 4"),
        ("Unpack", [GRID], [], {"num": 4}, "HA508", "5 along axis 0"),
        ("Crop", [GRID, GRID], [], {"axis": 0, "offsets": [1, 0]}, "HA508", "offsets"),
        ("PadV3", [GRID, i32(0, 0, 4, 0)], [1], {"mode": "reflect"}, "HA519", "mode reflect allows up to 3"),
        ("PadV3", [GRID, i32(0, 0, 4)], [1], {}, "HA519", "two for each axis"),
        ("PadV3", [GRID, i32(0, 0, 0, 0)], [1], {"mode": "wrong"}, "HA508", "constant, reflect"),
        ("StridedSlice", [GRID, i32(0), i32(2), i32(0)], [1, 2, 3], {}, "HA519", "strides[0] = 0"),
        ("StridedSlice", [GRID, i32(5), i32(6), i32(1)], [1, 2, 3], {"shrink_axis_mask": 1}, "HA519", "begin = 5"),
        ("Tril", [f32(1, 2)], [], {}, "HA516", "x"),
        ("Col2im", [np.ones((1, 4, 3), np.float32), i32(3, 3)], [1],
         {"kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}, "HA504", "has 4 windows"),
        ("Gather", [GRID, i32(1)], [], {"batch_dims": 2}, "HA508", "batch_dims"),
        ("GatherNd", [GRID, i32([1, 1, 1])], [], {}, "HA504", "2 dims"),
        ("GatherElements", [GRID, i64([0] * 5)], [], {"dim": 0}, "HA504", "no larger"),
        ("ScatterElements", [GRID, i64([0]), f32([1])], [], {"reduction": "max"}, "HA508", "none, add, mul"),
        ("ScatterNdUpdate", [GRID, i64([0, 1]), f32(1, 2)], [], {}, "HA504", "updates"),
        ("Index", [GRID, i64(1, 1), i64(1, 1), i64(0)], [1], {}, "HA519", "indexed_sizes"),
        ("Scatter", [GRID, i32(0), f32([1, 2, 3, 4])], [], {"reduce": "add"}, "HA508", "update"),
        ("TopKV2", [GRID, np.array(5, np.int32)], [1], {}, "HA519", "k = 5; allowed: 0 to 4"),
        ("SearchSorted", [GRID, f32(1)], [], {}, "HA504", "one rank"),
        ("UnsortedSegmentSum", [GRID, i32(0, 1), i32(2)], [2], {}, "HA504", "segment_ids"),
        ("SegmentSum", [GRID, i32(0, 2, 1, 1, 1)], [1], {}, "HA519", "ascend"),
        ("EmbeddingBag", [GRID, i32(0, 1)], [], {}, "HA515", "offsets"),
        ("UniqueWithCountsExt2", [GRID, i64()], [1], {"out_idx": 3}, "HA519", "one axis"),
        ("Histogram", [GRID], [], {"bins": 0}, "HA508", "bins = 0"),
        ("OneHot", [i32(1), np.array(-1, np.int32), f32(1), f32(0)], [1], {}, "HA519", "depth = -1"),
    ],
)  # fmt: skip
def test_refused_with_the_names_and_what_is_allowed(
    op: str, inputs: Any, const: Any, attrs: Any, rule: str, words: str
) -> None:
    with pytest.raises(Refused) as caught:
        bind(op, inputs, (), const, **attrs)
    assert caught.value.rule == rule
    assert op in caught.value.text
    assert words in caught.value.text


@pytest.mark.parametrize(
    ("op", "inputs", "const", "attrs", "words"),
    [
        ("Gather", [GRID, i32(0, 7)], [], {}, "indices[1] = 7"),
        ("GatherV2D", [GRID, i32(-6)], [], {"axis": 0}, "indices[0] = -6; allowed: -5 to 4"),
        ("GatherNd", [GRID, i32([0, 0], [1, 4])], [], {}, "4"),
        ("GatherElements", [GRID, i64([5])], [], {"dim": 0}, "index[0, 0] = 5"),
        ("ScatterNdUpdate", [np.zeros((4, 2), np.float32), i64([1], [4]), f32([1, 1], [2, 2])], [], {}, "4; allowed: -4 to 3"),
        ("ScatterAdd", [GRID, i32(9), np.ones((1, 4), np.float32)], [], {}, "indices[0] = 9"),
        ("ScatterElements", [GRID, i64([4]), f32([1])], [], {"axis": 1}, "indices[0, 0] = 4"),
        ("Scatter", [np.zeros((1, 3), np.float32), i32(2), f32([1, 1])], [], {"reduce": "update", "axis": 1}, "position 3"),
        ("UnsortedSegmentSum", [GRID, i32(0, 1, 2, 0, 0), i32(2)], [2], {}, "segment_ids[2] = 2"),
        ("EmbeddingDenseGrad", [GRID, i64(0, 1, 2, 3, 9)], [], {"num_weights": 5}, "indices[4] = 9"),
        ("MaskedScatter", [GRID, GRID > 3, f32(1)], [], {}, "updates has 1 elements"),
        ("Bincount", [i32(1, -2), np.array(3, np.int32), f32()], [1], {}, "array[1] = -2"),
    ],
)
def test_bad_data_fails_naming_place_value_and_bounds(op: str, inputs: Any, const: Any, attrs: Any, words: str) -> None:
    with pytest.raises(Failed) as caught:
        run(op, *inputs, const=const, **attrs)
    assert (caught.value.rule, caught.value.code) == ("HA510", 507035)
    assert op in caught.value.text
    assert words in caught.value.text


def test_nothing_lies_in_an_empty_axis() -> None:
    empty, zero = np.zeros((0, 3), np.float32), np.zeros((1, 3), np.int64)
    for op, inputs in (
        ("GatherElements", [empty, zero]), ("GatherV2", [empty, zero, i32(0)]), ("Gather", [empty, zero]),
        ("GatherNd", [empty, zero[:, :1]]), ("ScatterElements", [empty, zero, np.ones((1, 3), np.float32)]),
        ("ScatterUpdate", [empty, zero[0], np.ones((3, 3), np.float32)]),
    ):  # fmt: skip
        with pytest.raises(Failed, match=r"HA510: \w+: ind.* = 0; allowed: none, for (that axis|dim 0) is empty\."):
            run(op, *inputs)


@pytest.mark.parametrize("shape", [(0, 6, 4), (0, 1, 6, 4), (2, 0, 4), (2, 0, 6, 4)])
def test_columns_of_no_images(shape: tuple[int, ...]) -> None:
    """Channels are counted from the size of a window, not from how many elements are left."""
    columns = np.zeros(shape, np.float32)
    attrs: dict[str, Any] = {"kernel_size": [2, 3], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    image = run("Col2im", columns, i32(3, 4), const=[1], **attrs)
    assert image.shape == (shape[0], shape[1] // 6 if len(shape) == 3 else shape[1], 3, 4)
    assert run("Im2col", image, ksizes=[2, 3]).shape == (*image.shape[:1], image.shape[1] * 6, 4)


def test_put_without_indices_keeps_the_sign_of_zero() -> None:
    x, none = f32(1, 2), np.zeros(0, np.int64)
    assert np.signbit(run("IndexPutV2", x, f32(-0.0), none, none)).all()
    assert run("IndexPutV2", x, f32(-0.0), none, none, accumulate=True).tolist() == [1, 2]


def test_sort_puts_nan_last_and_leaves_ties_in_order() -> None:
    values, places = run("Sort", f32(np.nan, 1, np.inf, -np.inf, 0))
    np.testing.assert_array_equal(values, f32(-np.inf, 0, 1, np.inf, np.nan))
    assert places.tolist() == [3, 4, 1, 2, 0]
    values, places = run("Sort", f32(2, 1, 2, np.nan, -0.0, 0.0), descending=True)
    assert places.tolist() == [3, 0, 2, 1, 4, 5]
    assert places.dtype == np.int32


def test_sort_and_top_k_give_int64_indices_when_asked() -> None:
    assert run("Sort", f32(2, 1), y2_dtype=dtypes.INT64)[1].dtype == np.int64
    values, places = run(
        "TopKV2", np.array([1, 5, 5, 2], ml_dtypes.bfloat16), np.array(2, np.int32), const=[1], indices_dtype=dtypes.INT64
    )
    assert values.tolist() == [5, 5]
    assert places.tolist() == [1, 2]
    assert places.dtype == np.int64


def test_long_rows_are_sorted_like_numpy_does() -> None:
    rng = np.random.default_rng(4)
    for x in (
        rng.integers(-50, 50, (3, 70000)).astype(np.float16),
        rng.integers(-9, 9, (2, 5000)),
        rng.integers(0, 255, (2, 999)).astype(np.uint8),
    ):
        values, places = run("Sort", x)
        order = np.argsort(x.astype(np.float64), axis=-1, kind="stable")
        assert np.array_equal(places, order)
        assert np.array_equal(values, np.take_along_axis(x, order, -1))
    x = rng.integers(-50, 50, (3, 7000)).astype(np.float32)
    order = np.argsort(-x, axis=-1, kind="stable")[:, :9]
    assert np.array_equal(run("TopK", x, np.array(9, np.int32), const=[1])[1], order)


def test_strided_slice_masks() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    lists = (i32(0, 0, 1), i32(0, 0, 3), i32(1, 1, 1))
    got = run("StridedSlice", x, *lists, const=[1, 2, 3], ellipsis_mask=1, new_axis_mask=2)
    assert np.array_equal(got, x[..., None, 1:3])
    got = run("StridedSlice", x, i32(1, 2), i32(0, 0), i32(1, -1), const=[1, 2, 3], shrink_axis_mask=1, end_mask=2)
    assert np.array_equal(got, x[1, 2::-1])
    assert run("StridedSlice", i32(0, 1, 2, 3, 4), i32(-1), i32(2147483647), i32(1), const=[1, 2, 3]).tolist() == [4]


def test_shapes_before_values_are_known_have_finite_bounds() -> None:
    (one,) = bind("StridedSlice", [GRID, i32(0, 0), i32(2, 2), i32(1, 1)]).infer()
    assert (one.shape, one.ranges) == ((-1, -1), ((0, 5), (0, 4)))
    values, _ = bind("TopKV2", [GRID, np.array(2, np.int32)]).infer()
    assert values.ranges == ((5, 5), (0, 4))
    (one,) = bind("Where", [np.array([0, 1, 1, 0], bool)]).infer()
    assert one.ranges == ((0, 4), (1, 1))
    (one,) = bind("MaskedSelect", [GRID, GRID > 2]).infer()
    assert one.ranges == ((0, 20),)
    (one,) = bind("Tile", [TensorSpec(0, (-1, 4), 2, ranges=((1, 8), (4, 4))), i32(2, 1)], const=[1]).infer()
    assert one.ranges == ((2, 16), (4, 4))


def test_where_writes_its_true_shape() -> None:
    out = np.full((4, 1), -7, np.int64)
    call = bind("Where", [np.array([0, 1, 1, 0], bool)], [TensorSpec(dtypes.INT64, (4, 1))])
    assert call.function()(np.array([0, 1, 1, 0], bool), out) == ((2, 1),)
    assert out.ravel().tolist() == [1, 2, -7, -7]


def test_pad_by_negative_numbers_and_by_bits() -> None:
    nan = np.array([0x7E01], np.uint16).view(np.float16)
    got = run("PadV3", np.concatenate([nan, np.ones(2, np.float16)]), i32(2, -1), const=[1])
    assert got.view(np.uint16).tolist() == [0, 0, 0x7E01, 0x3C00]
    assert run("PadV3Grad", f32([1, 2, 4, 8]), i32(0, 0, 1, 1), const=[1], mode="circular").tolist() == [[2 + 8, 4 + 1]]


def test_in_place_scatter_reads_before_it_writes() -> None:
    var = np.arange(8, dtype=np.float32).reshape(4, 2)
    call = bind("ScatterUpdate", [var, i32(0, 1), var[2:]], [TensorSpec(0, (4, 2))])
    call.function()(var, i32(0, 1), var[2:], var)
    assert var.tolist() == [[4, 5], [6, 7], [4, 5], [6, 7]]


def test_gather_over_its_own_indices() -> None:
    """The output lies where the indices were: all of them count before it is written."""
    x = np.arange(12, dtype=np.int64).reshape(3, 4)
    for axis, batch, shape in ((1, 0, (3, 3)), (0, 0, (3, 4)), (1, 1, (3, 3))):
        memory = np.zeros(12, np.int64)
        picked = memory[:9].reshape(3, 3) if batch else memory[:3]
        picked[...] = (2, 1, 0)
        expected = np.take(x, [2, 1, 0], axis)
        y, at = memory[: expected.size].reshape(shape), i64(axis).reshape(())
        call = bind("GatherV2", [x, picked, at], [TensorSpec(dtypes.INT64, shape)], const=[2], batch_dims=batch)
        call.function()(x, picked, at, y)
        np.testing.assert_array_equal(y, expected)


def test_many_duplicates_add_up_exactly_enough() -> None:
    x = np.full((200000, 1), 0.1, np.float32)
    got = run("UnsortedSegmentSum", x, np.zeros(200000, np.int32), i32(1), const=[2])
    np.testing.assert_allclose(got, np.float64(np.float32(0.1)) * 200000, rtol=1e-7)
    big = np.full(3, 2**62, np.int64)
    assert run("UnsortedSegmentSum", big, i32(0, 0, 1), i32(2), const=[2]).tolist() == [-(2**63), 2**62]


def test_list_tensors_without_names_and_a_trailing_optional_one() -> None:
    var = np.zeros((3, 2), np.float32)
    outs = [np.zeros((3, 2), np.float32) for _ in range(2)]
    inputs = [var, var, i32(0, 2), np.ones((2, 1, 2), np.float32)]
    call = bind("ScatterList", inputs, [TensorSpec(0, (3, 2))] * 2)
    call.function()(*inputs, *outs)
    assert [one[:, 0].tolist() for one in outs] == [[1, 0, 0], [0, 0, 1]]


def test_pack_needs_no_attribute_n() -> None:
    assert run("Pack", GRID, GRID).shape == (2, 5, 4)


def test_trans_data_by_storage_format_and_by_shape_are_the_same() -> None:
    x = np.arange(2 * 20 * 2 * 3, dtype=np.float16).reshape(2, 20, 2, 3)
    names = {"src_format": "NCHW", "dst_format": "NC1HWC0"}
    plain = run("TransData", x, outputs=[TensorSpec(1, (2, 2, 2, 3, 16), formats.NC1HWC0)], layout=formats.NCHW, **names)
    stored = np.empty((2, 2, 2, 3, 16), np.float16)
    described = TensorSpec(1, x.shape, formats.NCHW, formats.NC1HWC0, stored.shape)
    bind("TransData", [x], [described], layout=formats.NCHW, **names).function()(x, stored)
    assert np.array_equal(plain, stored)
    assert plain[1, 1, 0, 2, 3] == x[1, 19, 0, 2]
    assert not plain[:, 1, :, :, 4:].any()
    back = {"src_format": "NC1HWC0", "dst_format": "NCHW"}
    assert np.array_equal(
        run("TransData", plain, outputs=[TensorSpec(1, x.shape, formats.NCHW)], layout=formats.NC1HWC0, **back), x
    )


def test_trans_data_refuses_what_is_no_pair() -> None:
    x = np.zeros((2, 2, 2, 2, 16), np.float16)
    with pytest.raises(Refused, match="NC1HWC0 goes with NCHW, NHWC"):
        bind(
            "TransData",
            [x],
            [TensorSpec(1, (2, 2, 2, 32), formats.HWCN)],
            layout=formats.NC1HWC0,
            src_format="NC1HWC0",
            dst_format="HWCN",
        )
    with pytest.raises(Refused, match="they must agree"):
        bind(
            "TransData",
            [x[0]],
            [TensorSpec(1, (2, 2, 2, 16), formats.NHWC)],
            layout=formats.NCHW,
            src_format="NHWC",
            dst_format="NHWC",
        )


def test_unique_of_nan_and_unused_outputs() -> None:
    outputs = [TensorSpec(0, (4,)), TensorSpec(9, (1,)), TensorSpec(9, (1,))]
    call = bind("UniqueWithCountsAndSorting", [f32(np.nan, 1, np.nan, -1)], outputs, sorted=True, return_inverse=False)
    y, inverse, counts = np.empty(4, np.float32), i64(-7), i64(-7)
    assert call.function()(f32(np.nan, 1, np.nan, -1), y, inverse, counts)[0] == (4,)
    np.testing.assert_array_equal(y, f32(-1, 1, np.nan, np.nan))
    assert (inverse[0], counts[0]) == (-7, -7)


def test_embedding_bag_of_the_older_prototype() -> None:
    outputs = [TensorSpec(0, (3, 4)), TensorSpec(3, (4,)), TensorSpec(3, (3,)), TensorSpec(3, (3, 4))]
    y, bag, size, best = run("EmbeddingBag", GRID, i32(0, 1, 4, 2), i32(0, 2, 2), outputs=outputs, mode="max", padding_idx=4)
    assert y.tolist() == [GRID[1].tolist(), [0] * 4, GRID[2].tolist()]
    assert (bag.tolist(), size.tolist()) == ([0, 0, 2, 2], [2, 0, 1])
    assert best.tolist() == [[1] * 4, [-1] * 4, [2] * 4]


def test_histogram_takes_the_range_of_the_data() -> None:
    assert run("Histogram", f32(1, 2, 2, 5), bins=4).tolist() == [1, 2, 0, 1]
    assert run("Histogram", i32(3, 3), bins=2).tolist() == [0, 2]
    with pytest.raises(Failed, match="no range"):
        run("Histogram", f32(1, np.inf), bins=2)


@pytest.mark.parametrize("op", ["BroadcastToD"])
def test_broadcast_names_the_dim(op: str) -> None:
    with pytest.raises(Refused, match="dim 1 is 3 against 4"):
        bind(op, [f32([1, 2, 3])], shape=[2, 4])


def test_a_split_has_as_many_parts_as_outputs_are_described():
    part = TensorSpec(dtypes.FLOAT, (4, 2))
    with pytest.raises(Refused, match="HA513: SplitD: 2 outputs y were described; num_split = 2147483648"):
        bind("SplitD", [np.zeros((4, 4), np.float32)], [part, part], split_dim=1, num_split=2**31)
