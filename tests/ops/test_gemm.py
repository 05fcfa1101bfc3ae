"""Matrix products beyond MatMul: worked values, the forms clients call, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

A = np.array([[1, 2], [3, 4]], np.float16)
ONE = np.ones(1, np.float16)


def test_gemm_as_onnxruntime_calls_it():
    c = np.array([[10, 20], [30, 40]], np.float16)
    np.testing.assert_array_equal(
        run("GEMM", A, A, c, ONE * 2, ONE, transpose_a=False, transpose_b=False), [[24, 40], [60, 84]]
    )
    np.testing.assert_array_equal(run("GEMM", A, A, c, ONE, 0 * ONE, transpose_a=True), A.T @ A)


def test_gemm_ignores_c_with_beta_zero():
    c = np.full((2, 2), np.nan, np.float16)
    np.testing.assert_array_equal(run("GEMM", A, A, c, ONE, 0 * ONE), A @ A)


def test_gemm_of_int8_is_exact():
    a = np.full((1, 5000), -128, np.int8)
    one = np.ones(1, np.int32)
    y = run("GEMM", a, a.T.copy(), np.ones((1, 1), np.int32), one, 5 * one)
    assert y.dtype == np.int32
    assert y.item() == 5000 * 16384 + 5


def test_gemm_of_float16_may_give_float32():
    one = np.ones(1, np.float32)
    y = run("GEMM", np.full((1, 3), 300, np.float16), np.full((3, 1), 300, np.float16), np.zeros((1, 1), np.float32), one, one)
    assert y.dtype == np.float32
    assert y.item() == 270000


def test_batches_with_a_plain_matrix():
    x1, x2 = np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2), np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    np.testing.assert_array_equal(run("BatchMatMulV2", x1, x2, adj_x2=True), x1 @ x2.T)


def test_int8_batches_lose_their_offsets():
    x1, x2 = np.array([[3, 4]], np.int8), np.array([[1], [2]], np.int8)
    y = run("BatchMatMulV2", x1, x2, None, np.array([1], np.int8), offset_x=2)
    np.testing.assert_array_equal(y, [[(3 - 2) * 0 + (4 - 2) * 1]])


def test_dot_wraps_integers():
    x = np.array([100, 100], np.uint8)
    assert run("Dot", x, x).item() == 20000 % 256


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("GEMM", [A, A.T[:1], A, ONE, ONE], {}, "HA504"),
        ("GEMM", [A, A, A[0, :1].repeat(3), ONE, ONE], {}, "HA504"),
        ("GEMM", [A, A, A, A, ONE], {}, "HA504"),
        ("GEMM", [A, A, A.astype(np.int32), ONE, ONE], {}, "HA503"),
        ("Dot", [ONE, A[0]], {}, "HA504"),
        ("FusedMatMul", [A, A], {"fused_op_type": "add"}, "HA513"),
        ("FusedMatMul", [A, A], {"fused_op_type": "sigmoid"}, "HA508"),
        ("TransposeBatchMatMul", [A[None], A[None]], {"perm_x1": [0, 1, 1]}, "HA509"),
        ("BatchMatMulV2", [A, A, np.ones(3, np.float16)], {}, "HA504"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule


def test_lora_refuses_an_adapter_that_is_not_there():
    half = np.ones((1, 1), np.float16)
    with pytest.raises(Failed, match="adapters"):
        run("AddLora", half, half, np.ones((1, 1, 1, 1), np.float16), np.array([1], np.int32))


def test_unknown_rows_stay_unknown():
    (one,) = bind("GEMM", [Spec(1, (-1, 2)), Spec(1, (2, 5)), Spec(1, (-1, 5)), Spec(1, (1,)), Spec(1, (1,))]).infer()
    assert one.shape == (-1, 5)
