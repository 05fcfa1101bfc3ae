"""Descriptors: behaviour contract, section "Descriptors, buffers, attributes"."""

from __future__ import annotations

import numpy as np
import pytest

import acl

INVALID = 100000
UNKNOWN_RANK = 2**64 - 2
FLOAT, FLOAT16, INT8, INT64 = 0, 1, 2, 9
ND, NCHW, NC1HWC0 = 2, 0, 3

SIZES = {
    -1: 0, 0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 9: 8, 10: 8, 11: 8, 12: 1, 13: 0, 16: 8, 17: 16, 27: 2, 29: 1, 30: 1,
    33: 4, 34: 1, 35: 1, 36: 1, 37: 1, 38: 8, 39: 8, 40: 8, 41: 8, 5: 0, 99: 0,
}


@pytest.mark.parametrize(("dtype", "size"), SIZES.items())
def test_data_type_size_is_the_documented_one(dtype: int, size: int) -> None:
    """Data types: what aclDataTypeSize returns; packed types count whole bytes."""
    assert acl.data_type_size(dtype) == size


def test_getters_give_what_was_created(desc: int) -> None:
    """Getters on a live descriptor."""
    assert acl.get_tensor_desc_type(desc) == FLOAT
    assert acl.get_tensor_desc_format(desc) == ND
    assert acl.get_tensor_desc_num_dims(desc) == 2
    assert [acl.get_tensor_desc_dim(desc, i) for i in range(2)] == [2, 3]
    assert acl.get_tensor_desc_dim_v2(desc, 1) == (3, 0)
    assert acl.get_tensor_desc_element_count(desc) == 6
    assert acl.get_tensor_desc_size(desc) == 24


@pytest.mark.parametrize(
    ("dims", "count", "rank"), [([], 1, 0), ([0], 0, 1), ([2, 0, 3], 0, 3), ([-1, 4], 0, 2), ([-2], 0, UNKNOWN_RANK)]
)
def test_element_count_of_special_shapes(dims: list[int], count: int, rank: int) -> None:
    """Element count: 1 for a scalar, 0 when any dim is negative; rank unknown: num dims = -2 as size_t."""
    handle = acl.create_tensor_desc(INT64, dims, ND)
    assert acl.get_tensor_desc_element_count(handle) == count
    assert acl.get_tensor_desc_size(handle) == 8 * count
    assert acl.get_tensor_desc_num_dims(handle) == rank
    acl.destroy_tensor_desc(handle)


def test_getters_on_null_give_the_documented_values() -> None:
    """Getters on NULL: type, format -1; sizes 0; a dim -1 (V2: IP)."""
    assert acl.get_tensor_desc_type(0) == -1
    assert acl.get_tensor_desc_format(0) == -1
    assert acl.get_tensor_desc_size(0) == 0
    assert acl.get_tensor_desc_element_count(0) == 0
    assert acl.get_tensor_desc_dim(0, 0) == -1
    assert acl.get_tensor_desc_dim_v2(0, 0)[1] == INVALID


def test_a_dim_out_of_range(desc: int) -> None:
    """A dim out of range: -1, and IP in V2, with a text."""
    assert acl.get_tensor_desc_dim(desc, 2) == -1
    assert acl.get_tensor_desc_dim_v2(desc, 2)[1] == INVALID
    assert "index = 2" in (acl.get_recent_err_msg() or "")


def test_a_destroyed_descriptor_is_told_apart() -> None:
    """A dead or foreign descriptor: IP, always with a text, never a crash. Destroying it twice is no crash either."""
    handle = acl.create_tensor_desc(FLOAT, [1], ND)
    acl.destroy_tensor_desc(handle)
    assert acl.set_tensor_format(handle, NCHW) == INVALID
    assert "destroyed" in (acl.get_recent_err_msg() or "")
    acl.destroy_tensor_desc(handle)
    assert "destroyed" in (acl.get_recent_err_msg() or "")


def test_a_buffer_is_no_descriptor() -> None:
    """A handle of the wrong kind: IP, and the text says what it is."""
    buffer = acl.create_data_buffer(0, 0)
    assert acl.set_tensor_shape(buffer, [1]) == INVALID
    assert "data buffer" in (acl.get_recent_err_msg() or "")
    assert acl.destroy_data_buffer(buffer) == 0


def test_destroy_of_null_is_fine() -> None:
    """Destroy(NULL) is fine."""
    acl.destroy_tensor_desc(0)
    assert acl.get_recent_err_msg() is None


def test_the_form_with_the_number_of_dims() -> None:
    """The four-argument form: the count must equal the list's length."""
    handle = acl.create_tensor_desc(FLOAT, 2, [4, 5], ND)
    assert acl.get_tensor_desc_element_count(handle) == 20
    acl.destroy_tensor_desc(handle)
    undefined = acl.create_tensor_desc(-1, 0, [], -1)
    assert (acl.get_tensor_desc_type(undefined), acl.get_tensor_desc_format(undefined)) == (-1, -1)
    acl.destroy_tensor_desc(undefined)
    assert acl.create_tensor_desc(FLOAT, 3, [4, 5], ND) == 0


