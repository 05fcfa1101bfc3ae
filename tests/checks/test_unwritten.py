"""Reads of memory that nobody wrote (HA217): by which operators, and what counts as written."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import acl
import hostacl
from hostacl.testing.reports import take
from tests.calls import D2H, Tensor, build_and_execute, describe, device


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    hostacl.reset()
    with hostacl.settings(check="HA217"):
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        take()
        yield
    hostacl.reset()


def fresh(size: int) -> int:
    """Device memory that nobody has written."""
    return int(acl.rt.malloc(size, 0)[0])


def read(pointer: int, size: int) -> list[str]:
    """Copies to the host; which bytes were reported."""
    assert acl.rt.memcpy(acl.rt.malloc_host(size)[0], size, pointer, size, D2H) == 0
    return [report.message.partition("bytes ")[2].partition(" of")[0] for report in take()]


@pytest.mark.parametrize(("beta", "told"), [(0, False), (1, True)])
def test_c_of_gemm_is_read_where_beta_adds_it(beta: int, told: bool) -> None:
    a, out = device(np.ones((2, 2), np.float16)), device(np.zeros((2, 2), np.float16))
    c = Tensor(out.array, describe(out.array), acl.create_data_buffer(pointer := fresh(32), 8), pointer)
    scalars = [device(np.array([value], np.float16)) for value in (1, beta)]
    assert build_and_execute("GEMM", [a, a, c, *scalars], [out]) == 0
    assert acl.rt.synchronize_device() == 0
    assert [(report.code, report.place) for report in take()] == [("HA217", "inputs[2]")] * told


def test_gaps_between_writes_through_the_pointer() -> None:
    pointer = fresh(128)
    ctypes.memset(pointer, 0, 32)
    ctypes.memset(pointer + 64, 0xFF, 64)
    assert read(pointer, 128) == ["32 to 63"]
    assert read(pointer + 64, 64) == []


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_are_no_pattern(seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 256, 4096, np.uint8)
    pointer = fresh(4096)
    ctypes.memmove(pointer, data.ctypes.data, 4096)
    assert read(pointer, 4096) == []


def test_copies_carry_what_is_known() -> None:
    source, target = fresh(128), fresh(128)
    ctypes.memset(source, 1, 64)
    assert acl.rt.memcpy(target, 128, source, 128, 3) == 0
    assert read(target, 128) == ["64 to 127"]


def test_small_reads() -> None:
    pointer = fresh(64)
    assert read(pointer, 1) == ["0 to 0"]
    ctypes.memset(pointer, 1, 1)
    assert read(pointer, 1) == []


def test_large_blocks_are_not_filled_to_their_end() -> None:
    """A pool of gigabytes stays address space: behind 64 MiB all counts as written."""
    size = 1 << 33
    with hostacl.settings(device_memory="16G"):
        pointer = fresh(size)
        assert read(pointer, 64) == ["0 to 63"]
        assert read(pointer + size - 64, 64) == []


def test_a_fill_that_was_asked_for_is_kept() -> None:
    with hostacl.settings(fill="205"):
        pointer = fresh(64)
        assert ctypes.string_at(pointer, 64) == b"\xcd" * 64
        assert read(pointer, 64) == ["0 to 63"]
