"""Values: what the operators of the reports compute, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from hostacl.ops.registry import implemented
from tests.cases.conftest import reports
from tests.cases.driver import CASES, Run, refused, result, runs
from tests.cases.messages import reported, told

INF, NAN = np.inf, np.nan


def equal(got: object, want: object) -> None:
    np.testing.assert_array_equal(got, want)


def needs(*names: str) -> None:
    """Waits for operators that a later issue brings."""
    for name in names:
        if name not in implemented():
            pytest.skip(f"operator {name} is not there yet")


@pytest.mark.case("B005")
def test_slices(way: str) -> None:
    slice_d, slice_, strided = runs("B005")
    equal(result(slice_d, way=way), [[4, 5], [8, 9], [12, 13]])
    equal(result(slice_, way=way), [[4, 5], [8, 9], [12, 13], [16, 17]])
    equal(result(strided, way=way), [[16, 18], [8, 10]])


@pytest.mark.case("B006")
@pytest.mark.parametrize("place", ["const", "host"])
def test_transpose_by_value_and_by_attribute(way: str, place: str) -> None:
    by_value, by_attribute, _ = runs("B006")
    equal(result(by_value, places={"perm": place}, way=way), [[1, 4], [2, 5], [3, 6]])
    equal(result(by_attribute, way=way), [[1, 4], [2, 5], [3, 6]])


@pytest.mark.case("B006")
def test_ties_keep_their_order(way: str) -> None:
    outcome = Run(runs("B006")[2], way=way)()
    assert not outcome.failed, outcome.text
    equal(outcome.values(0), [3, 3, 2, 1])
    equal(outcome.values(1), [0, 2, 3, 1])


@pytest.mark.case("B014")
def test_fill_keeps_every_bit_of_int64(way: str) -> None:
    big, one = runs("B014")
    equal(result(big, way=way), np.full((2, 2), 9007199254740993))
    equal(result(one, way=way), [3.0])


@pytest.mark.case("B015")
def test_fill_of_one_element(way: str) -> None:
    one, scalar = runs("B015")
    equal(result(one, way=way), [3])
    got = result(scalar, way=way)
    assert got.shape == ()
    equal(got, 3)


@pytest.mark.case("B016")
def test_the_attribute_says_the_type_of_an_index(way: str) -> None:
    (case,) = runs("B016")
    equal(result(case, way=way), [1, 0])
    told("B016 y as int32", *refused(case, tensors={"y": {"dtype": "int32"}}, way=way).told)


@pytest.mark.case("B017")
def test_first_minimum_and_a_later_operator(way: str) -> None:
    (case,) = runs("B017")
    equal(result(case, way=way), [1])
    equal(result(case, tensors={"y": {"shape": []}}, way=way), 1)
    told("B017 y as [2]", *refused(case, tensors={"y": {"shape": [2]}}, way=way).told)
    equal(result(runs("B030")[0], way=way), [[11, 22, 33], [14, 25, 36]])


@pytest.mark.case("B019")
def test_bits(way: str) -> None:
    both, either_not_both, either = runs("B019")
    equal(result(both, way=way), [2])
    equal(result(either_not_both, way=way), -6)
    equal(result(either, way=way), [9, 10, 12])


@pytest.mark.case("B020")
@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 33])
@pytest.mark.parametrize("offset", [0, 2])
def test_invert_of_lengths_around_a_block(way: str, count: int, offset: int) -> None:
    (case,) = runs("B020")
    tensor = {"shape": [count], "buffer_bytes": 2 * count + offset}
    run = Run(case, tensors={"x": tensor, "y": tensor}, way=way)
    run.memories[0].write(np.concatenate([np.zeros(offset, np.uint8), np.arange(count, dtype=np.int16).view(np.uint8)]))
    for tensor in (*run.inputs, *run.outputs):
        tensor.pointer += offset
        assert acl.update_data_buffer(tensor.buffer, tensor.pointer, 2 * count) == 0
    outcome = run()
    assert not outcome.failed, outcome.text
    equal(outcome.values(), [-1 - i for i in range(count)])


@pytest.mark.case("B021")
def test_int64_beyond_the_list_is_exact_where_allowed(way: str) -> None:
    largest, expand = runs("B021")
    with hostacl.settings(dtypes="permissive"):
        equal(result(largest, way=way), [1099511627777, 1])
        equal(result(expand, way=way), [[5, 6], [5, 6]])


@pytest.mark.case("B025")
def test_cast_to_the_same_type_keeps_the_bits(way: str) -> None:
    (case,) = runs("B025")
    given = np.array([1.5, -0.0, NAN], np.float16)
    assert result(case, way=way).tobytes() == given.tobytes()


@pytest.mark.case("B030")
def test_add_broadcasts_and_a_sum_takes_it_back(way: str) -> None:
    add, total = runs("B030")
    equal(result(add, way=way), [[11, 22, 33], [14, 25, 36]])
    equal(result(total, way=way), [5, 7, 9])


@pytest.mark.case("B030")
def test_ten_thousand_sums_leave_nothing_behind(stream: int) -> None:
    run = Run(runs("B030")[1], stream=stream, way="execute_v2")
    assert not run().failed
    arguments = run.arguments()
    before = _machine.live_objects()
    for _ in range(10_000):
        assert acl.op.execute_v2(*arguments, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    equal(run.outputs[0].read(), [5, 7, 9])
    assert _machine.live_objects() == before


@pytest.mark.case("B032")
def test_negative_axes_and_the_interval_of_axes(way: str) -> None:
    negative, outside = runs("B032")
    equal(result(negative, way=way), [5, 7])
    told("B032 axis 2", *refused(outside, way=way).told)


@pytest.mark.case("B033")
def test_no_axes_mean_all_or_none_by_the_attribute(way: str) -> None:
    (case,) = runs("B033")
    equal(result(case, way=way), 3.5)
    empty = {"axes": {"shape": [0]}}
    no_axes = {"values": {"axes": []}, "way": way}
    equal(result(case, tensors=empty, attrs={"noop_with_empty_axes": False}, **no_axes), 3.5)
    as_it_is = {**empty, "y": {"shape": [2, 3]}}
    equal(result(case, tensors=as_it_is, attrs={"noop_with_empty_axes": True}, **no_axes), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.case("B035")
def test_reductions_of_nothing(way: str) -> None:
    total, largest, _ = runs("B035")
    equal(result(total, way=way), [0, 0])
    equal(result(largest, way=way), [-INF, -INF])


@pytest.mark.case("B035")
def test_nothing_to_add_with_and_without_memory(way: str) -> None:
    add = runs("B035")[2]
    assert result(add, way=way).shape == (0, 2)
    run = Run(add, places={"x1": "null", "x2": "null"}, way=way)
    assert acl.update_data_buffer(run.outputs[0].buffer, 0, 0) == 0
    assert not run().failed


@pytest.mark.case("B036")
def test_fill_of_nothing(way: str) -> None:
    assert result(*runs("B036"), way=way).shape == (0, 3)


@pytest.mark.case("B037")
def test_negative_begin_of_a_strided_slice_and_of_a_slice(way: str) -> None:
    strided, plain = runs("B037")
    equal(result(strided, way=way), [4])
    told("B037 offset before the start", *refused(plain, way=way).told)


@pytest.mark.case("B047")
@pytest.mark.parametrize(
    ("soc", "wanted"),
    [("Ascend910B1", ([INF], [INF, -INF], [NAN])), ("Ascend310P", ([65504], [65504, -65504], [0]))],
)
def test_halves_overflow_by_the_product(way: str, soc: str, wanted: tuple[list[float], ...]) -> None:
    with hostacl.settings(soc=soc):
        for case, want in zip(runs("B047"), wanted, strict=True):
            equal(result(case, way=way), np.array(want, np.float16))


@pytest.mark.case("B048")
def test_nan_stays(way: str) -> None:
    equal(result(*runs("B048"), way=way), [NAN, 2, NAN])


@pytest.mark.case("B050")
def test_batches_of_products(way: str) -> None:
    (case,) = runs("B050")
    x1 = np.random.default_rng(0).standard_normal((2, 3, 16, 8)).astype(np.float16)
    x2 = np.random.default_rng(1).standard_normal((1, 3, 16, 8)).astype(np.float16)
    got = result(case, values={"x1": x1, "x2": x2}, way=way).astype(np.float64)
    want = x1.astype(np.float64) @ x2.astype(np.float64).swapaxes(-1, -2)
    assert ((got - want) ** 2).sum() / (want**2).sum() < 1e-6


@pytest.mark.case("B052")
def test_nan_is_sorted_as_the_largest(way: str) -> None:
    outcome = Run(*runs("B052"), way=way)()
    assert not outcome.failed, outcome.text
    equal(outcome.values(0), [-INF, 0, 1, INF, NAN])
    equal(outcome.values(1), [3, 4, 1, 2, 0])


@pytest.mark.case("B053")
def test_cross_entropy_of_large_logits_is_finite(way: str) -> None:
    (case,) = runs("B053")
    needs(case["op"])
    np.testing.assert_allclose(result(case, way=way), [0, 0, 100], atol=1e-43)


@pytest.mark.case("B053")
def test_gradient_of_cross_entropy_of_large_logits(way: str) -> None:
    (case,) = runs("B053")
    needs("SigmoidCrossEntropyWithLogitsGrad")
    dout = {"name": "dout", "dtype": "float32", "shape": [3], "format": "ND", "data": [1, 1, 1]}
    gradient = {"name": "gradient", "dtype": "float32", "shape": [3], "format": "ND"}
    call = {**case, "op": "SigmoidCrossEntropyWithLogitsGrad", "inputs": [*case["inputs"], dout], "outputs": [gradient]}
    np.testing.assert_allclose(result(call, way=way), [0, 0, 1], atol=1e-43)


@pytest.mark.case("B054")
def test_batch_statistics_of_a_single_element(way: str) -> None:
    (case,) = runs("B054")
    needs(case["op"])
    outcome = Run(case, way=way)()
    assert not outcome.failed, outcome.text
    equal(outcome.values(0), np.zeros((1, 1, 1, 1)))
    np.testing.assert_allclose(outcome.values(1).ravel(), [0.2], rtol=1e-6)
    np.testing.assert_allclose(outcome.values(2).ravel(), [0.9], rtol=1e-6)


@pytest.mark.case("B056")
def test_int64_to_int32_keeps_the_low_bits(way: str) -> None:
    reports()
    equal(result(*runs("B056"), way=way), [0, 2147483647])
    assert reports() == {}
    with hostacl.settings(check="HA531"):
        equal(result(*runs("B056"), way=way), [0, 2147483647])
        told("B056 cut", *reported("HA531", f"acl.op.{way}"))


@pytest.mark.case("B057")
def test_a_triangle_of_bytes(way: str) -> None:
    equal(result(*runs("B057"), way=way), [[0, 0, 0], [1, 0, 0], [1, 1, 0]])


@pytest.mark.case("B058")
def test_a_mask_has_its_first_element_in_the_lowest_bit(way: str) -> None:
    (case,) = runs("B058")
    full = np.full(32, 0xFF, np.uint8)
    equal(result(case, values={"mask": full}, way=way), np.full(130, 2.0))
    full[0] = 0xFE
    equal(result(case, values={"mask": full}, way=way), [0.0] + [2.0] * 129)
    short = {"values": {"mask": np.full(17, 0xFF)}, "tensors": {"mask": {"shape": [17]}}}
    told("B058 short mask", *refused(case, **short, way=way).told)


@pytest.mark.case("B060")
def test_gelu_of_float64_by_the_setting(way: str) -> None:
    (case,) = runs("B060")
    told("B060 x as double", *refused(case, way=way).told)
    with hostacl.settings(dtypes="permissive"):
        np.testing.assert_allclose(result(case, way=way), [0.8411919906082768], rtol=1e-12)


@pytest.mark.case("B061")
def test_add_of_uint64_by_the_setting(way: str) -> None:
    (case,) = runs("B061")
    told("B061 x1 as uint64", *refused(case, way=way).told)
    with hostacl.settings(dtypes="permissive"):
        equal(result(case, way=way), [0])


@pytest.mark.case("B063")
def test_only_infinities_are_infinite(way: str) -> None:
    equal(result(*runs("B063"), way=way), [1, 1, 0, 0, 0])


@pytest.mark.case("B003")
@pytest.mark.parametrize("place", ["const", "host", "device"])
def test_values_in_each_place_and_a_report_for_the_device(place: str) -> None:
    (case,) = runs("B003")
    reports()
    equal(result(case, places={"offsets": place, "size": place}), [[4, 5], [8, 9], [12, 13]])
    if place == "device":
        told("B003 value in device memory", *reported("HA514", "acl.op.compile_and_execute_v2"))
    assert not [text for text in reports().values() if "offsets" in text or "size" in text]


@pytest.mark.case("B109")
def test_a_const_input_with_an_empty_buffer(way: str) -> None:
    (case,) = runs("B109")
    equal(result(case, way=way), [1])


def test_the_cases_are_all_there() -> None:
    assert len(CASES) == 76