def test_storage_counts_for_the_size() -> None:
    """SetTensorFormat/SetTensorShape set what lies in memory: a bias of 6 in NC1HWC0 takes 16 elements (report B065)."""
    handle = acl.create_tensor_desc(FLOAT, [1, 6, 1, 1], NCHW)
    assert acl.set_tensor_format(handle, NC1HWC0) == 0
    assert acl.set_tensor_shape(handle, [1, 1, 1, 1, 16]) == 0
    assert acl.get_tensor_desc_size(handle) == 64
    assert acl.get_tensor_desc_format(handle) == NCHW
    assert acl.get_tensor_desc_num_dims(handle) == 4
    acl.destroy_tensor_desc(handle)


def test_the_origin_can_be_replaced(desc: int) -> None:
    """SetTensorOriginFormat/Shape set the origin."""
    assert acl.set_tensor_origin_shape(desc, [7]) == 0
    assert acl.set_tensor_origin_format(desc, NCHW) == 0
    assert acl.get_tensor_desc_dim(desc, 0) == 7
    assert acl.get_tensor_desc_format(desc) == NCHW


def test_shape_ranges(desc: int) -> None:
    """SetTensorShapeRange replaces the list; GetTensorDescDimRange(desc, i, 2, out)."""
    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([2, 2], 0)
    assert acl.set_tensor_shape_range(desc, [[1, 16], [0, -1]]) == 0
    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([1, 16], 0)
    assert acl.get_tensor_desc_dim_range(desc, 1, 2) == ([0, -1], 0)
    assert acl.get_tensor_desc_dim_range(desc, 2, 2) == (None, INVALID)
    assert acl.set_tensor_shape_range(desc, [[3, 1], [0, 1]]) == INVALID


def test_names(desc: int) -> None:
    """SetTensorDescName."""
    assert acl.get_tensor_desc_name(desc) == ""
    acl.set_tensor_desc_name(desc, "x1")
    assert acl.get_tensor_desc_name(desc) == "x1"
    assert acl.set_tensor_dynamic_input(desc, "x") == 0


def test_const_data(desc: int) -> None:
    """SetTensorConst: null or 0 length IP."""
    data = np.arange(6, dtype=np.float32)
    assert acl.set_tensor_const(desc, data.ctypes.data, data.nbytes) == 0
    assert acl.set_tensor_const(desc, 0, 4) == INVALID
    assert acl.set_tensor_const(desc, data.ctypes.data, 0) == INVALID


def test_placement(desc: int) -> None:
    """SetTensorPlaceMent takes an aclMemType."""
    assert [acl.set_tensor_place_ment(desc, kind) for kind in (0, 1, 2, 3)] == [0, 0, 0, INVALID]


@pytest.mark.parametrize(
    ("source", "dims", "target", "expected"),
    [
        (0, [1, 2, 3, 4], 1, [1, 3, 4, 2]), (1, [1, 3, 4, 2], 0, [1, 2, 3, 4]), (0, [8, 20, 3, 4], 3, [8, 2, 3, 4, 16]),
        (0, [2, 3, 4, 5], 2, [2, 3, 4, 5]),
    ],
)
def test_trans_format_permutes_the_dims(source: int, dims: list[int], target: int, expected: list[int]) -> None:
    """The layouts page: the axes in the order that the format's name says; C in blocks of 16 for NC1HWC0."""
    handle = acl.create_tensor_desc(FLOAT16, dims, source)
    other, ret = acl.trans_tensor_desc_format(handle, target)
    assert ret == 0
    assert [acl.get_tensor_desc_dim(other, i) for i in range(acl.get_tensor_desc_num_dims(other))] == expected
    assert acl.get_tensor_desc_type(other) == FLOAT16
    acl.destroy_tensor_desc(other)
    acl.destroy_tensor_desc(handle)


def test_trans_format_that_cannot_be(desc: int) -> None:
    """What the format cannot describe is IP with a text."""
    assert acl.set_tensor_origin_format(desc, NCHW) == 0
    assert acl.trans_tensor_desc_format(desc, 1)[1] == INVALID
    assert "allowed" in (acl.get_recent_err_msg() or "")


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, -2.5, 1 / 3, 65504.0, 6e-8, 5.9604645e-8, 2.9e-8, 1e-4, 2049.0, 2051.0, 6.1035156e-05]
)
def test_halves_round_to_nearest_even(value: float) -> None:
    """aclFloatToFloat16 of what a half can hold, against NumPy's rounding."""
    expected = int(np.float32(value).astype(np.float16).view(np.uint16))
    assert acl.float_to_float16(value) == expected
    assert acl.float16_to_float(expected) == float(np.uint16(expected).view(np.float16))


@pytest.mark.parametrize(
    ("value", "bits"),
    [(np.inf, 0x7BFF), (-np.inf, 0xFBFF), (1e10, 0x7BFF), (-65520.0, 0xFBFF), (np.nan, 0x7BFF), (65519.0, 0x7BFF)],
)
def test_halves_saturate(value: float, bits: int) -> None:
    """aclFloatToFloat16: Inf, NaN, overflow → ±65504."""
    assert acl.float_to_float16(value) == bits


@pytest.mark.parametrize(("bits", "value"), [(0x7C00, 65536.0), (0xFC00, -65536.0), (0x7E00, 98304.0)])
def test_half_bits_have_no_inf_and_no_nan(bits: int, value: float) -> None:
    """aclFloat16ToFloat has no Inf and no NaN."""
    assert acl.float16_to_float(bits) == value
