"""Memory and objects: overlaps, what is freed, what is left, what was never written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from tests.calls import H2D, attributes, build_and_execute, device, message
from tests.cases.conftest import reports
from tests.cases.driver import Run, runs


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


@pytest.mark.case("B083")
@pytest.mark.parametrize(
    "use",
    [
        lambda freed, live: acl.rt.memcpy_async(freed, 64, live, 64, H2D, 0),
        lambda freed, live: acl.rt.memcpy_async(live, 64, freed, 64, 2, 0),
        lambda freed, live: acl.rt.memcpy(freed, 64, live, 64, H2D),
        lambda freed, live: acl.rt.memset(freed, 64, 0, 64),
        lambda freed, live: acl.rt.memset_async(freed, 64, 0, 64, 0),
        lambda freed, live: acl.rt.free(freed),
    ],
    ids=["copy to", "copy from", "copy at once", "set", "set later", "free"],
)
def test_freed_memory_is_named_with_both_places(use: Callable[[int, int], int]) -> None:
    freed, live = acl.rt.malloc(64, 0)[0], acl.rt.malloc_host(64)[0]
    assert acl.rt.free(freed) == 0
    assert use(freed, live) == 107000
    text = message()
    assert hex(freed) in text
    assert text.count("test_memory.py:") == 2  # made at, freed at


@pytest.mark.case("B083")
def test_an_operator_with_freed_memory() -> None:
    x, y = device(np.ones(4, np.float32)), device(np.zeros(4, np.float32))
    assert acl.rt.free(x.pointer) == 0
    assert build_and_execute("Add", [x, x], [y]) == 100000
    text = message()
    assert "inputs[0]" in text
    assert "freed" in text
    np.testing.assert_array_equal(y.read(), np.zeros(4))


@pytest.mark.case("B089")
@pytest.mark.parametrize(
    ("make", "destroy", "kind"),
    [
        (lambda: acl.create_tensor_desc(0, [2], 2), acl.destroy_tensor_desc, "tensor descriptor"),
        (lambda: acl.create_data_buffer(0, 0), acl.destroy_data_buffer, "data buffer"),
        (acl.op.create_attr, acl.op.destroy_attr, "attribute"),
        (lambda: acl.rt.create_stream()[0], acl.rt.destroy_stream, "stream"),
        (lambda: acl.rt.create_event()[0], acl.rt.destroy_event, "event"),
    ],
    ids=["desc", "buffer", "attr", "stream", "event"],
)
def test_destroyed_twice_is_told_and_does_not_crash(
    make: Callable[[], int], destroy: Callable[[int], int | None], kind: str
) -> None:
    handle = make()
    assert destroy(handle) in {None, 0}
    assert message() == ""
    assert destroy(handle) in {None, 100000, 107017}
    text = message()
    assert kind in text
    assert "destroyed" in text


@pytest.mark.case("B089")
def test_a_buffer_left_at_finalize_is_a_leak() -> None:
    with hostacl.settings(check="HA9"):
        acl.create_data_buffer(0, 0)
        reports()
        assert acl.finalize() == 0
        (leak,) = reports().items()
    assert leak[0] == "HA902"
    assert "1 data buffer " in leak[1]
    assert "made at" in leak[1]
    assert "test_memory.py:" in leak[1]


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
        assert acl.op.compile_and_execute_v2("Add", [desc, desc], [buffer] * 2, [y.desc], [y.buffer], 0, 0, 0, None, 0) == 0
        assert acl.rt.synchronize_stream(0) == 0
        text = reports()["HA217"]
    for name in ("Add", "inputs[", "bytes 0 to 15", "never written", "made at"):
        assert name in text
