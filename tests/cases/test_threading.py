"""Threads: a context belongs to one, waiting lets the others run, a shared stream breaks nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl
import hostacl
from tests.calls import Tensor, arguments, compile_op, device, execute, message
from tests.cases.conftest import reports
from tests.cases.driver import WAYS
from tests.cases.messages import reported, told


def in_thread(work: Callable[[], Any]) -> Any:
    """What a function gives in a thread of its own."""
    box: list[Any] = []
    thread = threading.Thread(target=lambda: box.append(work()))
    thread.start()
    thread.join(60)
    assert box, "the thread did not end"
    return box[0]


def compiled(count: int = 4) -> tuple[Tensor, Tensor]:
    x, y = device(np.ones(count, np.float32)), device(np.zeros(count, np.float32))
    assert compile_op("Add", [x, x], [y]) == 0
    return x, y


@pytest.mark.case("B092", "B101")
def test_a_new_thread_has_no_context_until_it_sets_one() -> None:
    x, y = compiled()
    context = acl.rt.get_context()[0]

    def calls() -> list[int]:
        return [
            acl.rt.malloc(64, 0)[1],
            acl.rt.get_device()[1],
            acl.rt.create_stream()[1],
            acl.rt.create_event()[1],
            execute("Add", [x, x], [y]),
            acl.rt.synchronize_device(),
        ]

    def work() -> tuple[list[int], str, list[int]]:
        without, text = calls(), message()
        assert acl.rt.set_context(context) == 0
        return without, text, calls()

    without, text, with_context = in_thread(work)
    assert without == [107002] * 6
    assert with_context == [0] * 6
    functions = ["rt.malloc", "rt.get_device", "rt.create_stream", "rt.create_event", "op.execute_v2", "rt.synchronize_device"]
    for function, line, code in zip(functions, reversed(text.splitlines()), without, strict=True):  # the newest comes first
        told("B092 no context", line, code, f"acl.{function}")


@pytest.mark.case("B101")
@pytest.mark.parametrize("way", [*WAYS, "execute_with_handle", "cast"])
def test_every_way_to_execute_needs_a_context(way: str) -> None:
    x, y = compiled()
    handle = acl.op.create_handle("Add", [x.desc, x.desc], [y.desc], 0)[0]
    given = arguments("Add", [x, x], [y], 0)
    more = [0, 0, None] if way.startswith("compile") else []
    rows = {
        "execute_with_handle": [handle, [x.buffer, x.buffer], [y.buffer]],
        "cast": [x.desc, x.buffer, y.desc, y.buffer, 0],
    }
    call = getattr(acl.op, way)
    ret, text = in_thread(lambda: (call(*rows.get(way, [*given, *more]), 0), message()))
    told("B101 no context", text, ret, f"acl.op.{way}")


@pytest.mark.case("B099")
def test_others_go_on_while_one_waits() -> None:
    """A stream that waits for an event which the counting thread records holds the waiting one up."""
    context = acl.rt.get_context()[0]
    stream, other, event = acl.rt.create_stream()[0], acl.rt.create_stream()[0], acl.rt.create_event()[0]
    assert acl.rt.stream_wait_event(stream, event) == 0
    x, y = compiled()
    assert execute("Add", [x, x], [y], stream=stream) == 0
    codes: list[int] = []

    def wait() -> None:
        acl.rt.set_context(context)
        codes.append(acl.rt.synchronize_stream(stream))

    with hostacl.settings():
        waiting = threading.Thread(target=wait)
        waiting.start()
        count = sum(1 for _ in range(100_000))
        assert acl.rt.record_event(event, other) == 0
        waiting.join(60)
    assert count == 100_000
    assert codes == [0]
    assert acl.rt.synchronize_stream(other) == 0


@pytest.mark.case("B099")
def test_eight_threads_with_a_stream_each() -> None:
    x = device(np.ones(1000, np.float32))
    outputs = [device(np.zeros(1000, np.float32)) for _ in range(8)]
    assert compile_op("Add", [x, x], outputs[:1]) == 0
    context = acl.rt.get_context()[0]
    codes: list[int] = []

    def work(y: Tensor) -> None:
        acl.rt.set_context(context)
        stream = acl.rt.create_stream()[0]
        codes.extend(execute("Add", [x, x], [y], stream=stream) for _ in range(20))
        codes.append(acl.rt.synchronize_stream(stream))

    threads = [threading.Thread(target=work, args=(y,)) for y in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert codes == [0] * 8 * 21
    for y in outputs:
        np.testing.assert_array_equal(y.read(), np.full(1000, 2))


def two_threads_on(stream: int) -> list[int]:
    """200 calls that add 1 to one buffer, out of two threads on one stream; their codes."""
    one, total = device(np.ones(4, np.float32)), device(np.zeros(4, np.float32))
    assert compile_op("Add", [total, one], [total]) == 0
    context = acl.rt.get_context()[0]
    codes: list[int] = []

    def work() -> None:
        acl.rt.set_context(context)
        codes.extend(execute("Add", [total, one], [total], stream=stream) for _ in range(100))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    codes.append(acl.rt.synchronize_stream(stream))
    np.testing.assert_array_equal(total.read(), np.full(4, 200))
    return codes


@pytest.mark.case("B100")
@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:3"])
@pytest.mark.parametrize("default", [False, True])
def test_two_threads_on_one_stream_lose_nothing(scheduler: str, default: bool) -> None:
    with hostacl.settings(scheduler=scheduler):
        assert two_threads_on(0 if default else acl.rt.create_stream()[0]) == [0] * 201


@pytest.mark.case("B100")
def test_two_threads_on_one_stream_are_told(stream: int) -> None:
    with hostacl.settings(check="HA328"):
        reports()
        two_threads_on(stream)
        report = reported("HA328", "acl.op.execute_v2")
    told("B100 two threads", *report)
    assert len(set(re.findall(r"thread (\d+)", report[0]))) == 2
