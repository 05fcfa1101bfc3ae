"""The overflow status, through aclrt's functions and through operators, sees what operators gave before."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from tests.calls import Tensor, arguments, build_and_execute, describe, device, execute, message

LARGE = np.full(3, 60000, np.float16)
SATURATE, INF_NAN = 0, 1


def run(op: str, *inputs: Tensor, like: Tensor | None = None, outputs: list[Tensor] | None = None, stream: int = 0, **attrs):
    """The output, as long as the first input or `like`."""
    if outputs is None:
        outputs = [device(np.zeros_like((like or inputs[0]).array))]
    assert build_and_execute(op, inputs, outputs, attrs, stream) == 0, message()
    assert acl.rt.synchronize_stream(stream) == 0, message()
    return outputs[0].read() if outputs else None


def by_function(stream: int = 0) -> int:
    place = device(np.full(8, -1, np.int64))
    assert acl.rt.get_overflow_status(place.pointer, 64, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    status = place.read()
    assert not status[1:].any()
    return int(status[0])


def by_operator() -> int:
    return int(run("NPUGetFloatStatusV2", outputs=[device(np.zeros(8, np.int32))])[0])


def by_older_operator() -> int:
    place = device(np.zeros(8, np.float32))
    data = run("NPUGetFloatStatus", place)
    np.testing.assert_array_equal(place.read(), data)
    return int(data[0])


def clear_by_older_operator() -> None:
    run("NPUClearFloatStatus", device(np.zeros(8, np.float32)))


READERS = [by_function, by_operator, by_older_operator]
CLEARERS = [
    lambda: acl.rt.reset_overflow_status(0),
    lambda: run("NPUClearFloatStatusV2", outputs=[]),
    clear_by_older_operator,
]


@pytest.mark.parametrize("clear", CLEARERS)
def test_every_reader_sees_it_until_anyone_clears_it(clear):
    large = device(LARGE)
    clear()
    assert [read() for read in READERS] == [0, 0, 0]
    run("Add", large, large)
    assert [read() for read in READERS] == [1, 1, 1]
    run("Sub", large, large)
    assert [read() for read in READERS] == [1, 1, 1]
    clear()
    assert [read() for read in READERS] == [0, 0, 0]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64])
def test_each_float_type_without_asking_before(read, dtype):
    x = device(np.full(3, float(ml_dtypes.finfo(np.float32 if dtype == np.complex64 else dtype).max), dtype))
    run("Sub", x, x)
    assert read() == 0
    run("Add", x, x)
    assert read() == 1


def test_not_a_number_counts():
    run("Sqrt", device(np.array([1, -1], np.float32)))
    assert by_function() == 1


@pytest.mark.parametrize("place", [0, 8191, 8192, 99_999])
def test_one_among_many_once_it_is_asked_for(place):
    x = device(np.ones(100_000, np.float32))
    y = np.ones(100_000, np.float32)
    y[place] = 0
    assert acl.rt.reset_overflow_status(0) == 0
    run("Div", x, x)
    assert by_function() == 0
    run("Div", x, device(y))
    assert by_function() == 1


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.complex64])
def test_large_results_count_though_nobody_had_asked(read, dtype):
    x = device(np.full(5000, float(ml_dtypes.finfo(np.float32 if dtype == np.complex64 else dtype).max), dtype))
    results = [device(np.zeros(5000, dtype)) for _ in range(3)]
    for op, y in zip(("Sub", "Add", "Sub"), results, strict=True):
        run(op, x, x, outputs=[y])
    assert read() == 1
    assert _machine.take_reports() == []


def overwrite_by_copy(y: Tensor) -> None:
    assert acl.rt.memcpy(y.pointer + 100, 4, np.zeros(1, np.float32).ctypes.data, 4, 1) == 0


def overwrite_by_set(y: Tensor) -> None:
    assert acl.rt.memset(y.pointer, y.array.nbytes, 0, 8) == 0


def overwrite_by_operator(y: Tensor) -> None:
    run("Sub", y, device(np.zeros(5000, np.float32)), outputs=[y])
    run("Mul", device(np.zeros(5000, np.float32)), device(np.zeros(5000, np.float32)), outputs=[y])


def placed(where: Tensor, array: np.ndarray) -> Tensor:
    """A tensor in the memory of another."""
    return Tensor(array, describe(array), acl.create_data_buffer(where.pointer, array.nbytes), where.pointer)


def overwrite_by_a_small_result(y: Tensor) -> None:
    one = device(np.ones(4, np.float32))
    run("Add", one, one, outputs=[placed(y, one.array)])


def overwrite_by_integers(y: Tensor) -> None:
    one = device(np.ones(5000, np.int32))
    run("Add", one, one, outputs=[placed(y, one.array)])


def overwrite_by_an_infinity_that_moves(y: Tensor) -> None:
    run("Reshape", device(np.full((50, 100), np.inf, np.float32)), device(np.array([5000])), outputs=[y])


def free(y: Tensor) -> None:
    assert acl.rt.free(y.pointer) == 0


def follow_with_many(y: Tensor) -> None:
    one = device(np.ones(5000, np.float32))
    for _ in range(70):
        run("Sub", one, one)


@pytest.mark.parametrize("end", [
    overwrite_by_copy, overwrite_by_set, overwrite_by_operator, overwrite_by_a_small_result, overwrite_by_integers,
    overwrite_by_an_infinity_that_moves, free, follow_with_many,
])  # fmt: skip
def test_large_results_that_are_gone_before_the_first_question_are_named(end):
    x, y = device(np.full(5000, 3e38, np.float32)), device(np.zeros(5000, np.float32))
    run("Add", x, x, outputs=[y])
    end(y)
    _machine.take_reports()
    assert by_function() == 0
    assert [rule for rule, *_ in _machine.take_reports()] == ["HA123"]
    run("Add", x, x)
    assert by_function() == 1


def test_a_large_result_that_is_reshaped_where_it_lies_counts():
    x, y = device(np.full(5000, 3e38, np.float32)), device(np.zeros(5000, np.float32))
    run("Add", x, x, outputs=[y])
    run("Reshape", y, device(np.array([50, 100])), outputs=[placed(y, np.zeros((50, 100), np.float32))])
    assert by_function() == 1


def test_large_results_from_before_a_reset_do_not_count():
    x = device(np.full(5000, 3e38, np.float32))
    y = device(np.zeros(5000, np.float32))
    run("Add", x, x, outputs=[y])
    assert acl.rt.reset_overflow_status(0) == 0
    assert by_function() == 0
    assert _machine.take_reports() == []


def test_moving_an_infinity_and_integers_do_not_count():
    run("Reshape", device(np.full((1, 2), np.inf, np.float32)), device(np.array([1, 2])))
    run("Add", device(np.array([2**31 - 1], np.int32)), device(np.array([1], np.int32)))
    assert by_function() == 0


def test_only_what_was_written_of_an_output_counts():
    x, y = device(np.array([1, 0, 2, 0], np.float32)), device(np.full(4, np.inf, np.float32))
    mask = device(np.array([True, False, True, False]))
    assert build_and_execute("MaskedSelect", [x, mask], [y]) == 0, message()
    assert y.dims() == [2]
    assert by_function() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_slot_that_no_output_shows_counts(dtype):
    """The sum of squares overflows, the variable that it divides does not."""
    large = float(ml_dtypes.finfo(dtype).max) ** 0.625
    var, accum, one = (device(np.ones(3, dtype)) for _ in range(3))
    run("ApplyAdagrad", var, accum, device(np.ones(1, dtype)), one, outputs=[var])
    assert by_function() == 0
    run("ApplyAdagrad", var, accum, device(np.ones(1, dtype)), device(np.full(3, large, dtype)), outputs=[var])
    assert np.isfinite(var.read().astype(np.float64)).all()
    assert np.isinf(accum.read().astype(np.float64)).all()
    assert by_function() == 1


def test_plans_and_handles_made_before_see_it_too():
    large, y = device(np.full(4000, 3e38, np.float32)), device(np.zeros(4000, np.float32))
    assert build_and_execute("Add", [large, large], [y]) == 0
    given = arguments("Add", [large, large], [y], acl.op.create_attr())
    handle, ret = acl.op.create_handle("Add", given[1], given[3], given[5])
    assert ret == 0
    assert acl.rt.reset_overflow_status(0) == 0
    assert execute("Add", [large, large], [y]) == 0
    assert by_function() == 1
    assert acl.rt.reset_overflow_status(0) == 0
    assert acl.op.execute_with_handle(handle, given[2], given[4], 0) == 0
    assert by_function() == 1
    acl.op.destroy_handle(handle)


def test_a_stream_whose_switch_is_off_is_not_looked_at():
    stream, _ = acl.rt.create_stream()
    large = device(LARGE)
    assert acl.rt.set_stream_overflow_switch(stream, 0) == 0
    run("Add", large, large, stream=stream)
    assert by_function() == 0
    assert acl.rt.set_stream_overflow_switch(stream, 1) == 0
    run("Add", large, large, stream=stream)
    assert by_function() == 1


def test_the_status_is_read_in_the_order_of_the_stream():
    stream, _ = acl.rt.create_stream()
    large, y = device(LARGE), device(LARGE)
    places = [device(np.zeros(1, np.int64)) for _ in range(3)]
    for place in places:
        assert acl.rt.get_overflow_status(place.pointer, 8, stream) == 0
        assert build_and_execute("Add", [large, large], [y], stream=stream) == 0
        if place is places[1]:
            assert acl.rt.reset_overflow_status(stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert [int(place.read()[0]) for place in places] == [0, 1, 0]


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910_93", "Ascend310P", "Ascend910A"])
def test_a_saturated_half_counts(soc):
    with hostacl.settings(soc=soc):
        large = device(LARGE)
        assert acl.rt.set_device_sat_mode(SATURATE) == 0
        assert acl.rt.reset_overflow_status(0) == 0
        np.testing.assert_array_equal(run("Sub", large, large), [0, 0, 0])
        assert by_function() == 0
        np.testing.assert_array_equal(run("Add", large, large), [65504] * 3)
        assert by_function() == 1
        if soc.startswith("Ascend910_93") or soc == "Ascend910B1":
            assert acl.rt.set_device_sat_mode(INF_NAN) == 0
            assert acl.rt.reset_overflow_status(0) == 0
            largest = device(np.full(3, 65504, np.float16))
            run("Maximum", largest, largest)
            assert by_function() == 0  # with infinities, the largest finite half is a half like others
            np.testing.assert_array_equal(run("Add", large, large), [np.inf] * 3)
            assert by_function() == 1


def test_a_reset_machine_has_seen_nothing():
    large = device(LARGE)
    run("Add", large, large)
    hostacl.reset()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    assert by_function() == 0
