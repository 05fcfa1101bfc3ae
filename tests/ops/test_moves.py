"""Copies and views: bytes kept, views that stay within, types reinterpreted."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run, spec

F32, I64 = np.float32, np.int64


def test_identity_keeps_nan_payloads_on_saturating_products():
    x = np.array([0x7E01, 0x7C00, 0xFC00], np.uint16).view(np.float16)
    with override(soc="Ascend310P"):
        assert run("Identity", x).view(np.uint16).tolist() == [0x7E01, 0x7C00, 0xFC00]


def test_identity_between_storage_formats():
    x = np.arange(2 * 3 * 4, dtype=np.float16).reshape(1, 2, 3, 4)
    plain = TensorSpec(dtypes.FLOAT16, (1, 2, 3, 4), formats.NCHW)
    blocked = plain._replace(storage_format=formats.NC1HWC0, storage_shape=(1, 1, 3, 4, 16))
    out = np.ones((1, 1, 3, 4, 16), np.float16)
    bind("Identity", [plain], [blocked]).function()(x, out)
    np.testing.assert_array_equal(out[0, 0, :, :, :2], x[0].transpose(1, 2, 0))
    assert not out[..., 2:].any()


def test_assign_checks_shapes_unless_told():
    ref, value = np.zeros((2, 2), F32), np.arange(4, dtype=F32)
    with pytest.raises(Refused, match=r"HA504.*value = \[4\], ref = \[2,2\]"):
        bind("Assign", [ref, value])
    assert run("Assign", ref, value, validate_shape=False).tolist() == [0, 1, 2, 3]


def strided(x, size, stride, offset, **options):
    return run("AsStrided", x, np.array(size), np.array(stride), np.array([offset]), **options)


def test_strided_views():
    x = np.arange(6, dtype=np.int16)
    assert strided(x, [2, 2], [1, 3], 1, const=[1, 2, 3]).tolist() == [[1, 4], [2, 5]]
    assert strided(x, [3], [-2], 5, const=[1, 2, 3]).tolist() == [5, 3, 1]
    assert strided(x, [2, 3], [0, 1], 0, const=[1, 2, 3]).tolist() == [[0, 1, 2]] * 2
    assert strided(x, [0, 3], [9, 9], 99, const=[1, 2, 3]).shape == (0, 3)


def test_strided_views_stay_within():
    x = np.arange(6, dtype=F32)
    with pytest.raises(Refused, match=r"HA519.*reach from element 1 to 6; x has"):
        strided(x, [2], [5], 1, const=[1, 2, 3])
    with pytest.raises(Refused, match=r"HA519.*from element -1"):
        strided(x, [2], [-1], 0, const=[1, 2, 3])
    with pytest.raises(Refused, match=r"HA519.*one entry for each of size"):
        strided(x, [2], [1, 1], 0, const=[1, 2, 3])


def test_strided_view_from_device_memory_is_checked_when_it_runs():
    x = np.arange(6, dtype=F32)
    inputs = [spec(x), spec(np.array([2]), const=True), spec(np.array([1])), spec(np.array([0]))]
    call = bind("AsStrided", inputs, [TensorSpec(dtypes.FLOAT, (2,))])
    assert call.exact
    out = np.zeros(2, F32)
    call.function()(x, np.array([2]), np.array([-1]), np.array([4]), out)
    assert out.tolist() == [4, 3]
    with pytest.raises(Failed, match=r"HA519"):
        call.function()(x, np.array([2]), np.array([99]), np.array([4]), out)


def view_copy(dst, src, *views):
    return run("ViewCopy", dst, *map(np.array, views[0]), src, *map(np.array, views[1]), outputs=[spec(dst)])


def test_view_copy_writes_a_view():
    dst, src = np.zeros((2, 3), F32), np.arange(1, 5, dtype=F32)
    assert view_copy(dst, src, ([2], [3], [1]), ([2], [-1], [3])).tolist() == [[0, 4, 0], [0, 3, 0]]
    assert view_copy(dst, src, ([2, 2], [3, 1], [0]), ([4], [1], [0])).tolist() == [[1, 2, 0], [3, 4, 0]]
    with pytest.raises(Failed, match=r"HA519.*differ in elements"):
        view_copy(dst, src, ([2], [3], [1]), ([3], [1], [0]))
    with pytest.raises(Failed, match=r"HA519.*dst has"):
        view_copy(dst, src, ([2], [5], [1]), ([2], [1], [0]))


def test_view_copy_in_place():
    dst = np.arange(4, dtype=F32)
    inputs = [dst, *(np.array([one]) for one in (3, 1, 1)), dst, *(np.array([one]) for one in (3, 1, 0))]
    bind("ViewCopy", inputs, [spec(dst)]).function()(*inputs, dst)
    assert dst.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("shape", "target", "keep", "wanted"),
    [
        ((3,), dtypes.INT32, False, (3,)),
        ((3,), dtypes.UINT8, False, (3, 4)),
        ((3,), dtypes.UINT8, True, (12,)),
        ((3, 2), dtypes.INT64, False, (3,)),
        ((3, 4), dtypes.COMPLEX64, True, (3, 2)),
        ((3, 4), dtypes.COMPLEX128, False, (3,)),
        ((), dtypes.FLOAT16, False, (2,)),
    ],
)
def test_bitcast_shapes_and_bytes(shape, target, keep, wanted):
    x = np.random.default_rng(0).normal(size=shape).astype(F32)
    x = np.asarray(x)
    result = run("Bitcast", x, type=target, keep_dim=keep)
    assert result.shape == wanted
    assert result.tobytes() == x.tobytes()


def test_bitcast_refusals():
    x = np.ones((2, 3), F32)
    with pytest.raises(Refused, match=r"HA504.*last dim must be 2"):
        bind("Bitcast", [x], type=dtypes.INT64)
    with pytest.raises(Refused, match=r"HA504.*multiple of 2"):
        bind("Bitcast", [x], type=dtypes.INT64, keep_dim=True)
    with pytest.raises(Refused, match=r"HA512"):
        bind("Bitcast", [x], [TensorSpec(dtypes.UINT32, (2, 3))], type=dtypes.INT32)
    with pytest.raises(Refused, match=r"HA508.*DT_STRING"):
        bind("Bitcast", [x], type=dtypes.STRING)


def test_empty_is_left_alone_or_zero():
    described = [TensorSpec(dtypes.FLOAT, (2,))]
    shape = np.array([2], np.int32)
    assert run("Empty", shape, outputs=described, const=[0], dtype=dtypes.FLOAT).tolist() == [77, 77]
    assert run("Empty", shape, outputs=described, const=[0], dtype=dtypes.FLOAT, init=True).tolist() == [0, 0]
    assert bind("Empty", [shape], const=[0]).infer()[0].dtype == dtypes.INT32


def test_cmo_does_nothing():
    call = bind("Cmo", [np.ones(2, F32)], max_size=8)
    assert call.infer() == ()
    assert call.function()(np.ones(2, F32)) is None


def test_bfloat16_views_keep_their_bits():
    x = np.array([1.5, np.nan, -0.0], ml_dtypes.bfloat16)
    result = strided(x, [3], [1], 0, const=[1, 2, 3])
    assert result.view(np.uint16).tolist() == x.view(np.uint16).tolist()


def test_view_copy_described_as_the_view_leaves_the_rest_of_the_memory():
    """torch-npu: the input is all of dst's memory, the output the view; both are one buffer."""
    memory, src = np.full(11, 9, F32), np.arange(1, 7, dtype=F32)
    inputs = [memory, *map(np.array, ([2, 3], [6, 2], [0])), src, *map(np.array, ([2, 3], [3, 1], [0]))]
    described = spec(np.empty((2, 3), F32))
    bind("ViewCopy", inputs, [described], const=(1, 2, 3, 5, 6, 7)).function()(*inputs, memory[:6].reshape(2, 3))
    assert memory.tolist() == [1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6]


