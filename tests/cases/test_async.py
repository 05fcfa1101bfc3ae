"""What a program sees before and after it waits: stale data, changed sources, failures that come later."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

import acl
import hostacl
from hostacl import toolkit_path
from hostacl.testing import inject
from tests.calls import D2H, H2D, Tensor, build_and_execute, compile_op, const, device, execute, message
from tests.cases.conftest import reports
from tests.cases.driver import Run, refused, result, runs
from tests.cases.messages import reported, told

STOP_ON_FAILURE = 1


def pinned(value: float) -> tuple[int, np.ndarray]:
    """Four floats in memory of malloc_host, and an array over them."""
    pointer, ret = acl.rt.malloc_host(64)
    assert ret == 0
    view = acl.util.ptr_to_numpy(pointer, (4,), np.dtype(np.float32).num)
    view[:] = value
    return pointer, view


def add_of(count: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    x = device(np.arange(1, count + 1, dtype=np.float32))
    y = device(np.arange(3, count + 3, dtype=np.float32))
    return x, y, device(np.zeros(count, np.float32))


@pytest.mark.case("B046")
def test_a_bad_slot_is_named_and_nothing_is_written(way: str) -> None:
    (case,) = runs("B046")
    told("B046 slot 4", *refused(case, code=507035, way=way).told)
    got = result(case, values={"indices": [[1], [3]]}, way=way)
    np.testing.assert_array_equal(got, [[0, 0], [1, 1], [0, 0], [2, 2]])


@pytest.mark.case("B062")
@pytest.mark.parametrize("way", ["execute_v2", "execute"])
def test_failures_leave_nothing_behind(way: str) -> None:
    x, y, z = add_of()
    ret = execute("NoSuchOp", [x, y], [z], way=way)
    told("B062 unknown operator", message(), ret, f"acl.op.{way}")
    big = device(np.ones(2, np.uint64))
    ret = build_and_execute("Add", [big, big], [device(np.ones(2, np.uint64))])
    told("B062 uint64", message(), ret, "acl.op.compile_and_execute_v2")
    index, axis = device(np.array([9], np.int64)), const(np.array([0], np.int64))
    assert build_and_execute("GatherV2", [x, index, axis], [device(np.zeros(1, np.float32))]) == 0
    ret = acl.rt.synchronize_stream(0)
    told("B062 bad index", message(), ret, "acl.op.compile_and_execute_v2")
    stream = acl.rt.create_stream()[0]
    assert build_and_execute("Add", [x, y], [z], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), [4, 6])


@pytest.mark.case("B070")
def test_a_copy_before_the_synchronize_is_stale_and_told() -> None:
    with hostacl.settings(scheduler="deferred"):
        stream = acl.rt.create_stream()[0]
        x, y, z = add_of()
        assert acl.rt.memset(z.pointer, 32, 0xCC, 8) == 0
        assert build_and_execute("Add", [x, y], [z], stream=stream) == 0
        reports()
        assert z.read().tobytes() == b"\xcc" * 8
        report = reported("HA330", "acl.rt.memcpy")
        told("B070 stale", *report, f"operator Add of stream {acl.rt.stream_get_id(stream)[0]}", f"src = {hex(z.pointer)}")
        assert acl.rt.synchronize_stream(stream) == 0
        np.testing.assert_array_equal(z.read(), [4, 6])


@pytest.mark.case("B070")
@pytest.mark.parametrize("way", ["execute", "execute_v2", "handle"])
def test_every_way_to_execute_is_named_while_it_is_pending(way: str) -> None:
    with hostacl.settings(scheduler="deferred"):
        stream = acl.rt.create_stream()[0]
        x, y, z = add_of()
        assert compile_op("Add", [x, y], [z]) == 0
        if way == "handle":
            handle, ret = acl.op.create_handle("Add", [x.desc, y.desc], [z.desc], 0)
            assert (ret, acl.op.execute_with_handle(handle, [x.buffer, y.buffer], [z.buffer], stream)) == (0, 0)
            acl.op.destroy_handle(handle)
        else:
            assert execute("Add", [x, y], [z], stream=stream, way=way) == 0
        reports()
        z.read()
        told("B070 stale", *reported("HA330", "acl.rt.memcpy"), f"src = {hex(z.pointer)}")
        assert acl.rt.synchronize_stream(stream) == 0


@pytest.mark.case("B071")
@pytest.mark.parametrize(("scheduler", "wanted"), [("deferred", [9] * 4), ("eager", [1, 2, 3, 4])])
def test_a_source_that_changes_before_its_copy_runs(scheduler: str, wanted: list[int]) -> None:
    with hostacl.settings(scheduler=scheduler):
        stream = acl.rt.create_stream()[0]
        target = device(np.zeros(4, np.float32))
        pointer, view = pinned(0)
        view[:] = [1, 2, 3, 4]
        assert acl.rt.memcpy_async(target.pointer, 16, pointer, 16, H2D, stream) == 0
        view[:] = 9
        reports()
        assert acl.rt.synchronize_stream(stream) == 0
        if scheduler == "deferred":
            told("B071 changed", *reported("HA222", "acl.rt.synchronize_stream"), f"src = {hex(pointer)}")
        assert "HA222" not in reports()
        np.testing.assert_array_equal(target.read(), wanted)


@pytest.mark.case("B072")
@pytest.mark.parametrize("scheduler", ["deferred", "shuffled:2"])
def test_a_source_freed_before_its_copy_runs_is_kept(scheduler: str) -> None:
    with hostacl.settings(scheduler=scheduler):
        stream = acl.rt.create_stream()[0]
        target = device(np.zeros(4, np.float32))
        pointer, _ = pinned(7)
        assert acl.rt.memcpy_async(target.pointer, 16, pointer, 16, H2D, stream) == 0
        reports()
        assert acl.rt.free_host(pointer) == 0
        report = reported("HA225", "acl.rt.free_host")
        told("B072 freed", *report, f"hostPtr = {hex(pointer)}", f"stream {acl.rt.stream_get_id(stream)[0]}")
        assert acl.rt.synchronize_stream(stream) == 0
        np.testing.assert_array_equal(target.read(), [7] * 4)


@pytest.mark.case("B073")
def test_a_host_buffer_is_valid_after_the_synchronize() -> None:
    with hostacl.settings(scheduler="deferred"):
        stream = acl.rt.create_stream()[0]
        source = device(np.arange(1, 5, dtype=np.float32))
        pointer, view = pinned(0)
        assert acl.rt.memcpy_async(pointer, 16, source.pointer, 16, D2H, stream) == 0
        np.testing.assert_array_equal(view, [0] * 4)
        reports()
        out = np.zeros(4, np.float32)
        assert acl.rt.memcpy(out.ctypes.data, 16, pointer, 16, 0) == 0  # the early read that the API can see
        report = reported("HA330", "acl.rt.memcpy")
        told("B073 read early", *report, f"src = {hex(pointer)}", f"stream {acl.rt.stream_get_id(stream)[0]}")
        assert acl.rt.synchronize_stream(stream) == 0
        np.testing.assert_array_equal(view, [1, 2, 3, 4])


@pytest.mark.case("B076")
@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:5"])
def test_a_stream_may_wait_for_its_own_event(scheduler: str) -> None:
    with hostacl.settings(scheduler=scheduler):
        stream, event = acl.rt.create_stream()[0], acl.rt.create_event()[0]
        codes = acl.rt.record_event(event, stream), acl.rt.stream_wait_event(stream, event), acl.rt.synchronize_stream(stream)
        assert codes == (0, 0, 0)


@pytest.mark.case("B077")
@pytest.mark.parametrize("wait", [lambda: acl.rt.synchronize_stream(0), acl.rt.synchronize_device], ids=["stream", "device"])
def test_stream_0_is_the_default_stream(way: str, wait: Callable[[], int]) -> None:
    run = Run(runs("B077")[0], way=way)
    assert run._call() == 0
    assert wait() == 0
    np.testing.assert_array_equal(run.outputs[0].read(), np.full((2, 2), 4))


@pytest.mark.case("B078")
def test_there_is_no_capture_and_streams_go_on(stream: int) -> None:
    assert not [name for module in (acl, acl.op, acl.rt, acl.mdl) for name in dir(module) if "capture" in name]
    assert not hasattr(ctypes.CDLL(str(toolkit_path.root() / "lib64" / "libascendcl.so")), "aclmdlRICaptureBegin")
    x, y, z = add_of()
    assert build_and_execute("Add", [x, y], [z], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(z.read(), [4, 6])


@pytest.mark.case("B079")
@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:1"])
def test_a_stream_that_stops_at_its_third_operator(scheduler: str) -> None:
    with hostacl.settings(scheduler=scheduler), inject(507035, nth_operator=3):
        stream = acl.rt.create_stream()[0]
        assert acl.rt.set_stream_failure_mode(stream, STOP_ON_FAILURE) == 0
        calls = [add_of(count) for count in range(2, 7)]
        codes = [build_and_execute("Add", [x, y], [z], stream=stream) for x, y, z in calls]
        assert set(codes[:3]) == {0}
        ret = acl.rt.synchronize_stream(stream)
        text = message()
        told("B079 third of five", text, ret, "acl.op.compile_and_execute_v2")
        assert not any(f"float32 [{count}]" in text for count in (2, 3, 5, 6))
        assert [bool(z.read().any()) for _, _, z in calls] == [True, True, False, False, False]
        x, y, z = calls[0]
        for _ in range(2):
            assert build_and_execute("Add", [x, y], [z], stream=stream) == 507035
        assert acl.rt.destroy_stream(stream) == 0
        fresh = acl.rt.create_stream()[0]
        assert build_and_execute("Add", [x, y], [z], stream=fresh) == 0
        assert acl.rt.synchronize_stream(fresh) == 0
