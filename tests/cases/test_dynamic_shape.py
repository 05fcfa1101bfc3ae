"""Shapes that are known late: unknown dims, ranges, sizes that depend on data, handles."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from hostacl import _machine
from tests.calls import build_and_execute, compile_op, const, describe, device, message
from tests.cases.driver import Run, refused, runs
from tests.cases.messages import told


@pytest.mark.case("B007")
@pytest.mark.parametrize("way", ["compile_and_execute_v2", "compile_and_execute", "execute_v2", "execute"])
def test_an_unknown_dim_in_a_call_is_named(way: str) -> None:
    told("B007 unknown dim", *refused(runs("B007")[0], code=100000, way=way).told)


@pytest.mark.case("B007")
@pytest.mark.parametrize(("start", "limit", "delta"), [(1, 7, 2), (7, 1, -2), (0, 0, 1), (1, 8, 2)])
def test_the_length_of_a_range_is_inferred(start: int, limit: int, delta: int) -> None:
    inputs = [const(np.array([value], np.int32)) for value in (start, limit, delta)]
    out = int(acl.create_tensor_desc(-1, [], -1))
    attr = acl.op.create_attr()
    descs, buffers = [one.desc for one in inputs], [one.buffer for one in inputs]
    assert acl.op.infer_shape("Range", descs, buffers, 1, [out], attr) == 0, message()
    assert acl.get_tensor_desc_num_dims(out) == 1
    assert acl.get_tensor_desc_dim_v2(out, 0) == (len(range(start, limit, delta)), 0)


@pytest.mark.case("B009")
def test_where_infers_a_range_and_writes_the_true_shape() -> None:
    (case,) = [runs("B009")[0]]
    run = Run(case)
    out = run.outputs[0].desc
    inferred = int(acl.create_tensor_desc(-1, [], -1))
    host = np.array(case["inputs"][0]["data"], np.bool_)
    buffer = acl.create_data_buffer(host.ctypes.data, host.nbytes)
    assert acl.op.infer_shape("Where", [run.inputs[0].desc], [buffer], 1, [inferred], acl.op.create_attr()) == 0
    assert acl.get_tensor_desc_dim_range(inferred, 0, 2) == ([0, 4], 0)
    assert acl.get_tensor_desc_dim_range(inferred, 1, 2) == ([1, 1], 0)
    outcome = run()
    assert (outcome.ret, outcome.synchronized) == (0, 0), outcome.text
    assert acl.get_tensor_desc_dim_v2(out, 0) == (2, 0)
    np.testing.assert_array_equal(outcome.values(), [[1], [2]])


@pytest.mark.case("B114")
def test_a_handle_wants_buffers_of_its_own_size(stream: int) -> None:
    x = device(np.arange(16, dtype=np.float32))
    y = device(np.zeros(16, np.float32))
    assert compile_op("Add", [x, x], [y]) == 0
    handle, ret = acl.op.create_handle("Add", [x.desc, x.desc], [y.desc], 0)
    assert ret == 0
    small = acl.create_data_buffer(x.pointer, 8)
    ret = acl.op.execute_with_handle(handle, [small, small], [y.buffer], stream)
    told("B114 small buffers", message(), ret, "acl.op.execute_with_handle")
    acl.op.destroy_handle(handle)


@pytest.mark.case("B114")
@pytest.mark.parametrize(("dims", "place"), [([-1], "dims[0] = -1"), ([-2], "dims[0] = -2"), ([4, -1], "dims[1] = -1")])
def test_a_handle_cannot_have_unknown_dims(dims: list[int], place: str) -> None:
    desc = acl.create_tensor_desc(0, dims, 2)
    ret = acl.op.create_handle("Add", [desc, desc], [desc], 0)[1]
    told("B114 unknown dims", message(), ret, "acl.op.create_handle", f"inputDesc[0].{place}")


@pytest.mark.case("B114")
def test_a_handle_a_thousand_times_with_other_buffers(stream: int) -> None:
    y = device(np.zeros(16, np.float32))
    inputs = [device(np.full(16, value, np.float32)) for value in range(4)]
    assert compile_op("Add", [y, y], [y]) == 0
    handle, ret = acl.op.create_handle("Add", [y.desc, y.desc], [y.desc], 0)
    assert ret == 0
    before = _machine.live_objects()
    for turn in range(1000):
        left, right = inputs[turn % 4], inputs[turn // 4 % 4]
        assert acl.op.execute_with_handle(handle, [left.buffer, right.buffer], [y.buffer], stream) == 0
        if turn % 100 == 0:
            assert acl.rt.synchronize_stream(stream) == 0
            np.testing.assert_array_equal(y.read(), left.array + right.array)
    assert acl.rt.synchronize_stream(stream) == 0
    assert _machine.live_objects() == before
    acl.op.destroy_handle(handle)


@pytest.mark.case("B002")
def test_other_const_data_is_another_operator() -> None:
    x = device(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    turned, straight = device(np.zeros((3, 2), np.float32)), device(np.zeros((2, 3), np.float32))
    swap, keep = const(np.array([1, 0], np.int32)), const(np.array([0, 1], np.int32))
    assert build_and_execute("Transpose", [x, swap], [turned]) == 0
    assert build_and_execute("Transpose", [x, keep], [straight]) == 0
    assert acl.rt.synchronize_device() == 0
    np.testing.assert_array_equal(turned.read(), [[1, 4], [2, 5], [3, 6]])
    np.testing.assert_array_equal(straight.read(), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.case("B002")
@pytest.mark.parametrize("way", ["execute", "execute_v2"])
def test_const_data_that_was_not_compiled_is_no_match(way: str) -> None:
    x = device(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    turned = device(np.zeros((3, 2), np.float32))
    straight = describe(np.zeros((2, 3), np.float32))
    swap, keep = const(np.array([1, 0], np.int32)), const(np.array([0, 1], np.int32))
    assert compile_op("Transpose", [x, swap], [turned]) == 0
    call = getattr(acl.op, way)
    ret = call("Transpose", [x.desc, keep.desc], [x.buffer, keep.buffer], [straight], [turned.buffer], 0, 0)
    told("B002 other const data", message(), ret, f"acl.op.{way}")
    np.testing.assert_array_equal(turned.read(), np.zeros((3, 2)))
