"""A result that is copied before anybody has waited for it (HA330), though under eager it is there; and each way to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import acl
import hostacl
from hostacl.testing.reports import take
from tests.calls import D2H, H2D, Tensor, build_and_execute, device


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    hostacl.reset()
    with hostacl.settings(check="all", ignore="HA9"):
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        take()
        yield
    hostacl.reset()


@pytest.fixture
def stream() -> int:
    return int(acl.rt.create_stream()[0])


def submitted(stream: int) -> Tensor:
    """The output of an Abs that nobody has waited for."""
    x, y = device(np.array([-1, 2], np.float32)), device(np.zeros(2, np.float32))
    assert build_and_execute("Abs", [x], [y], stream=stream) == 0
    return y


def read(tensor: Tensor) -> list[str]:
    """Copies to pinned memory; the rules that breaks."""
    host, _ = acl.rt.malloc_host(8)
    assert acl.rt.memcpy(host, 8, tensor.pointer, 8, D2H) == 0
    return [report.code for report in take()]


@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:1"])
def test_nobody_waited(stream: int, scheduler: str) -> None:
    with hostacl.settings(scheduler=scheduler):
        y = submitted(stream)
        host, _ = acl.rt.malloc_host(8)
        assert acl.rt.memcpy(host, 8, y.pointer, 8, D2H) == 0
        (report,) = take()
    assert (report.code, report.function, report.place) == ("HA330", "acl.rt.memcpy", "src")
    number, _ = acl.rt.stream_get_id(stream)
    assert f"operator Abs of stream {number} (submitted at tests/calls.py:" in report.message
    assert [site.partition(":")[0] for site in report.submitted] == ["tests/calls.py"]
    assert acl.rt.synchronize_stream(stream) == 0


def by_event(stream: int) -> None:
    event, _ = acl.rt.create_event()
    acl.rt.record_event(event, stream)
    acl.rt.synchronize_event(event)


def by_another_stream(stream: int) -> None:
    event, other = acl.rt.create_event()[0], acl.rt.create_stream()[0]
    acl.rt.record_event(event, stream)
    acl.rt.stream_wait_event(other, event)
    acl.rt.synchronize_stream(other)


def by_callback(stream: int) -> None:
    acl.rt.subscribe_report(threading.get_ident(), stream)
    acl.rt.launch_callback(lambda _: None, 0, 1, stream)
    acl.rt.process_report(1000)


def by_event_query(stream: int) -> None:
    event, _ = acl.rt.create_event()
    acl.rt.record_event(event, stream)
    assert acl.rt.query_event_status(event) == (1, 0)


WAYS: dict[str, Callable[[int], object]] = {
    "stream": acl.rt.synchronize_stream,
    "device": lambda stream: acl.rt.synchronize_device(),
    "query": acl.rt.stream_query,
    "event": by_event,
    "event query": by_event_query,
    "another stream": by_another_stream,
    "callback": by_callback,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_each_way_to_wait(stream: int, way: Callable[[int], object]) -> None:
    y = submitted(stream)
    way(stream)
    assert read(y) == []


def test_waiting_for_another_stream_does_not_help(stream: int) -> None:
    y = submitted(stream)
    assert acl.rt.synchronize_stream(acl.rt.create_stream()[0]) == 0
    assert read(y) == ["HA330"]


def test_an_input_that_is_overwritten_meanwhile(stream: int) -> None:
    x, y = device(np.ones(2, np.float32)), device(np.zeros(2, np.float32))
    assert build_and_execute("Abs", [x], [y], stream=stream) == 0
    fresh = acl.rt.malloc_host(8)[0]
    assert acl.rt.memcpy(x.pointer, 8, fresh, 8, H2D) == 0
    (report,) = take()
    assert (report.code, report.place) == ("HA330", "dst")
    assert "which reads it" in report.message
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.memcpy(x.pointer, 8, fresh, 8, H2D) == 0
    assert take() == []


def test_a_copy_in_the_stream_comes_after(stream: int) -> None:
    y, host = submitted(stream), acl.rt.malloc_host(8)[0]
    assert acl.rt.memcpy_async(host, 8, y.pointer, 8, D2H, stream) == 0
    assert [report.code for report in take()] == []


def test_other_bytes_and_new_ones_are_no_result(stream: int) -> None:
    y, x = submitted(stream), device(np.ones(2, np.float32))
    assert read(x) == []
    fresh = acl.rt.malloc_host(64)[0]
    assert acl.rt.memcpy_async(y.pointer, 8, fresh, 8, H2D, stream) == 0
    assert read(y) == []
    z = submitted(stream)
    assert acl.rt.free(z.pointer) == 0
    again = device(np.ones(2, np.float32))
    assert read(again) == []


def test_a_call_that_waits_itself(stream: int) -> None:
    x, y = device(np.ones(2, np.float32)), device(np.zeros((2, 1), np.int64))
    assert build_and_execute("NonZero", [x], [y], stream=stream) == 0
    take()
    host, _ = acl.rt.malloc_host(16)
    assert acl.rt.memcpy(host, 16, y.pointer, 16, D2H) == 0
    assert take() == []


@pytest.mark.parametrize("scheduler", ["eager", "deferred"])
def test_a_slot_that_is_updated_counts_as_written(stream: int, scheduler: str) -> None:
    """Not an output of ApplyMomentum, yet it holds what the operator gave."""
    var, accum, grad = (device(np.ones(2, np.float32)) for _ in range(3))
    one = device(np.ones(1, np.float32))
    with hostacl.settings(scheduler=scheduler):
        assert build_and_execute("ApplyMomentum", [var, accum, one, grad, one], [var], stream=stream) == 0
        assert read(accum) == ["HA330"]
        assert read(grad) == []
        assert acl.rt.synchronize_stream(stream) == 0
        assert read(accum) == []
    np.testing.assert_array_equal(accum.read(), [2, 2])
