"""Matrix products against float64 and exact integers."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, eps, run, values

FLOATS = [0, 1, 27]


def close(got, exact, code, length):
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=2 * eps(code), atol=1e-6 * length)


@pytest.mark.parametrize("code", FLOATS)
@pytest.mark.parametrize("op", ["MatMul", "MatMulV2"])
@pytest.mark.parametrize("flips", [(False, False), (True, False), (False, True), (True, True)])
def test_two_dims_with_transposes_and_bias(op, code, flips):
    a, b, bias = values(code, (5, 7), low=-1, high=1), values(code, (7, 4), 1, -1, 1), values(code, (4,), 2)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    x1, x2 = (np.ascontiguousarray(x.T) if flip else x for x, flip in zip((a, b), flips, strict=True))
    attrs = dict(zip(("transpose_x1", "transpose_x2"), flips, strict=True))
    close(run(op, x1, x2, **attrs), exact, code, 7)
    close(run(op, x1, x2, bias, **attrs), exact + bias.astype(np.float64), code, 7)
    close(run(op, x1, x2, None, **attrs), exact, code, 7)


@pytest.mark.parametrize("code", FLOATS)
def test_batches_broadcast(code):
    x1, x2 = values(code, (2, 3, 6, 5), low=-1, high=1), values(code, (1, 3, 6, 5), 1, -1, 1)
    exact = np.einsum("abik,abjk->abij", x1.astype(np.float64), np.broadcast_to(x2, x1.shape).astype(np.float64))
    close(run("BatchMatMul", x1, x2, adj_x2=True), exact, code, 5)
    close(run("BatchMatMul", np.ascontiguousarray(x1.swapaxes(2, 3)), x2, adj_x1=True, adj_x2=True), exact, code, 5)


def exact_product(a, b):
    return (a.astype(object) @ b.astype(object)).astype(np.int64).astype(np.int32) if a.size else a @ b


@pytest.mark.parametrize("bound", [3, 2**15, 2**31 - 1])
def test_int32_wraps_exactly(bound):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-bound, bound + 1, shape).astype(np.int32) for shape in ((6, 40), (40, 5)))
    wrapped = np.array([[(int(v) + 2**31) % 2**32 - 2**31 for v in row] for row in a.astype(object) @ b.astype(object)])
    np.testing.assert_array_equal(run("MatMul", a, b), wrapped)
    np.testing.assert_array_equal(run("BatchMatMul", a, b), wrapped)


@pytest.mark.parametrize("length", [3, 1100, 5000])
def test_int8_gives_exact_int32(length):
    a, b = np.full((2, length), -128, np.int8), np.full((length, 3), -128, np.int8)
    result = run("MatMulV2", a, b)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, 128 * 128 * length)


def test_int8_offsets_and_bias():
    a, b, bias = values(2, (2, 3)), values(2, (3, 4), 1), np.arange(4, dtype=np.int32)
    offset_w = np.array([1, 2, 3, 4], np.int8)
    exact = (a.astype(int) - 5) @ (b.astype(int) - offset_w) + bias
    np.testing.assert_array_equal(run("MatMulV2", a, b, bias, offset_w, offset_x=5), exact)


def test_int4_operands_are_packed():
    a, b = np.array([[1, -2], [7, -8]]), np.array([[3, 0], [-1, 5]])

    def packed(x):
        low, high = x.ravel()[::2] & 15, x.ravel()[1::2] & 15
        return (low | high << 4).astype(np.uint8)

    y = np.zeros((2, 2), np.int32)
    bind("MatMulV2", (Spec(29, (2, 2)), Spec(29, (2, 2))), [Spec(3, (2, 2))]).function()(packed(a), packed(b), y)
    np.testing.assert_array_equal(y, a @ b)


@pytest.mark.parametrize("code", [1, 27])
def test_half_operands_may_give_float32(code):
    a, b = values(code, (3, 50)), values(code, (50, 2), 1)
    result = run("MatMulV2", a, b, outputs=[Spec(0, (3, 2))])
    np.testing.assert_allclose(result, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)


def test_half_products_are_added_in_float32():
    x = np.full((1, 4096), 0.5, np.float16)
    assert run("MatMul", x, np.full((4096, 1), 1, np.float16))[0, 0] == 2048


def test_refusals():
    with pytest.raises(Refused, match=r"HA504: MatMul: bias = \[3\]; allowed: one element for each of the 4 columns"):
        bind("MatMul", (values(0, (2, 3)), values(0, (3, 4)), values(0, (3,))))
    with pytest.raises(Refused, match=r"HA504: BatchMatMul: .*leading dims"):
        bind("BatchMatMul", (values(0, (2, 3, 4)), values(0, (3, 4, 5))))
    with pytest.raises(Refused, match="HA516: BatchMatMul: x1"):
        bind("BatchMatMul", (values(0, ()), values(0, (4, 5))))
    with pytest.raises(Refused, match=r"HA504: BatchMatMul: .*inner dims 4 and 3"):
        bind("BatchMatMul", (values(0, (4,)), values(0, (2, 3, 5))))


@pytest.mark.parametrize("code", [0, 1, 3])
@pytest.mark.parametrize(
    ("one", "other"), [((4,), (4,)), ((4,), (4, 3)), ((3, 4), (4,)), ((4,), (2, 4, 3)), ((5, 2, 4), (4,)), ((0,), (0,))]
)
def test_a_vector_is_a_row_on_the_left_and_a_column_on_the_right(code, one, other):
    a, b = values(code, one), values(code, other, 1)
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    for turned in (False, True):
        attrs = {"adj_x1": turned and len(one) == 1, "adj_x2": turned and len(other) == 1}
        result = run("BatchMatMul", a, b, **attrs)
        assert result.shape == exact.shape
        np.testing.assert_allclose(result.astype(np.float64), exact, rtol=1e-3, atol=1e-2 if code == 1 else 1e-5)
