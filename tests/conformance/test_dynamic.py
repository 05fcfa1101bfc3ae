"""Unknown dims: models with -1, ranges and -2, infer_shape in its three outcomes, and the true dims written back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import acl
from tests.calls import Tensor, attributes, build_and_execute, const, device, execute, host, message

INVALID, NO_MATCH, OUTPUT_MISMATCH, NO_DYNAMIC = 100000, 100024, 100022, 148050
FLOAT, INT32, INT64, ND = 0, 3, 9, 2
NO_BOUND = -1

Range = tuple[int, int]
Attrs = dict[str, Any]


def describe(dims: Sequence[int], ranges: Sequence[Range] = (), dtype: int = FLOAT) -> int:
    """A descriptor for compiling: dims of -1, with a range for each dim if wanted, or [-2]."""
    desc = acl.create_tensor_desc(dtype, list(dims), ND)
    if ranges:
        assert acl.set_tensor_shape_range(desc, [list(one) for one in ranges]) == 0
    return int(desc)


def compile_descs(op: str, inputs: Sequence[int], outputs: Sequence[int], attrs: Attrs | None = None) -> int:
    return int(acl.op.compile(op, list(inputs), list(outputs), attributes(attrs or {}), 0, 0, None))


def arange(*shape: int, dtype: Any = np.float32) -> Tensor:
    return device(np.arange(np.prod(shape), dtype=dtype).reshape(shape))


def zeros(*shape: int, dtype: Any = np.float32) -> Tensor:
    return device(np.zeros(shape, dtype))


class TestModels:
    """Finding a model: static ones first, then dynamic ones whose ranges hold the call's dims."""

    def test_a_model_with_unknown_dims_serves_every_size(self) -> None:
        desc = describe([-1, 7])
        assert compile_descs("Square", [desc], [desc]) == 0, message()
        for rows in (1, 3, 100):
            x, y = arange(rows, 7), zeros(rows, 7)
            assert execute("Square", [x], [y]) == 0, message()
            np.testing.assert_array_equal(y.read(), x.array**2)
        assert execute("Square", [arange(3, 8)], [zeros(3, 8)]) == NO_MATCH
        assert execute("Square", [arange(7)], [zeros(7)]) == NO_MATCH

    def test_ranges_are_bounds_and_the_text_says_so(self) -> None:
        desc = describe([-1, 11], [(2, 4), (11, 11)])
        assert compile_descs("Relu", [desc], [desc]) == 0, message()
        for rows, code in ((1, NO_MATCH), (2, 0), (4, 0), (5, NO_MATCH)):
            assert execute("Relu", [arange(rows, 11)], [zeros(rows, 11)]) == code, rows
        text = message()
        for part in ("Relu", "5", "2", "4"):
            assert part in text

    def test_a_maximum_of_minus_one_is_no_bound(self) -> None:
        desc = describe([-1, 13], [(3, NO_BOUND), (13, 13)])
        assert compile_descs("Square", [desc], [desc]) == 0
        assert execute("Square", [arange(5000, 13)], [zeros(5000, 13)]) == 0
        assert execute("Square", [arange(2, 13)], [zeros(2, 13)]) == NO_MATCH

    def test_an_unknown_rank_serves_every_rank(self) -> None:
        desc = describe([-2], dtype=INT32)
        assert compile_descs("Neg", [desc], [desc]) == 0, message()
        for shape in ((), (3,), (2, 3), (2, 1, 3, 1, 2)):
            x, y = device(np.ones(shape, np.int32)), device(np.zeros(shape, np.int32))
            assert execute("Neg", [x], [y]) == 0, message()
            np.testing.assert_array_equal(y.read(), -np.ones(shape))

    def test_dtypes_and_attributes_must_be_equal_still(self) -> None:
        x, y = describe([-1, 17]), describe([-1])
        assert compile_descs("ReduceSumD", [x], [y], {"axes": [1]}) == 0, message()
        assert execute("ReduceSumD", [arange(3, 17)], [zeros(3)], {"axes": [1]}) == 0, message()
        assert execute("ReduceSumD", [arange(3, 17)], [zeros(17)], {"axes": [0]}) == NO_MATCH
        assert execute("ReduceSumD", [arange(3, 17, dtype=np.int32)], [zeros(3, dtype=np.int32)], {"axes": [1]}) == NO_MATCH

    def test_the_call_must_be_one_the_operator_can_have(self) -> None:
        """Shapes within the ranges that do not go together are refused when the call is made, not computed."""
        a, b = describe([-1, 19]), describe([-1, -1])
        assert compile_descs("Add", [a, b], [describe([-1, -1])]) == 0, message()
        assert execute("Add", [arange(2, 19), arange(1, 19)], [zeros(2, 19)]) == 0, message()
        ret = execute("Add", [arange(2, 19), arange(3, 19)], [zeros(3, 19)])
        assert ret != 0
        text = message()
        for part in ("Add", "[2,19]", "[3,19]"):
            assert part in text

    def test_no_handle_of_a_dynamic_model(self) -> None:
        desc = describe([-1, 23])
        assert compile_descs("Square", [desc], [desc]) == 0
        x = arange(2, 23)
        assert acl.op.create_handle("Square", [desc], [desc], 0)[1] == NO_DYNAMIC
        assert acl.op.create_handle("Square", [x.desc], [x.desc], 0)[1] == NO_DYNAMIC
        assert "aclopExecuteV2" in message()

    @pytest.mark.parametrize("way", ["execute", "execute_v2"])
    @pytest.mark.parametrize("dims", [[-1, 7], [-2]])
    def test_a_call_has_no_unknown_dims(self, dims: list[int], way: str) -> None:
        """A desc with -1 or -2 at execute: IP, named; outputs, too."""
        real = arange(3, 7)
        open_one = Tensor(real.array, describe(dims), real.buffer, real.pointer)
        for inputs, outputs, named in (([open_one], [real], "inputDesc[0]"), ([real], [open_one], "outputDesc[0]")):
            assert execute("Square", inputs, outputs, way=way) == INVALID
            text = message()
            assert named in text
            assert str(dims[0]) in text


