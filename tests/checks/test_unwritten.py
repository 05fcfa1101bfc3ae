"""Reads of memory that nobody wrote (HA217): by which operators, and what counts as written."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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


def unwritten(like: np.ndarray[Any, Any], size: int = 0) -> Tensor:
    """A tensor of which only the first ``size`` bytes were written."""
    pointer = fresh(like.nbytes)
    ctypes.memset(pointer, 0, size)
    return Tensor(like, describe(like), acl.create_data_buffer(pointer, like.nbytes), pointer)


def reported(op: str, inputs: Sequence[Tensor], output: Tensor, attrs: Mapping[str, Any] | None = None) -> list[str]:
    """The inputs of the call that were reported."""
    assert build_and_execute(op, inputs, [output], attrs) == 0
    assert acl.rt.synchronize_device() == 0
    reports = take()
    assert {report.code for report in reports} <= {"HA217"}
    return [report.place for report in reports]


ROWS = np.zeros((4, 8), np.float32)
FIRST = np.arange(2, dtype=np.int32)
PICKS: dict[str, tuple[int, list[Any], Any, dict[str, Any]]] = {
    "Gather": (0, [ROWS, FIRST], ROWS[:2], {}),
    "GatherElements": (0, [ROWS, np.zeros((4, 8), np.int64)], ROWS, {}),
    "SliceD": (0, [ROWS], ROWS[:2], {"offsets": [0, 0], "size": [2, 8]}),
    "StridedSliceD": (0, [ROWS], ROWS[:2], {"begin": [0, 0], "end": [2, 8], "strides": [1, 1]}),
    "MaskedFill": (0, [ROWS, np.ones((4, 8), bool), np.float32(1)], ROWS, {}),
    "Select": (2, [np.ones((4, 8), bool), ROWS, ROWS], ROWS, {}),
    "DiagPart": (0, [np.zeros((8, 8), np.float32)], np.zeros(8, np.float32), {}),
}
"""Operators that read the elements picked: place of the input, what is given, the output, attributes."""


@pytest.mark.parametrize("op", PICKS)
def test_picked_elements_are_told_where_none_was_written(op: str) -> None:
    place, arrays, out, attrs = PICKS[op]
    for size, told in ((0, [f"inputs[{place}]"]), (64, [])):
        inputs = [unwritten(one, size) if at == place else device(one) for at, one in enumerate(arrays)]
        assert reported(op, inputs, device(out), attrs) == told


@pytest.mark.parametrize("op", ["Shape", "Size", "Rank", "ZerosLike", "OnesLike", "Fills"])
def test_only_the_shape_counts(op: str) -> None:
    out = {"Shape": np.zeros(2, np.int32), "Size": np.int32(0), "Rank": np.int32(0)}.get(op, ROWS)
    assert reported(op, [unwritten(ROWS)], device(out), {"value": 2.0} if op == "Fills" else {}) == []


UPDATES = np.ones((2, 8), np.float32)
WRITES: dict[str, tuple[list[Any], dict[str, Any], bool]] = {
    "Assign": ([ROWS], {}, False),
    "ScatterUpdate": ([FIRST, UPDATES], {}, False),
    "ScatterAdd": ([FIRST, UPDATES], {}, True),
    "ScatterNdUpdate": ([FIRST[:, None], UPDATES], {}, False),
    "ScatterNdAdd": ([FIRST[:, None], UPDATES], {}, True),
    "ScatterElementsV2": ([np.zeros((2, 8), np.int64), UPDATES], {"reduction": "none"}, False),
    "ScatterElementsV2 add": ([np.zeros((2, 8), np.int64), UPDATES], {"reduction": "add"}, True),
}
"""Operators on their first input in place: the other inputs, attributes, whether what was there is taken in."""


@pytest.mark.parametrize("case", WRITES)
def test_what_is_written_over_need_not_be_there(case: str) -> None:
    arrays, attrs, told = WRITES[case]
    var = unwritten(ROWS)
    assert reported(case.partition(" ")[0], [var, *map(device, arrays)], var, attrs) == ["inputs[0]"] * told


@pytest.mark.parametrize(("beta", "told"), [(0, False), (1, True)])
def test_c_of_gemm_is_read_where_beta_adds_it(beta: int, told: bool) -> None:
    a, out = device(np.ones((2, 2), np.float16)), device(np.zeros((2, 2), np.float16))
    scalars = [device(np.array([value], np.float16)) for value in (1, beta)]
    assert reported("GEMM", [a, a, unwritten(out.array), *scalars], out) == ["inputs[2]"] * told


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