def test_view_copy_of_masks():
    dst, src = np.zeros((2, 2), bool), np.array([True, False])
    places = [np.array(one, I64) for one in ((2,), (1,), (2,))], [np.array(one, I64) for one in ((2,), (1,), (0,))]
    got = run("ViewCopy", dst, *places[0], src, *places[1], const=[1, 2, 3, 5, 6, 7])
    assert got.tolist() == [[False, False], [True, False]]


def test_a_stride_that_nobody_takes_may_be_anything():
    """Of one element along an axis, or of a view without elements."""
    x, most = np.arange(6, dtype=np.float32), 2**63 - 1
    y = run("AsStrided", x, np.array([2, 1]), np.array([3, most]), np.array(1), const=[1, 2, 3])
    assert y.tolist() == [[1], [4]]
    assert run("AsStrided", x, np.array([0, 2]), np.array([most, 1]), np.array(1), const=[1, 2, 3]).shape == (0, 2)
    full = np.arange(6, dtype=np.float32)
    given = [full, *map(np.array, ([2, 1], [1, most], 0)), x[::-1].copy(), *map(np.array, ([2, 1], [1, -most], 0))]
    assert run("ViewCopy", *given, outputs=[spec(full)]).tolist() == [5, 4, 2, 3, 4, 5]
