"""Calls that are wrong: the code and the names that the text must have."""

from __future__ import annotations

import numpy as np
import pytest

import acl
import hostacl
from tests.calls import D2H, H2D, Tensor, attributes, compile_op, device, message
from tests.cases.conftest import reports
from tests.cases.driver import PATTERN, Run, refused, result, runs
from tests.cases.messages import last, reported, told, type_error

H2H = 0


def adds(count: int = 2) -> tuple[Tensor, Tensor]:
    """An input and an output of a compiled Add."""
    x, y = device(np.ones(count, np.float32)), device(np.zeros(count, np.float32))
    assert compile_op("Add", [x, x], [y]) == 0
    return x, y


@pytest.mark.case("B011")
def test_attributes_of_another_kind_name_both(way: str) -> None:
    concat, mean, _ = runs("B011")
    told("B011 N as float", *refused(concat, way=way).told)
    told("B011 axes as int", *refused(mean, way=way).told)


@pytest.mark.case("B011")
def test_an_unknown_attribute_is_dropped_and_reported(way: str) -> None:
    reports()
    np.testing.assert_array_equal(result(runs("B011")[2], way=way), [3])
    told("B011 no_such_attr", *reported("HA507", f"acl.op.{way}" if way.startswith("compile") else "acl.op.compile"))


@pytest.mark.case("B023")
def test_a_type_that_is_not_listed(way: str) -> None:
    (case,) = runs("B023")
    told("B023 x as double", *refused(case, way=way).told)
    with hostacl.settings(dtypes="permissive"):
        np.testing.assert_array_equal(result(case, way=way), [2, 3])


@pytest.mark.case("B028")
def test_broadcast_names_the_dim_that_cannot(way: str) -> None:
    (case,) = runs("B028")
    np.testing.assert_array_equal(result(case, way=way), [[1, 2, 3], [1, 2, 3]])
    wider = {"attrs": {"shape": [2, 4]}, "tensors": {"y": {"shape": [2, 4]}}}
    told("B028 another dim 1", *refused(case, **wider, way=way).told)


@pytest.mark.case("B029")
def test_a_described_output_of_another_shape(way: str) -> None:
    (case,) = runs("B029")
    told("B029 y as [3]", *refused(case, way=way).told)
    run = Run(case, way=way)
    ret = acl.op.execute_v2(*run.arguments(), 0)
    told("B029 no model", message(), ret, "acl.op.execute_v2")
    assert all((memory.bytes() == PATTERN).all() for memory in run.memories[1:])


@pytest.mark.case("B038")
@pytest.mark.parametrize(
    ("shape", "perm", "text"), [([3], [1], "B038 beyond the rank"), ([2, 3], [0, 0], "B038 given twice")]
)
def test_perm_must_be_a_permutation(way: str, shape: list[int], perm: list[int], text: str) -> None:
    (case,) = runs("B038")
    tensors = {"x": {"shape": shape}, "y": {"shape": shape}, "perm": {"shape": [len(perm)]}}
    told(text, *refused(case, values={"perm": perm, "x": "zeros"}, tensors=tensors, way=way).told)


@pytest.mark.case("B041")
def test_channels_must_fit_the_groups(way: str) -> None:
    told("B041 channels", *refused(*runs("B041"), way=way).told)


@pytest.mark.case("B055")
def test_two_inputs_of_one_type(way: str) -> None:
    (case,) = runs("B055")
    told("B055 two types", *refused(case, way=way).told)
    np.testing.assert_array_equal(result(case, tensors={"x2": {"dtype": "float16"}}, way=way), [2, 4])


@pytest.mark.case("B069")
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[::2], np.s_[:, ::-1]])
def test_the_address_of_a_discontiguous_array_warns(cut: slice) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T[cut]
    with pytest.warns(RuntimeWarning) as warned:
        pointer = acl.util.numpy_to_ptr(array)
    assert pointer == array.ctypes.data
    (one,) = warned
    told("B069 discontiguous", str(one.message), one.category.__name__, "acl.util.numpy_to_ptr")


