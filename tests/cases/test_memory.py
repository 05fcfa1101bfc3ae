"""Memory and objects: overlaps, what is freed, what is left, what was never written."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from tests.calls import H2D, attributes, build_and_execute, device, message
from tests.cases.conftest import reports
from tests.cases.driver import Run, runs
from tests.cases.messages import reported, told


@pytest.mark.case("B059")
def test_in_place_three_times(way: str) -> None:
    run = Run(runs("B059")[0], way=way)
    for _ in range(3):
        assert not run().failed
    np.testing.assert_array_equal(run.outputs[0].read(), [4, 5, 6, 7])


@pytest.mark.case("B059")
@pytest.mark.parametrize("shift", [4, 8, 12])
def test_an_output_over_a_part_of_an_input_is_right(way: str, shift: int) -> None:
    case = runs("B059")[1]
    tensors = {"x1": {"buffer_bytes": 32}, "y": {"alias": f"input 0 + {shift} bytes"}}
    outcome = Run(case, tensors=tensors, way=way)()
    assert not outcome.failed, outcome.text
    np.testing.assert_array_equal(outcome.values(), [2, 3, 4, 5])


@pytest.mark.case("B059")
def test_an_output_over_a_part_of_an_input_is_told_when_asked(way: str) -> None:
    exact, part = runs("B059")
    with hostacl.settings(check="HA520"):
        reports()
        assert not Run(exact, way=way)().failed
        assert reports() == {}
        run = Run(part, tensors={"x1": {"buffer_bytes": 32}}, way=way)
        assert not run().failed
        told("B059 over a part", *reported("HA520", f"acl.op.{way}"))


@pytest.mark.case("B083")
@pytest.mark.parametrize(
    ("function", "argument", "use"),
    [
        ("memcpy_async", "dst", lambda freed, live: acl.rt.memcpy_async(freed, 64, live, 64, H2D, 0)),
        ("memcpy_async", "src", lambda freed, live: acl.rt.memcpy_async(live, 64, freed, 64, 2, 0)),
        ("memcpy", "dst", lambda freed, live: acl.rt.memcpy(freed, 64, live, 64, H2D)),
        ("memset", "devPtr", lambda freed, live: acl.rt.memset(freed, 64, 0, 64)),
        ("memset_async", "devPtr", lambda freed, live: acl.rt.memset_async(freed, 64, 0, 64, 0)),
        ("free", "devPtr", lambda freed, live: acl.rt.free(freed)),
    ],
    ids=["copy to", "copy from", "copy at once", "set", "set later", "free"],
)
def test_freed_memory_is_named_with_both_places(function: str, argument: str, use: Callable[[int, int], int]) -> None:
    freed, live = acl.rt.malloc(64, 0)[0], acl.rt.malloc_host(64)[0]
    assert acl.rt.free(freed) == 0
    message()
    ret = use(freed, live)
    text = message()
    name = "B083 freed twice" if function == "free" else "B083 freed"
    told(name, text, ret, f"acl.rt.{function}", f"{argument} = {hex(freed)}")
    assert text.count("test_memory.py:") == 2  # made at, freed at


@pytest.mark.case("B083")
def test_memory_that_is_not_known_is_named_with_what_it_is_near_to() -> None:
    pointer, source = acl.rt.malloc(64, 0)[0], acl.rt.malloc_host(64)[0]
    ret = acl.rt.memcpy_async(pointer + 32, 64, source, 64, H2D, 0)
    told("B083 past a block", message(), ret, "acl.rt.memcpy_async", f"dst = {hex(pointer + 32)}", hex(pointer))
    far = pointer + (1 << 22)
    ret = acl.rt.memcpy_async(far, 64, source, 64, H2D, 0)
    told("B083 never allocated", message(), ret, "acl.rt.memcpy_async", f"dst = {hex(far)}")


@pytest.mark.case("B083")
def test_an_operator_with_freed_memory() -> None:
    x, y = device(np.ones(4, np.float32)), device(np.zeros(4, np.float32))
    assert acl.rt.free(x.pointer) == 0
    ret = build_and_execute("Add", [x, x], [y])
    told("B083 freed under an operator", message(), ret, "acl.op.compile_and_execute_v2", hex(x.pointer))
    np.testing.assert_array_equal(y.read(), np.zeros(4))


@pytest.mark.case("B089")
@pytest.mark.parametrize(
    ("make", "name", "named", "kind"),
    [
        (lambda: acl.create_tensor_desc(0, [2], 2), "acl.destroy_tensor_desc", "desc", "tensor descriptor"),
        (lambda: acl.create_data_buffer(0, 0), "acl.destroy_data_buffer", "dataBuffer", "data buffer"),
        (acl.op.create_attr, "acl.op.destroy_attr", "attr", "operator attribute object"),
        (lambda: acl.rt.create_stream()[0], "acl.rt.destroy_stream", "stream", "stream"),
        (lambda: acl.rt.create_event()[0], "acl.rt.destroy_event", "event", "event"),
    ],
    ids=["desc", "buffer", "attr", "stream", "event"],
)
def test_destroyed_twice_is_told_with_all_places(make: Callable[[], int], name: str, named: str, kind: str) -> None:
    destroy = attrgetter(name.removeprefix("acl."))(acl)
    with hostacl.settings(check="all"):  # where objects are made is kept only when asked for
        handle = make()
        assert destroy(handle) in {None, 0}
        assert message() == ""
        _machine.take_reports()
        returned = destroy(handle)
        text = message()
        assert text.count("test_memory.py:") == 2  # made at, destroyed at
        ((_, _, _, again, code, _),) = _machine.take_reports()
        assert "test_memory.py:" in again
        assert returned in {None, code}
    which = {"stream": "B089 stream destroyed twice", "event": "B089 event destroyed twice"}.get(kind, "B089 destroyed twice")
    told(which, text, code, name, f"{named} = {hex(handle)}", f"a destroyed {kind}")


@pytest.mark.case("B089")
def test_a_buffer_left_at_finalize_is_a_leak() -> None:
    with hostacl.settings(check="HA9"):
        acl.create_data_buffer(0, 0)
        reports()
        assert acl.finalize() == 0
        told("B089 left", *reported("HA902", "acl.finalize"))


@pytest.mark.case("B090")
def test_live_objects_by_kind() -> None:
    before = _machine.live_objects()
    attr = attributes({})
    descs = [acl.create_tensor_desc(0, [4], 2) for _ in range(3)]
    pointers = [acl.rt.malloc(32, 0)[0] for _ in range(3)]
    buffers = [acl.create_data_buffer(pointer, 16) for pointer in pointers]
    for pointer in pointers:
        assert acl.rt.memset(pointer, 32, 0, 32) == 0
    assert acl.op.compile_and_execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0, 0, None, 0) == 0
    assert acl.rt.synchronize_stream(0) == 0
    during = _machine.live_objects()
    assert [during[kind] - before[kind] for kind in ("attrs", "descs", "buffers", "device_blocks")] == [1, 3, 3, 3]
    for desc in descs:
        acl.destroy_tensor_desc(desc)
    for buffer, pointer in zip(buffers, pointers, strict=True):
        assert (acl.destroy_data_buffer(buffer), acl.rt.free(pointer)) == (0, 0)
    assert _machine.live_objects() == {**before, "attrs": before["attrs"] + 1}


@pytest.mark.case("B111")
def test_fresh_memory_holds_the_pattern_that_was_asked_for() -> None:
    with hostacl.settings(fill="205"):
        x = acl.rt.malloc(16, 0)[0]
        desc, buffer = acl.create_tensor_desc(0, [4], 2), acl.create_data_buffer(x, 16)
        y = device(np.zeros(4, np.float32))
        assert acl.op.compile_and_execute_v2("Add", [desc, desc], [buffer] * 2, [y.desc], [y.buffer], 0, 0, 0, None, 0) == 0
        assert acl.rt.synchronize_stream(0) == 0
    poison = np.frombuffer(b"\xcd" * 16, np.float32)
    np.testing.assert_array_equal(y.read(), poison + poison)


@pytest.mark.case("B111")
def test_reading_what_was_never_written_is_told() -> None:
    with hostacl.settings(check="HA217"):
        x = acl.rt.malloc(16, 0)[0]
        desc, buffer = acl.create_tensor_desc(0, [4], 2), acl.create_data_buffer(x, 16)
        y = device(np.zeros(4, np.float32))
        reports()
        descs, buffers = [desc, y.desc], [buffer, y.buffer]
        assert acl.op.compile_and_execute_v2("Add", descs, buffers, [y.desc], [y.buffer], 0, 0, 0, None, 0) == 0
        assert acl.rt.synchronize_stream(0) == 0
        told("B111 never written", *reported("HA217", "acl.op.compile_and_execute_v2"), hex(x))
