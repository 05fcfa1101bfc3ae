"""The three seed functions, compile, handles and infer_shape, as the contract has them."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from tests.calls import (
    Tensor,
    absent,
    arguments,
    attributes,
    build_and_execute,
    compile_op,
    const,
    device,
    execute,
    host,
    message,
)  # fmt: skip

INVALID, NO_MATCH, BUILD_FAILED, TOO_SMALL, NO_DYNAMIC = 100000, 100024, 500002, 145000, 148050
OUTPUT_MISMATCH, INPUT_MISMATCH = 100022, 100021
OUT_OF_BOUNDS = 507035


@pytest.fixture
def stream() -> int:
    handle, ret = acl.rt.create_stream()
    assert ret == 0
    return int(handle)


def pair(n: int, dtype: str = "float32") -> tuple[Tensor, Tensor, Tensor]:
    return device(np.arange(n, dtype=dtype)), device(np.full(n, 10, dtype)), device(np.zeros(n, dtype))


def test_execute_v2_runs_a_compiled_operator(stream: int) -> None:
    """Seed functions: found by type, descs and attributes; the caller synchronizes."""
    x, y, z = pair(8)
    assert compile_op("Add", [x, y], [z]) == 0
    assert execute("Add", [x, y], [z], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), [10, 11, 12, 13, 14, 15, 16, 17])


@pytest.mark.parametrize("way", ["execute", "execute_v2"])
def test_no_model_is_100024_and_the_text_says_how_models_come(stream: int, way: str) -> None:
    """Seed functions: none fits is 100024."""
    x, y, z = pair(9)
    assert execute("Add", [x, y], [z], stream=stream, way=way) == NO_MATCH
    text = message()
    assert "Add" in text
    assert "atc" in text
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), np.zeros(9))


def test_the_null_stream_is_the_default_stream(stream: int) -> None:
    """Seed functions: stream 0 is the default stream of the current context."""
    x, y, z = pair(4)
    assert build_and_execute("Sub", [y, x], [z], stream=0) == 0
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(z.read(), [10, 9, 8, 7])


@pytest.mark.parametrize("way", ["execute", "execute_v2"])
def test_numbers_of_descs_and_buffers_must_agree(way: str) -> None:
    """Seed functions: Python, len(input_desc) ≠ len(inputs), or outputs likewise: IP naming both lengths."""
    x, y, z = pair(4)
    op, descs, buffers, out_descs, out_buffers, attr = arguments("Add", [x, y], [z], attributes({}))
    call = getattr(acl.op, way)
    assert call(op, descs, buffers[:1], out_descs, out_buffers, attr, 0) == INVALID
    text = message()
    assert "2" in text
    assert "1" in text
    assert call(op, descs, buffers, out_descs, [], attr, 0) == INVALID


def test_a_buffer_that_ends_before_its_tensor_is_145000(stream: int) -> None:
    """Seed functions: a buffer smaller than its desc, both in whole 32-byte blocks; nothing is run, nothing written."""
    x, y, z = pair(16)
    assert compile_op("Add", [x, y], [z]) == 0
    short = device(np.zeros(16, np.float32), size=32)
    assert execute("Add", [x, y], [short], stream=stream) == TOO_SMALL
    text = message()
    assert "64" in text
    assert "32" in text
    assert acl.rt.synchronize_stream(stream) == 0


def test_a_larger_buffer_is_legal_and_only_the_tensor_is_written(stream: int) -> None:
    """Seed functions: a larger buffer is legal; only the desc's bytes are touched."""
    x, y = device(np.arange(5, dtype=np.float32)), device(np.ones(5, np.float32))
    room = device(np.full(16, 7, np.float32))
    z = Tensor(room.array, acl.create_tensor_desc(0, [5], 2), room.buffer, room.pointer)
    assert build_and_execute("Add", [x, y], [z], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), [1, 2, 3, 4, 5] + [7] * 11)


def test_all_outputs_empty_runs_nothing() -> None:
    """Seed functions: if there are outputs and every one has a 0 dimension, return 0, nothing runs, even without a model."""
    empty = [Tensor(np.empty((0, 2)), acl.create_tensor_desc(0, [0, 2], 2), acl.create_data_buffer(0, 0)) for _ in range(3)]
    assert execute("Add", empty[:2], empty[2:]) == 0
    assert execute("NoSuchOperatorAtAll", empty[:2], empty[2:]) == 0


