"""Callbacks: a subscribed thread runs what streams hand to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import acl

from .conftest import device_memory, messages, read, write


@pytest.fixture
def report_thread() -> Iterator[int]:
    """A thread that processes reports until the test ends; its id."""
    ended = threading.Event()
    context = acl.rt.get_context()[0]

    def loop(_: object) -> None:
        acl.rt.set_context(context)
        while not ended.is_set():
            acl.rt.process_report(20)

    thread, ret = acl.util.start_thread(loop, None)
    assert ret == 0
    yield thread
    ended.set()
    assert acl.util.stop_thread(thread) == 0


def test_a_blocking_callback_runs_before_the_stream_goes_on(scheduler: str, stream: int, report_thread: int):
    pointer, seen = device_memory(8), []
    write(pointer, b"........")
    assert acl.rt.subscribe_report(report_thread, stream) == 0
    acl.rt.memset_async(pointer, 8, 1, 8, stream)
    assert acl.rt.launch_callback(lambda data: seen.append((data, read(pointer, 8))), "first", 1, stream) == 0
    acl.rt.memset_async(pointer, 8, 2, 8, stream)
    assert acl.rt.synchronize_stream(stream) == 0
    assert seen == [("first", b"\1" * 8)]
    assert read(pointer, 8) == b"\2" * 8
    assert acl.rt.unsubscribe_report(report_thread, stream) == 0


def test_callbacks_keep_their_order(scheduler: str, stream: int, report_thread: int):
    seen: list[int] = []
    acl.rt.subscribe_report(report_thread, stream)
    for number in range(30):
        assert acl.rt.launch_callback(seen.append, number, number % 2, stream) == 0
    acl.rt.launch_callback(seen.append, 30, 1, stream)
    assert acl.rt.synchronize_stream(stream) == 0
    assert seen == list(range(31))
    acl.rt.unsubscribe_report(report_thread, stream)


def test_an_unsubscribed_stream_refuses(stream: int):
    assert acl.rt.launch_callback(print, None, 1, stream) == 107015
    assert "aclrtSubscribeReport" in messages()


def test_a_stream_has_one_thread(stream: int, report_thread: int):
    assert acl.rt.subscribe_report(report_thread, stream) == 0
    assert acl.rt.subscribe_report(report_thread, stream) == 0
    assert acl.rt.subscribe_report(threading.get_ident(), stream) == 107011
    assert acl.rt.unsubscribe_report(threading.get_ident(), stream) == 107015
    assert acl.rt.unsubscribe_report(report_thread, stream) == 0
    assert acl.rt.subscribe_report(0, stream) == 100000


def test_process_report_without_subscription_and_without_callbacks(stream: int):
    assert acl.rt.process_report(0) == 107012
    assert acl.rt.subscribe_report(threading.get_ident(), stream) == 0
    assert acl.rt.process_report(10) == 507012
    assert acl.rt.process_report(-2) == 107000


def test_a_thread_can_process_its_own_callbacks(scheduler: str, stream: int):
    seen: list[str] = []
    acl.rt.subscribe_report(threading.get_ident(), stream)
    acl.rt.launch_callback(seen.append, "own", 1, stream)
    assert acl.rt.synchronize_stream_with_timeout(stream, 10) == 507046
    assert acl.rt.process_report(100) == 0
    assert seen == ["own"]
    assert acl.rt.synchronize_stream_with_timeout(stream, 1000) == 0


def test_unsubscribing_lets_a_waiting_stream_go(stream: int):
    acl.rt.subscribe_report(threading.get_ident(), stream)
    acl.rt.launch_callback(print, "never", 1, stream)
    assert acl.rt.unsubscribe_report(threading.get_ident(), stream) == 0
    assert acl.rt.synchronize_stream_with_timeout(stream, 1000) == 0


def test_block_types_are_checked(stream: int):
    acl.rt.subscribe_report(threading.get_ident(), stream)
    assert acl.rt.launch_callback(print, None, 2, stream) == 100000
    with pytest.raises(TypeError):
        acl.rt.launch_callback(None, None, 1, stream)


def test_a_blocking_callback_that_waits_for_its_own_stream_is_told(scheduler: str, stream: int, report_thread: int):
    codes: list[int] = []
    acl.rt.subscribe_report(report_thread, stream)
    acl.rt.launch_callback(lambda _: codes.append(acl.rt.synchronize_stream(stream)), None, 1, stream)
    assert acl.rt.synchronize_stream(stream) == 0
    assert codes == [107000]
    acl.rt.unsubscribe_report(report_thread, stream)