@pytest.mark.case("B069")
def test_a_cut_that_is_contiguous_does_not_warn() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T[:, ::2]  # one column of the transposed: a row of memory
    assert acl.util.numpy_to_ptr(array) == array.ctypes.data


@pytest.mark.case("B069")
def test_a_discontiguous_array_is_read_in_the_order_of_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    x = device(np.zeros(6, np.float32))
    with pytest.warns(RuntimeWarning, match="contiguous"):
        pointer = acl.util.numpy_to_ptr(array)
    assert acl.rt.memcpy(x.pointer, 24, pointer, 24, H2D) == 0
    np.testing.assert_array_equal(x.read(), [0, 1, 2, 3, 4, 5])


@pytest.mark.case("B086")
def test_an_asynchronous_copy_from_ordinary_memory_is_reported(stream: int) -> None:
    x = device(np.zeros(8, np.float32))
    source = np.arange(8, dtype=np.float32)
    reports()
    assert acl.rt.memcpy_async(x.pointer, 32, source.ctypes.data, 32, H2D, stream) == 0
    told("B086 pageable", *reported("HA216", "acl.rt.memcpy_async"))
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(x.read(), source)


@pytest.mark.case("B086")
def test_an_asynchronous_copy_between_unaligned_addresses_is_reported(stream: int) -> None:
    x, source = acl.rt.malloc(128, 0)[0], acl.rt.malloc_host(128)[0]
    reports()
    for shift in (64, 0):
        assert acl.rt.memcpy_async(x + shift, 16, source + shift, 16, H2D, stream) == 0
    assert "HA224" not in reports()
    assert acl.rt.memcpy_async(x + 4, 16, source + 4, 16, H2D, stream) == 0
    told("B086 unaligned", *reported("HA224", "acl.rt.memcpy_async"))


@pytest.mark.case("B086")
@pytest.mark.parametrize(
    ("version", "at_call", "at_synchronize"), [("8.0.RC3", 207000, 0), ("9.0", 207000, 0), ("8.0.RC2", 0, 207000)]
)
def test_host_to_host_by_version(version: str, at_call: int, at_synchronize: int) -> None:
    source, target = np.arange(4), np.zeros(4, int)
    values = f"dst = {hex(target.ctypes.data)}", f"src = {hex(source.ctypes.data)}"
    with hostacl.settings(cann=version):
        stream = acl.rt.create_stream()[0]
        assert acl.rt.memcpy_async(target.ctypes.data, 32, source.ctypes.data, 32, H2H, stream) == at_call
        if at_call:
            told("B086 host to host", message(), at_call, "acl.rt.memcpy_async", *values)
        assert acl.rt.synchronize_stream(stream) == at_synchronize
        if at_synchronize:
            told("B086 host to host later", message(), at_synchronize, "aclrtMemcpyAsync", *values)


@pytest.mark.case("B086")
def test_a_copy_larger_than_its_target() -> None:
    x = device(np.zeros(8, np.float32))
    source = np.ones(8, np.float32)
    ret = acl.rt.memcpy(x.pointer, 16, source.ctypes.data, 32, H2D)
    told("B086 past the end", message(), ret, "acl.rt.memcpy")
    np.testing.assert_array_equal(x.read(), np.zeros(8))


@pytest.mark.case("B097")
def test_init_and_finalize_twice() -> None:
    told("B097 init twice", *last(acl.init()), "acl.init")
    x, y = adds()
    assert acl.op.execute_v2("Add", [x.desc, x.desc], [x.buffer, x.buffer], [y.desc], [y.buffer], 0, 0) == 0
    assert acl.rt.synchronize_device() == 0
    np.testing.assert_array_equal(y.read(), [2, 2])
    assert acl.finalize() == 0
    told("B097 finalize twice", *last(acl.finalize()), "acl.finalize")
    assert acl.init() == 0


@pytest.mark.case("B097")
def test_finalize_by_count() -> None:
    acl.init()
    count = acl.finalize_reference()[0]
    assert [acl.finalize_reference()[0] for _ in range(count)] == list(range(count))[::-1]
    assert acl.finalize() == 100037