def test_a_dim_of_minus_one_at_execute_is_named() -> None:
    """Finding a model: a desc with -1 or -2 at execute is IP, named."""
    z = device(np.zeros(4, np.float32))
    x = Tensor(z.array, acl.create_tensor_desc(0, [-1], 2), z.buffer, z.pointer)
    assert execute("Abs", [x], [z]) == INVALID
    text = message()
    assert "inputDesc[0]" in text
    assert "-1" in text


def test_in_place_on_the_same_buffer(stream: int) -> None:
    """Idioms: in-place operators, input and output share memory."""
    x = device(np.array([1, 2, 3, 4], np.float32))
    one = device(np.ones(4, np.float32))
    for _ in range(3):
        assert build_and_execute("Add", [x, one], [x], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(x.read(), [4, 5, 6, 7])


def test_descs_and_buffers_may_go_right_after_the_call(stream: int) -> None:
    """Idioms: descs and buffers destroyed right after the call; the task owns what it needs."""
    x, y, z = pair(4)
    assert build_and_execute("Mul", [x, y], [z], stream=stream) == 0
    for one in (x, y, z):
        acl.destroy_tensor_desc(one.desc)
        assert acl.destroy_data_buffer(one.buffer) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), [0, 10, 20, 30])


def test_an_optional_input_is_left_out_in_every_documented_form(stream: int) -> None:
    """Seed functions: the four-argument desc with an empty buffer, and the three-argument one with (0, 0)."""
    x = device(np.ones((1, 1, 3, 3), np.float32), fmt=0)
    w = device(np.ones((1, 1, 2, 2), np.float32), fmt=0)
    attrs = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1, 1, 1], "data_format": "NCHW"}
    seed_form = Tensor(np.empty(0), acl.create_tensor_desc(-1, 0, [], -1), acl.create_data_buffer([], 0))
    for bias in (absent(), seed_form):
        y = device(np.zeros((1, 1, 2, 2), np.float32), fmt=0)
        assert build_and_execute("Conv2D", [x, w, bias], [y], attrs, stream=stream) == 0, message()
        assert acl.rt.synchronize_stream(stream) == 0
        np.testing.assert_array_equal(y.read(), np.full((1, 1, 2, 2), 4))


@pytest.mark.parametrize("place", [const, host, device])
def test_a_value_input_arrives_in_three_ways(stream: int, place: object) -> None:
    """Seed functions: const, host placement; choice: plain device memory."""
    x = device(np.arange(20, dtype=np.float32).reshape(5, 4))
    y = device(np.zeros((3, 2), np.float32))
    offsets, size = place(np.array([1, 0], np.int32)), place(np.array([3, 2], np.int32))  # type: ignore[operator]
    assert build_and_execute("Slice", [x, offsets, size], [y], stream=stream) == 0, message()
    assert acl.rt.synchronize_stream(stream) == 0, message()
    np.testing.assert_array_equal(y.read(), [[4, 5], [8, 9], [12, 13]])


