"""Streams: order, schedulers, what a call gives that must wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import acl
from hostacl import _machine

from .conftest import D2D, D2H, H2D, device_memory, messages, pinned, read, report_of, reported, write


def blocked_stream() -> tuple[int, int]:
    """A stream that waits for an event that nobody recorded, and the event."""
    stream, event = acl.rt.create_stream()[0], acl.rt.create_event()[0]
    assert acl.rt.stream_wait_event(stream, event) == 0
    return stream, event


def test_eager_runs_inside_the_call(set_scheduler: Callable[[str], None], stream: int):
    set_scheduler("eager")
    pointer = device_memory(8)
    assert acl.rt.memset_async(pointer, 8, 1, 8, stream) == 0
    assert read(pointer, 8) == b"\1" * 8
    assert acl.rt.stream_query(stream) == (0, 0)


def test_deferred_shows_a_missing_synchronize_as_stale_data(set_scheduler: Callable[[str], None], stream: int):
    set_scheduler("deferred")
    pointer = device_memory(8)
    write(pointer, b"old data")
    assert acl.rt.memset_async(pointer, 8, 1, 8, stream) == 0
    assert read(pointer, 8) == b"old data"
    assert "HA330" in reported()
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(pointer, 8) == b"\1" * 8


def test_tasks_of_a_stream_run_in_order(scheduler: str, stream: int):
    pointer = device_memory(8)
    for value in range(20):
        assert acl.rt.memset_async(pointer, 8, value, 8, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(pointer, 8) == bytes([19]) * 8


def test_stream_zero_is_the_default_stream_of_the_context(scheduler: str):
    pointer = device_memory(8)
    assert acl.rt.memset_async(pointer, 8, 5, 8, 0) == 0
    handle, ret = acl.rt.ctx_get_current_default_stream()
    assert ret == 0
    assert acl.rt.synchronize_stream(handle) == 0
    assert read(pointer, 8) == b"\5" * 8
    assert acl.rt.destroy_stream(handle) == 107000


def test_a_stream_that_waits_times_out_and_says_at_what():
    stream, event = blocked_stream()
    assert acl.rt.synchronize_stream_with_timeout(stream, 20) == 507046
    assert "HA312" in (text := messages())
    assert "event" in text
    assert acl.rt.synchronize_stream_with_timeout(stream, 0) == 507046
    assert acl.rt.synchronize_device_with_timeout(10) == 507046
    assert acl.rt.synchronize_stream_with_timeout(stream, -2) == 107000
    assert acl.rt.stream_query(stream) == (1, 0)
    assert acl.rt.record_event(event, 0) == 0
    assert acl.rt.synchronize_stream_with_timeout(stream, 1000) == 0


def test_dead_and_foreign_streams_are_named(stream: int):
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.destroy_stream(stream) == 107017
    assert "a destroyed stream" in messages()
    assert acl.rt.synchronize_stream(12345) == 107017
    assert acl.rt.synchronize_stream(device_memory(8)) == 107017
    assert "device memory" in messages()
    assert acl.rt.memset_async(device_memory(8), 8, 0, 8, stream) == 107017


def test_destroy_runs_what_is_pending_and_force_drops_it(set_scheduler: Callable[[str], None]):
    set_scheduler("deferred")
    pointer = device_memory(8)
    write(pointer, b"12345678")
    first, second = acl.rt.create_stream()[0], acl.rt.create_stream()[0]
    acl.rt.memset_async(pointer, 8, 1, 4, first)
    assert acl.rt.destroy_stream(first) == 0
    assert read(pointer, 8) == b"\1\1\1\1" + b"5678"
    acl.rt.memset_async(pointer, 8, 2, 8, second)
    reported()
    assert acl.rt.destroy_stream_force(second) == 0
    assert read(pointer, 8) == b"\1\1\1\1" + b"5678"
    assert "HA307" in reported()


def test_abort_drops_what_is_pending():
    stream, _ = blocked_stream()
    pointer = device_memory(8)
    write(pointer, b"12345678")
    acl.rt.memset_async(pointer, 8, 2, 8, stream)
    assert acl.rt.stream_abort(stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(pointer, 8) == b"12345678"


def test_memory_freed_while_a_copy_is_pending_stays_until_then():
    stream, event = blocked_stream()
    source, target = pinned(64), device_memory(64)
    write(source, b"x" * 64)
    assert acl.rt.memcpy_async(target, 64, source, 64, H2D, stream) == 0
    assert acl.rt.free_host(source) == 0
    assert "copy of 64 bytes host to device" in report_of("HA225")
    acl.rt.record_event(event, 0)
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(target, 64) == b"x" * 64


def test_a_pinned_source_that_changes_before_the_copy_is_reported(set_scheduler: Callable[[str], None], stream: int):
    set_scheduler("deferred")
    source, target = pinned(4), device_memory(4)
    write(source, b"1234")
    acl.rt.memcpy_async(target, 4, source, 4, H2D, stream)
    write(source, b"9999")
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(target, 4) == b"9999"
    assert "HA222" in reported()


def test_asynchronous_host_to_host_by_version(stream: int):
    one, other = pinned(8), pinned(8)
    assert acl.rt.memcpy_async(one, 8, other, 8, 0, stream) == 207000
    assert "HA215" in messages()
    assert _machine.configure("cann", "8.0.RC3") == 0
    assert acl.rt.memcpy_async(one, 8, other, 8, 0, stream) == 207000
    assert _machine.configure("cann", "8.0.RC2") == 0
    assert acl.rt.memcpy_async(one, 8, other, 8, 0, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 207000
    assert acl.rt.synchronize_stream(stream) == 0


def test_pageable_memory_is_copied_before_the_call_returns_since_9(set_scheduler: Callable[[str], None], stream: int):
    set_scheduler("deferred")
    data, target = bytearray(b"pageable"), device_memory(8)
    address = acl.util.bytes_to_ptr(bytes(data))
    assert acl.rt.memcpy_async(target, 8, address, 8, H2D, stream) == 0
    assert read(target, 8) == b"pageable"
    assert "HA216" in reported()


def test_asynchronous_copies_on_the_device(scheduler: str, stream: int):
    one, other, host = device_memory(8), device_memory(8), pinned(8)
    write(one, b"abcdefgh")
    assert acl.rt.memcpy_async(other, 8, one, 8, D2D, stream) == 0
    assert acl.rt.memcpy_async(host, 8, other, 8, D2H, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(host, 8) == b"abcdefgh"
    assert reported() == []


def test_the_failure_mode_can_be_set_once(stream: int):
    assert acl.rt.set_stream_failure_mode(stream, 2) == 107000
    assert acl.rt.set_stream_failure_mode(stream, 1) == 0
    assert acl.rt.set_stream_failure_mode(stream, 0) == 107000


def test_a_stopped_stream_refuses_and_stops_its_context(stream: int):
    assert _machine.configure("cann", "8.0.RC2") == 0
    other = acl.rt.create_stream()[0]
    acl.rt.set_stream_failure_mode(stream, 1)
    acl.rt.memcpy_async(pinned(8), 8, pinned(8), 8, 0, stream)
    pointer = device_memory(8)
    assert acl.rt.memset_async(pointer, 8, 0, 8, stream) == 207000
    assert acl.rt.memset_async(pointer, 8, 0, 8, other) == 207000
    assert acl.rt.synchronize_stream(stream) == 207000
    assert acl.rt.synchronize_stream(stream) == 207000
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.memset_async(pointer, 8, 0, 8, other) == 0


def test_settings_of_a_stream_come_back(stream: int):
    assert acl.rt.get_stream_overflow_switch(stream) == (0, 0)
    assert acl.rt.set_stream_overflow_switch(stream, 1) == 0
    assert acl.rt.get_stream_overflow_switch(stream) == (1, 0)
    first, ret = acl.rt.stream_get_id(stream)
    assert ret == 0
    assert acl.rt.stream_get_id(acl.rt.create_stream()[0])[0] != first
    assert acl.rt.device_get_stream_priority_range() == (7, 0, 0)
    assert acl.rt.create_stream_with_config(8, 0)[1] == 107000
    assert acl.rt.set_stream_res_limit(stream, 0, 3) == 0
    assert acl.rt.get_stream_res_limit(stream, 0) == (3, 0)


def test_other_python_threads_run_while_one_waits_for_a_stream():
    stream, event = blocked_stream()
    context = acl.rt.get_context()[0]

    def record_later() -> None:
        acl.rt.set_context(context)
        time.sleep(0.05)
        acl.rt.record_event(event, 0)

    thread = threading.Thread(target=record_later)
    thread.start()
    assert acl.rt.synchronize_stream_with_timeout(stream, 20_000) == 0
    thread.join()


def test_eight_threads_with_a_stream_each(scheduler: str):
    context = acl.rt.get_context()[0]
    wrong: list[int] = []

    def work(number: int) -> None:
        acl.rt.set_context(context)
        stream, pointer = acl.rt.create_stream()[0], device_memory(64)
        for turn in range(50):
            acl.rt.memset_async(pointer, 64, (number + turn) % 251, 64, stream)
            code = acl.rt.synchronize_stream(stream)
            if code or read(pointer, 64) != bytes([(number + turn) % 251]) * 64:
                wrong.append(number)
        acl.rt.destroy_stream(stream)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