@pytest.mark.case("B106")
def test_none_is_refused_as_a_pointer_and_0_is_null(stream: int) -> None:
    x, y = adds()
    error = type_error(lambda: acl.op.create_handle("Add", [x.desc, x.desc], [y.desc], None))
    told("B106 None for attr", *error, "acl.op.create_handle")
    handle, ret = acl.op.create_handle("Add", [x.desc, x.desc], [y.desc], 0)
    assert ret == 0
    error = type_error(lambda: acl.op.execute(handle, [x.buffer], [y.buffer], None, stream))
    told("B106 five arguments", *error, "execute")
    assert acl.op.execute_with_handle(handle, [x.buffer, x.buffer], [y.buffer], stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(y.read(), [2, 2])
    acl.op.destroy_handle(handle)
    message()
    for dead, text in ((handle, "B106 destroyed handle"), (0, "B106 handle 0")):
        ret = acl.op.execute_with_handle(dead, [x.buffer, x.buffer], [y.buffer], stream)
        told(text, message(), ret, "acl.op.execute_with_handle")


@pytest.mark.case("B107")
@pytest.mark.parametrize("way", ["execute", "execute_v2"])
def test_objects_of_the_wrong_kind_are_named(way: str) -> None:
    x, y = adds()
    ret = getattr(acl.op, way)("Add", [x.buffer, x.buffer], [x.desc, x.desc], [y.buffer], [y.desc], 0, 0)
    told("B107 buffers for descriptors", message(), ret, f"acl.op.{way}")


@pytest.mark.case("B107")
def test_the_whole_answer_of_malloc_is_no_pointer() -> None:
    error = type_error(lambda: acl.create_data_buffer(acl.rt.malloc(32, 0), 32))
    told("B107 tuple for a pointer", *error, "acl.create_data_buffer")


@pytest.mark.case("B108")
def test_tuples_are_no_lists() -> None:
    x, y = adds()
    buffers = [x.buffer, x.buffer]
    error = type_error(lambda: acl.op.execute_v2("Add", (x.desc, x.desc), buffers, [y.desc], [y.buffer], 0, 0))
    told("B108 tuples", *error, "acl.op.execute_v2")


@pytest.mark.case("B108")
def test_arrays_as_lists_keep_their_values() -> None:
    x, y = device(np.array([[1, 2], [3, 4]], np.float32)), device(np.zeros((), np.float32))
    attr = attributes({"keep_dims": False})
    assert acl.op.set_attr_list_int(attr, "axes", np.array([0, 1], np.int32)) == 0
    ret = acl.op.compile_and_execute_v2("ReduceSumD", [x.desc], [x.buffer], [y.desc], [y.buffer], attr, 0, 0, None, 0)
    assert ret == 0, message()
    assert acl.rt.synchronize_device() == 0
    assert y.read() == 10
    assert acl.op.set_attr_list_float(attr, "axes", np.array([1.5], np.float64)) == 0
    ret = acl.op.compile("ReduceSumD", [x.desc], [y.desc], attr, 0, 0, None)
    told("B108 floats for axes", message(), ret, "acl.op.compile")  # the text has the value that was kept
    error = type_error(lambda: acl.op.set_attr_list_int(attr, "axes", np.array([0.5])))
    told("B108 floats as ints", *error, "acl.op.set_attr_list_int")
    error = type_error(lambda: acl.op.set_attr_list_float(attr, "s", np.array(["a"])))
    told("B108 words as floats", *error, "acl.op.set_attr_list_float")


@pytest.mark.case("B110")
def test_only_the_bytes_of_the_descriptor_are_touched(way: str) -> None:
    run = Run(*runs("B110"), way=way)
    outcome = run()
    assert not outcome.failed, outcome.text
    raw = np.empty(64, np.uint8)
    assert acl.rt.memcpy(raw.ctypes.data, 64, run.outputs[0].pointer, 64, D2H) == 0
    np.testing.assert_array_equal(raw[:20].view(np.float32), [2, 3, 4, 5, 6])
    assert (raw[20:] == 0xAB).all()
