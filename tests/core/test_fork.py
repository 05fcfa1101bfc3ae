"""fork: the child has the memory but no context, and no lock stays taken."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import acl

from .conftest import device_memory, read, write


def in_child(work: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = work()
        finally:
            os._exit(0 if right else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_child_needs_a_context_of_its_own(stream: int):
    pointer = device_memory(8)
    write(pointer, b"inherits")

    def work() -> bool:
        without = acl.rt.get_device()[-1], acl.rt.synchronize_stream(stream)
        acl.rt.set_device(0)
        return without == (107002, 107002) and read(pointer, 8) == b"inherits" and acl.rt.create_stream()[1] == 0

    assert in_child(work)
    assert acl.rt.synchronize_stream(stream) == 0


def test_a_child_of_a_deferred_parent_runs_nothing_of_it(set_scheduler: Callable[[str], None], stream: int):
    set_scheduler("deferred")
    pointer = device_memory(8)
    write(pointer, b"........")
    acl.rt.memset_async(pointer, 8, 1, 8, stream)

    def work() -> bool:
        acl.rt.set_device(0)
        return acl.rt.synchronize_device() == 0 and read(pointer, 8) == b"........"

    assert in_child(work)
    assert acl.rt.synchronize_stream(stream) == 0
    assert read(pointer, 8) == b"\1" * 8


def test_forks_while_other_threads_are_busy():
    ended = threading.Event()
    context = acl.rt.get_context()[0]

    def busy() -> None:
        acl.rt.set_context(context)
        own = acl.rt.create_stream()[0]
        while not ended.is_set():
            pointer = device_memory(64)
            acl.rt.memset_async(pointer, 64, 1, 64, own)
            acl.rt.synchronize_stream(own)
            acl.rt.free(pointer)
            acl.rt.free(pointer)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_child(lambda: acl.rt.set_device(0) == 0 and acl.rt.malloc(64, 0)[1] == 0 and acl.rt.free(1) == 107000)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