def test_const_data_takes_part_in_the_match(stream: int) -> None:
    """Finding a model: const bytes are compared."""
    x = device(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    turned, same = device(np.zeros((3, 2), np.float32)), device(np.zeros((2, 3), np.float32))
    assert compile_op("Transpose", [x, const(np.array([1, 0], np.int32))], [turned]) == 0
    assert execute("Transpose", [x, const(np.array([1, 0], np.int32))], [turned], stream=stream) == 0
    assert execute("Transpose", [x, const(np.array([0, 1], np.int32))], [same], stream=stream) == NO_MATCH
    assert build_and_execute("Transpose", [x, const(np.array([0, 1], np.int32))], [same], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(turned.read(), [[1, 4], [2, 5], [3, 6]])
    np.testing.assert_array_equal(same.read(), [[1, 2, 3], [4, 5, 6]])


def test_the_true_shape_is_written_back(stream: int) -> None:
    """Dynamic shapes: execute_v2 computes the true shape, writes it to the output descs and is synchronous."""
    x = device(np.array([0, 3, 0, 4], np.float32))
    y = device(np.full((4, 1), -1, np.int64))
    assert build_and_execute("NonZero", [x], [y], stream=stream) == 0
    assert y.dims() == [2, 1]
    np.testing.assert_array_equal(y.read()[:2], [[1], [3]])


def test_a_true_shape_larger_than_described_is_100022(stream: int) -> None:
    """Dynamic shapes: both shapes in the text, nothing written; the failure is the call's own, not the stream's."""
    x = device(np.ones(4, np.float32))
    y = device(np.full((2, 1), -1, np.int64))
    assert build_and_execute("NonZero", [x], [y], stream=stream) == OUTPUT_MISMATCH
    text = message()
    assert "[2,1]" in text
    assert "[4,1]" in text
    np.testing.assert_array_equal(y.read(), [[-1], [-1]])
    assert acl.rt.synchronize_stream(stream) == 0


def test_calls_that_cannot_write_back_refuse_and_name_the_v2_form(stream: int) -> None:
    """Dynamic shapes: aclopExecute, aclopCompileAndExecute and handles give 148050."""
    x, y = device(np.ones(4, np.float32)), device(np.zeros((4, 1), np.int64))
    assert build_and_execute("NonZero", [x], [y], stream=stream, way="compile_and_execute") == NO_DYNAMIC
    assert "V2" in message()
    assert execute("NonZero", [x], [y], stream=stream, way="execute") == NO_DYNAMIC
    assert acl.op.create_handle("NonZero", [x.desc], [y.desc], 0)[1] == NO_DYNAMIC


def test_bad_data_surfaces_at_synchronize_and_is_cleared(stream: int) -> None:
    """Asynchronous failure: the stream remembers it; the next synchronize returns and clears it; later tasks still run."""
    x = device(np.arange(6, dtype=np.float32).reshape(3, 2))
    bad, good = device(np.array([0, 9], np.int32)), device(np.array([2, 0], np.int32))
    y, z = device(np.zeros((2, 2), np.float32)), device(np.zeros((2, 2), np.float32))
    axis = const(np.array(0, np.int32))
    assert build_and_execute("GatherV2", [x, bad, axis], [y], stream=stream) == 0
    assert build_and_execute("GatherV2", [x, good, axis], [z], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == OUT_OF_BOUNDS
    text = message()
    for part in ("GatherV2", "indices[1]", "9", "calls.py"):
        assert part in text
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(y.read(), np.zeros((2, 2)))
    np.testing.assert_array_equal(z.read(), [[4, 5], [0, 1]])


class TestHandles:
    """aclopCreateHandle, aclopExecWithHandle, aclopDestroyHandle."""

    def test_a_handle_runs_with_other_buffers(self, stream: int) -> None:
        x, y, z = pair(16, "float16")
        assert compile_op("Add", [x, y], [z]) == 0
        handle, ret = acl.op.create_handle("Add", [x.desc, y.desc], [z.desc], 0)
        assert ret == 0
        for one in (x, y, z):
            acl.destroy_tensor_desc(one.desc)
        for _ in range(3):
            assert acl.op.execute_with_handle(handle, [x.buffer, y.buffer], [z.buffer], stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0
        np.testing.assert_array_equal(z.read(), np.arange(16) + 10)
        acl.op.destroy_handle(handle)

    def test_counts_other_than_the_handles(self, stream: int) -> None:
        x, y, z = pair(4)
        assert compile_op("Add", [x, y], [z]) == 0
        handle, _ = acl.op.create_handle("Add", [x.desc, y.desc], [z.desc], 0)
        assert acl.op.execute_with_handle(handle, [x.buffer], [z.buffer], stream) == INPUT_MISMATCH
        assert acl.op.execute_with_handle(handle, [x.buffer, y.buffer], [], stream) == OUTPUT_MISMATCH

    def test_small_buffers_name_both_sizes(self, stream: int) -> None:
        x, y, z = pair(16)
        assert compile_op("Add", [x, y], [z]) == 0
        handle, _ = acl.op.create_handle("Add", [x.desc, y.desc], [z.desc], 0)
        small = acl.create_data_buffer(x.pointer, 8)
        assert acl.op.execute_with_handle(handle, [small, y.buffer], [z.buffer], stream) == TOO_SMALL
        text = message()
        assert "8" in text
        assert "64" in text

    def test_no_model_and_unknown_dims(self) -> None:
        x = device(np.zeros(31, np.float32))
        assert acl.op.create_handle("Add", [x.desc, x.desc], [x.desc], 0)[1] == NO_MATCH
        open_desc = acl.create_tensor_desc(0, [-1], 2)
        assert acl.op.create_handle("Add", [open_desc, open_desc], [open_desc], 0)[1] == NO_DYNAMIC
        assert "aclopExecuteV2" in message()

    def test_dead_and_null_handles(self, stream: int) -> None:
        x, y, z = pair(4)
        assert compile_op("Add", [x, y], [z]) == 0
        handle, _ = acl.op.create_handle("Add", [x.desc, y.desc], [z.desc], 0)
        acl.op.destroy_handle(handle)
        for dead in (handle, 0, 12345):
            assert acl.op.execute_with_handle(dead, [x.buffer, y.buffer], [z.buffer], stream) == INVALID
            assert message()
        acl.op.destroy_handle(0)


class TestInferShape:
    """acl.op.infer_shape in its three outcomes."""

    @staticmethod
    def infer(op: str, inputs: list[Tensor], attrs: dict[str, object] | None = None) -> tuple[int, int]:
        out = acl.create_tensor_desc(-1, [], -1)
        buffers = [one.buffer for one in inputs]
        ret = acl.op.infer_shape(op, [one.desc for one in inputs], buffers, 1, [out], attributes(attrs or {}))
        return ret, out

    def test_exact(self) -> None:
        x, y = host(np.zeros((2, 1, 3), np.float16)), host(np.zeros((4, 1), np.float16))
        ret, out = self.infer("Add", [x, y])
        assert ret == 0
        assert acl.get_tensor_desc_type(out) == 1
        assert [acl.get_tensor_desc_dim_v2(out, i)[0] for i in range(acl.get_tensor_desc_num_dims(out))] == [2, 4, 3]

    def test_a_range_with_a_finite_upper_bound(self) -> None:
        ret, out = self.infer("NonZero", [host(np.zeros((2, 3), np.float32))])
        assert ret == 0
        assert acl.get_tensor_desc_dim_v2(out, 0)[0] == -1
        bounds, ret = acl.get_tensor_desc_dim_range(out, 0, 2)
        assert ret == 0
        assert list(bounds)[1] == 6

    def test_values_are_read_from_host_memory(self) -> None:
        x, shape = host(np.zeros((1, 3), np.float32)), host(np.array([2, 3], np.int64))
        ret, out = self.infer("BroadcastTo", [x, shape])
        assert ret == 0
        assert [acl.get_tensor_desc_dim_v2(out, i)[0] for i in range(2)] == [2, 3]

    def test_an_unknown_operator(self) -> None:
        ret, _ = self.infer("NoSuchOp", [host(np.zeros(2, np.float32))])
        assert ret == INVALID
        assert "NoSuchOp" in message()


def test_an_unknown_operator_cannot_be_built() -> None:
    """aclopCompile: unknown operator 500002 with a text that names it and the nearest names."""
    x, y, z = pair(4)
    assert compile_op("Addd", [x, y], [z]) == BUILD_FAILED
    text = message()
    assert "Addd" in text
    assert "Add" in text.replace("Addd", "")


def test_only_the_system_compile_flag() -> None:
    """aclopCompile: only flag ACL_COMPILE_SYS (0), else 200001."""
    x, y, z = pair(4)
    given = arguments("Add", [x, y], [z], 0)
    assert acl.op.compile(given[0], given[1], given[3], 0, 0, 1, None) == 200001


def test_an_attribute_counts_in_the_match(stream: int) -> None:
    """Finding a model: an explicit attribute equal to its default does not match a model without it."""
    x, y = device(np.ones((2, 3), np.float32)), device(np.zeros(2, np.float32))
    axes = const(np.array([1], np.int32))
    assert compile_op("ReduceSum", [x, axes], [y]) == 0
    assert execute("ReduceSum", [x, axes], [y], {"keep_dims": False}, stream) == NO_MATCH
    assert execute("ReduceSum", [x, axes], [y], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(y.read(), [3, 3])


def test_an_attribute_of_another_kind_is_500002_naming_both() -> None:
    """When a model is built: another kind than the prototype's is 500002 naming both."""
    x, y = device(np.ones((2, 3), np.float32)), device(np.zeros(2, np.float32))
    assert compile_op("ReduceSumD", [x], [y], {"axes": 1, "keep_dims": False}) == BUILD_FAILED
    text = message()
    for part in ("axes", "int", "list_int"):
        assert part in text


def test_an_unknown_attribute_is_dropped(stream: int) -> None:
    """When a model is built: an attribute that no prototype knows is dropped and reported."""
    x, y, z = pair(4)
    assert build_and_execute("Add", [x, y], [z], {"no_such_attr": 1}, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), [10, 11, 12, 13])


@pytest.mark.parametrize("way", ["execute", "execute_v2"])
def test_an_empty_operator_name_is_refused(way: str) -> None:
    """Argument errors: the operator type must be a name."""
    x, y, z = pair(4)
    assert execute("", [x, y], [z], way=way) == INVALID
    assert "opType" in message()
    assert compile_op("", [x, y], [z]) == INVALID