class TestInferShape:
    """Exact dims; -1 with ranges, whose maximum is finite when the input shapes are known; -2."""

    EXACT = (
        ("Add", [(2, 1, 3), (4, 1)], {}, (2, 4, 3)),
        ("MatMul", [(3, 5), (7, 5)], {"transpose_x2": True}, (3, 7)),
        ("ReduceSumD", [(2, 3, 4)], {"axes": [0, -1], "keep_dims": True}, (1, 3, 1)),
        ("TransposeD", [(2, 3, 4)], {"perm": [2, 0, 1]}, (4, 2, 3)),
        ("SoftmaxV2", [(2, 3)], {}, (2, 3)),
        ("Square", [()], {}, ()),
    )

    @pytest.mark.parametrize(("op", "shapes", "attrs", "expected"), EXACT, ids=[case[0] for case in EXACT])
    def test_exact(self, op: str, shapes: list[tuple[int, ...]], attrs: Attrs, expected: tuple[int, ...]) -> None:
        assert infer(op, [host(np.zeros(shape, np.float32)) for shape in shapes], attrs) == (FLOAT, list(expected), [])

    VALUES = (
        ("Transpose", [np.zeros((2, 3, 4), np.float32), np.array([1, 2, 0])], [3, 4, 2]),
        ("Slice", [np.zeros((5, 6), np.float32), np.array([1, 2]), np.array([3, -1])], [3, 4]),
        ("ReduceSum", [np.zeros((2, 3), np.float32), np.array([-1])], [2]),
        ("BroadcastTo", [np.zeros((1, 3), np.float32), np.array([2, 4, 3])], [2, 4, 3]),
        ("Fill", [np.array([2, 5]), np.array(1, np.float32)], [2, 5]),
        ("GatherV2", [np.zeros((5, 6), np.float32), np.zeros((2, 2), np.int32), np.array(1)], [5, 2, 2]),
    )

    @pytest.mark.parametrize("place", [host, const])
    @pytest.mark.parametrize(("op", "inputs", "expected"), VALUES, ids=[case[0] for case in VALUES])
    def test_exact_by_the_values_of_inputs(self, op: str, inputs: list[Any], expected: list[int], place: Any) -> None:
        """Read from host memory, or const: then the buffer of a const input may stay empty."""
        first = host(inputs[0])
        assert infer(op, [first, *map(place, inputs[1:])])[1] == expected

    RANGES = (
        ("NonZero", [np.zeros((2, 3), np.float32)], {}, [-1, 2], [(0, 6), (2, 2)]),
        ("NonZero", [np.zeros((2, 3), np.float32)], {"transpose": True}, [2, -1], [(2, 2), (0, 6)]),
        ("Where", [np.zeros((4, 5, 2), np.float32)], {}, [-1, 3], [(0, 40), (3, 3)]),
        ("MaskedSelect", [np.zeros((2, 3), np.float32), np.zeros((2, 3), bool)], {}, [-1], [(0, 6)]),
        ("Unique", [np.zeros(9, np.float32)], {}, [-1], [(0, 9)]),
    )

    @pytest.mark.parametrize(("op", "inputs", "attrs", "dims", "ranges"), RANGES, ids=[str(case[0]) for case in RANGES])
    def test_a_range_with_a_finite_maximum(
        self, op: str, inputs: list[Any], attrs: Attrs, dims: list[int], ranges: list[Range]
    ) -> None:
        """The documented idiom takes dim_range[1] as the dim; what is known is a range of one."""
        _, got, bounds = infer(op, list(map(host, inputs)), attrs)
        assert got == dims
        for (low, high), (least, most) in zip(bounds, ranges, strict=True):
            assert high == most
            assert least <= low <= most

    def test_unknown_dims_of_inputs_pass_through(self) -> None:
        x = Tensor(np.zeros(1), describe([-1, 3], [(2, 8), (3, 3)]), host(np.zeros((8, 3), np.float32)).buffer)
        assert infer("Square", [x])[1:] == ([-1, 3], [(2, 8), (3, 3)])
        y = host(np.zeros((5, 1, 3), np.float32))
        assert infer("Add", [x, y])[1:] == ([5, -1, 3], [(5, 5), (2, 8), (3, 3)])
        assert infer("TransposeD", [x], {"perm": [1, 0]})[1:] == ([3, -1], [(3, 3), (2, 8)])

    def test_no_maximum_is_minus_one(self) -> None:
        x = Tensor(np.zeros(1), describe([-1, 3]), host(np.zeros((8, 3), np.float32)).buffer)
        _, dims, ranges = infer("Square", [x])
        assert dims == [-1, 3]
        assert ranges[0][1] == NO_BOUND

    @pytest.mark.parametrize("op", ["Square", "SoftmaxV2", "Relu"])
    def test_an_unknown_rank(self, op: str) -> None:
        """dims -2: the caller estimates a maximum."""
        x = Tensor(np.zeros(1), describe([-2]), host(np.zeros(8, np.float32)).buffer)
        assert infer(op, [x])[1] == [-2]

    def test_what_cannot_be_is_refused(self) -> None:
        x, y = host(np.zeros((2, 3), np.float32)), host(np.zeros((2, 4), np.float32))
        out = acl.create_tensor_desc(-1, [], -1)
        assert acl.op.infer_shape("Add", [x.desc, y.desc], [x.buffer, y.buffer], 1, [out], 0) != 0
        text = message()
        for part in ("infer_shape", "Add", "[2,3]", "[2,4]"):
            assert part in text
        empty = acl.create_data_buffer(0, 0)
        assert acl.op.infer_shape("Square", [x.desc], [empty], 1, [out], 0) == INVALID

    def test_variadic_tensors_need_names(self) -> None:
        xs = [host(np.zeros((2, width), np.float32)) for width in (1, 3)]
        assert infer_code("ConcatD", xs, {"concat_dim": 1, "N": 2}) == INVALID
        assert "set_tensor_desc_name" in message()
        for number, one in enumerate(xs):
            acl.set_tensor_desc_name(one.desc, f"x{number}")
        assert infer("ConcatD", xs, {"concat_dim": 1, "N": 2})[1] == [2, 4]


