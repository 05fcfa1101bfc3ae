"""Events: records, waits, queries, times."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import acl

from .conftest import device_memory, messages, read, reported, write


@pytest.fixture
def event() -> int:
    handle, ret = acl.rt.create_event()
    assert ret == 0
    return int(handle)


def test_a_recorded_event_is_complete(scheduler: str, stream: int, event: int):
    assert acl.rt.query_event_status(event) == (0, 0)
    assert acl.rt.query_event(event) == (1, 0)
    assert acl.rt.record_event(event, stream) == 0
    assert acl.rt.synchronize_event(event) == 0
    assert acl.rt.query_event_status(event) == (1, 0)
    assert acl.rt.query_event(event) == (0, 0)


def test_a_wait_orders_two_streams(scheduler: str, event: int):
    first, second = acl.rt.create_stream()[0], acl.rt.create_stream()[0]
    one, other = device_memory(8), device_memory(8)
    write(other, b"........")
    assert acl.rt.memset_async(one, 8, 7, 8, first) == 0
    assert acl.rt.record_event(event, first) == 0
    assert acl.rt.stream_wait_event(second, event) == 0
    assert acl.rt.memcpy_async(other, 8, one, 8, 3, second) == 0
    assert acl.rt.synchronize_stream(second) == 0
    assert read(other, 8) == b"\7" * 8


def test_a_wait_before_the_record_holds_the_stream(scheduler: str, stream: int, event: int):
    pointer = device_memory(8)
    write(pointer, b"........")
    assert acl.rt.stream_wait_event(stream, event) == 0
    assert acl.rt.memset_async(pointer, 8, 1, 8, stream) == 0
    assert acl.rt.stream_query(stream) == (1, 0)
    assert acl.rt.query_event_wait_status(event) == (1, 0)
    assert read(pointer, 8) == b"........"
    assert acl.rt.record_event(event, 0) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.query_event_wait_status(event) == (0, 0)
    assert read(pointer, 8) == b"\1" * 8


def test_under_eager_the_record_runs_what_waited(set_scheduler: Callable[[str], None], stream: int, event: int):
    set_scheduler("eager")
    pointer = device_memory(8)
    acl.rt.stream_wait_event(stream, event)
    acl.rt.memset_async(pointer, 8, 1, 8, stream)
    acl.rt.record_event(event, 0)
    assert read(pointer, 8) == b"\1" * 8


def test_a_wait_in_the_stream_of_the_record_is_satisfied(scheduler: str, stream: int, event: int):
    assert acl.rt.record_event(event, stream) == 0
    assert acl.rt.stream_wait_event(stream, event) == 0
    assert acl.rt.synchronize_stream_with_timeout(stream, 1000) == 0


def test_a_poll_gets_on_under_every_scheduler(scheduler: str, stream: int, event: int):
    acl.rt.memset_async(device_memory(8), 8, 1, 8, stream)
    acl.rt.record_event(event, stream)
    for _ in range(100):
        if acl.rt.query_event_status(event) == (1, 0):
            return
    raise AssertionError("the event was never reached")


def test_synchronize_of_an_event_never_recorded_returns_at_once(event: int):
    assert acl.rt.synchronize_event(event) == 0
    assert reported() == ["HA309"]


def test_an_event_behind_a_blocked_stream_times_out(stream: int, event: int):
    other = acl.rt.create_event()[0]
    acl.rt.stream_wait_event(stream, other)
    acl.rt.record_event(event, stream)
    assert acl.rt.synchronize_event_with_timeout(event, 20) == 507047
    assert acl.rt.synchronize_event_with_timeout(event, 0) == 507047
    assert acl.rt.event_elapsed_time(event, event)[1] == 507006
    acl.rt.record_event(other, 0)
    assert acl.rt.synchronize_event_with_timeout(event, 1000) == 0


def test_elapsed_time_is_the_time_between(stream: int, event: int):
    end = acl.rt.create_event()[0]
    acl.rt.record_event(event, stream)
    time.sleep(0.02)
    acl.rt.record_event(end, stream)
    elapsed, ret = acl.rt.event_elapsed_time(event, end)
    assert ret == 0
    assert 20 <= elapsed < 20_000
    assert acl.rt.event_elapsed_time(end, event)[1] == 107007
    start_us, end_us = acl.rt.event_get_timestamp(event)[0], acl.rt.event_get_timestamp(end)[0]
    assert end_us - start_us >= 20_000


def test_no_time_without_a_record(event: int):
    assert acl.rt.event_elapsed_time(event, event)[1] == 107006
    assert "HA314" in messages()


def test_reset_makes_it_as_never_recorded(scheduler: str, stream: int, event: int):
    acl.rt.record_event(event, stream)
    assert acl.rt.reset_event(event, stream) == 0
    assert acl.rt.query_event_status(event) == (0, 0)


@pytest.mark.parametrize("flag", [0, 0x80, 0x1000])
def test_unknown_flags_are_refused(flag: int):
    assert acl.rt.create_event_with_flag(flag)[1] == 107000


def test_dead_events(stream: int, event: int):
    assert acl.rt.destroy_event(event) == 0
    for code in (
        acl.rt.destroy_event(event), acl.rt.record_event(event, stream), acl.rt.stream_wait_event(stream, event),
        acl.rt.synchronize_event(event), acl.rt.query_event(event)[-1], acl.rt.reset_event(event, stream),
    ):
        assert code == 107017
    assert "a destroyed event" in messages()


def test_an_event_destroyed_under_a_wait_lets_the_stream_go(stream: int, event: int):
    acl.rt.stream_wait_event(stream, event)
    assert acl.rt.destroy_event(event) == 0
    assert "HA304" in reported()
    assert acl.rt.synchronize_stream_with_timeout(stream, 1000) == 0


def test_a_record_in_another_thread_ends_a_wait(scheduler: str, stream: int, event: int):
    context = acl.rt.get_context()[0]
    acl.rt.stream_wait_event(stream, event)

    def record() -> None:
        acl.rt.set_context(context)
        acl.rt.record_event(event, 0)
        acl.rt.synchronize_stream(0)

    thread = threading.Thread(target=record)
    thread.start()
    assert acl.rt.synchronize_stream_with_timeout(stream, 20_000) == 0
    thread.join()