def infer(op: str, inputs: Sequence[Tensor], attrs: Attrs | None = None) -> tuple[int, list[int], list[Range]]:
    """dtype, dims and, when a dim is unknown, the ranges of the first output."""
    out = acl.create_tensor_desc(-1, [], -1)
    assert infer_code(op, inputs, attrs, out) == 0, message()
    count = acl.get_tensor_desc_num_dims(out)
    if count > 8:  # -2 as size_t
        return acl.get_tensor_desc_type(out), [-2], []
    dims = [acl.get_tensor_desc_dim_v2(out, i)[0] for i in range(count)]
    if -1 not in dims:
        return acl.get_tensor_desc_type(out), dims, []
    return acl.get_tensor_desc_type(out), dims, [dim_range(out, i) for i in range(count)]


def infer_code(op: str, inputs: Sequence[Tensor], attrs: Attrs | None = None, out: int = 0) -> int:
    outs = [out or acl.create_tensor_desc(-1, [], -1)]
    return int(acl.op.infer_shape(op, [x.desc for x in inputs], [x.buffer for x in inputs], 1, outs, attributes(attrs or {})))


def dim_range(desc: int, index: int) -> Range:
    bounds, ret = acl.get_tensor_desc_dim_range(desc, index, 2)
    assert ret == 0
    low, high = bounds
    return low, high


class TestWriteBack:
    """Only a range: outputs are described by the maximum; the true shape is computed, written and the call synchronous."""

    X = np.array([[0, 3, 0], [4, 0, 5]], np.float32)

    def infer_maximum(self, x: Tensor) -> list[int]:
        """The documented idiom: the upper bound as the dim."""
        on_host = host(x.array)
        _, dims, ranges = infer("NonZero", [on_host])
        return [high if dim == -1 else dim for dim, (_, high) in zip(dims, ranges, strict=True)]

    def test_the_idiom_from_infer_shape_to_the_true_dims(self) -> None:
        x = device(self.X)
        shape = self.infer_maximum(x)
        assert shape == [6, 2]
        y = device(np.full(shape, -7, np.int64))
        assert acl.op.compile("NonZero", [x.desc], [y.desc], 0, 0, 0, None) == 0, message()
        assert execute("NonZero", [x], [y]) == 0, message()
        assert y.dims() == [3, 2]
        np.testing.assert_array_equal(y.read()[:3], np.argwhere(self.X))
        assert acl.get_tensor_desc_size(y.desc) == 3 * 2 * 8

    def test_a_model_with_ranges(self) -> None:
        """Compiled for any number of rows; each call writes its own true dims."""
        x_desc, y_desc = describe([-1, 3], [(1, 100), (3, 3)]), describe([-1, 2], [(0, 300), (2, 2)], INT64)
        assert compile_descs("NonZero", [x_desc], [y_desc]) == 0, message()
        for rows in (1, 2, 5):
            values = np.tile(self.X[0], (rows, 1))
            x, y = device(values), device(np.zeros((rows * 3, 2), np.int64))
            assert execute("NonZero", [x], [y]) == 0, message()
            assert y.dims() == [rows, 2]
            np.testing.assert_array_equal(y.read()[:rows], np.argwhere(values))

    def test_nothing_found_is_a_0_dim(self) -> None:
        x, y = zeros(2, 3), device(np.full((6, 2), -7, np.int64))
        assert build_and_execute("NonZero", [x], [y]) == 0
        assert y.dims() == [0, 2]
        np.testing.assert_array_equal(y.read(), np.full((6, 2), -7))

    def test_too_small_a_described_shape(self) -> None:
        """100022, both shapes in the text, nothing written, the descriptor unchanged; later calls run."""
        x, y = device(self.X), device(np.full((2, 2), -7, np.int64))
        for _ in range(2):
            assert build_and_execute("NonZero", [x], [y]) == OUTPUT_MISMATCH
            text = message()
            for part in ("NonZero", "[2,2]", "[3,2]"):
                assert part in text
            assert y.dims() == [2, 2]
            np.testing.assert_array_equal(y.read(), np.full((2, 2), -7))
        assert acl.rt.synchronize_stream(0) == 0
        large = device(np.zeros((6, 2), np.int64))
        assert build_and_execute("NonZero", [x], [large]) == 0

    @pytest.mark.parametrize("way", ["execute", "compile_and_execute"])
    def test_v1_cannot_write_back(self, way: str) -> None:
        x, y = device(self.X), device(np.full((6, 2), -7, np.int64))
        assert acl.op.compile("NonZero", [x.desc], [y.desc], 0, 0, 0, None) == 0
        call = execute if way == "execute" else build_and_execute
        assert call("NonZero", [x], [y], way=way) == NO_DYNAMIC
        assert "V2" in message()
        np.testing.assert_array_equal(y.read(), np.full((6, 2), -7))

    def test_handles_cannot_write_back(self) -> None:
        x, y = device(self.X), device(np.full((6, 2), -7, np.int64))
        assert acl.op.compile("NonZero", [x.desc], [y.desc], 0, 0, 0, None) == 0
        assert acl.op.create_handle("NonZero", [x.desc], [y.desc], 0)[1] == NO_DYNAMIC
        assert "aclopExecuteV2" in message()

    def test_several_outputs_are_all_written(self) -> None:
        """Unique: the values by their true number, the places by the input's."""
        x = device(np.array([3, 1, 3, 3, 2], np.float32))
        y, index = device(np.zeros(5, np.float32)), device(np.zeros(5, np.int32))
        assert build_and_execute("Unique", [x], [y, index]) == 0, message()
        assert (y.dims(), index.dims()) == ([3], [5])
        np.testing.assert_array_equal(y.read()[:3], [3, 1, 2])
        np.testing.assert_array_equal(index.read(), [0, 1, 0, 0, 2])

    def test_the_stream_runs_up_to_the_call_first(self) -> None:
        """Synchronous: work queued on the stream before it is done, and its result is what the call sees."""
        stream, _ = acl.rt.create_stream()
        x, mask, y = device(self.X), device(np.zeros_like(self.X)), device(np.zeros((6, 2), np.int64))
        assert build_and_execute("Square", [x], [mask], stream=stream) == 0
        assert build_and_execute("NonZero", [mask], [y], stream=stream) == 0
        assert y.dims() == [3, 2]
        assert acl.rt.destroy_stream(stream) == 0

    def test_a_value_in_device_memory_writes_back(self) -> None:
        """An output shape that depends on a value input in plain device memory: V2 describes the maximum and reads the dims."""
        x, size = arange(5, 4), device(np.array([2, 3], np.int64))
        y = zeros(5, 4)
        assert build_and_execute("Slice", [x, const(np.array([1, 0], np.int64)), size], [y]) == 0, message()
        assert y.dims() == [2, 3]
        np.testing.assert_array_equal(y.read().ravel()[:6], x.array[1:3, :3].ravel())


class TestRanges:
    """set_tensor_shape_range replaces the list; get_tensor_desc_dim_range reads it."""

    def test_what_was_set_is_read(self) -> None:
        desc = describe([-1, -1, 5], [(1, 10), (2, NO_BOUND), (5, 5)])
        assert [dim_range(desc, i) for i in range(3)] == [(1, 10), (2, NO_BOUND), (5, 5)]
        assert acl.set_tensor_shape_range(desc, [[3, 4], [0, 1], [5, 5]]) == 0
        assert dim_range(desc, 0) == (3, 4)

    def test_a_known_dim_is_its_own_range(self) -> None:
        assert dim_range(describe([6, 2]), 1) == (2, 2)

    def test_bad_arguments(self) -> None:
        desc = describe([-1], [(1, 2)])
        assert acl.get_tensor_desc_dim_range(desc, 1, 2)[1] == INVALID
        assert acl.get_tensor_desc_dim_range(0, 0, 2)[1] == INVALID
        assert acl.set_tensor_shape_range(0, [[1, 2]]) == INVALID
