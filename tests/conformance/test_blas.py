"""acl.blas: matrix products, each the operator GEMM with inputs A, B, C, alpha, beta and output C in C's buffer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.calls import CODES, Tensor, attributes, device, execute, message

INVALID, NO_MATCH = 100000, 100024
N, T, NZ, NZ_T = range(4)
ND, FRACTAL_NZ = 2, 29
TYPES = [("float16", "float16"), ("float16", "float32"), ("int8", "float32"), ("int8", "int32")]
M, COLUMNS, K = 5, 3, 20

Array = np.ndarray[Any, Any]


def blocks(x: Array) -> Array:
    """FRACTAL_NZ of a matrix: columns in blocks of C0, rows in blocks of 16, padded with zeros."""
    c0 = 32 if x.dtype == np.int8 else 16
    rows, columns = (-x.shape[0] % 16, -x.shape[1] % c0)
    padded = np.pad(x, ((0, rows), (0, columns)))
    return padded.reshape(padded.shape[0] // 16, 16, padded.shape[1] // c0, c0).transpose(2, 0, 1, 3)


def operand(x: Array, trans: int) -> Tensor:
    """An operand in device memory as `trans` says that it lies there; its descriptor is what the match wants."""
    matrix = np.ascontiguousarray(x.T if trans in (T, NZ_T) else x)
    if trans in (N, T):
        return device(matrix)
    made = device(blocks(matrix))
    acl.destroy_tensor_desc(made.desc)
    made.desc = acl.create_tensor_desc(CODES[str(x.dtype)], list(matrix.shape), ND)
    assert acl.set_tensor_format(made.desc, FRACTAL_NZ) == 0
    assert acl.set_tensor_shape(made.desc, list(made.array.shape)) == 0
    return made


@dataclass
class Product:
    """The five tensors of a product, and what it must give."""

    a: Tensor
    b: Tensor
    c: Tensor
    alpha: Tensor
    beta: Tensor
    trans: tuple[int, int]
    exact: Array

    def compile(self) -> None:
        inputs = [self.a, self.b, self.c, self.alpha, self.beta]
        attrs = {name: trans in (T, NZ_T) for name, trans in zip(("transpose_a", "transpose_b"), self.trans, strict=True)}
        descs = [one.desc for one in inputs]
        assert acl.op.compile("GEMM", descs, [self.c.desc], attributes(attrs), 0, 0, None) == 0, message()

    def check(self, ret: int) -> None:
        assert ret == 0, message()
        assert acl.rt.synchronize_stream(0) == 0, message()
        np.testing.assert_array_equal(self.c.read(), self.exact)


def product(
    types: tuple[str, str], trans: tuple[int, int] = (N, N), alpha: float = 1, beta: float = 1, columns: int = COLUMNS,
    c: Array | None = None,
) -> Product:  # fmt: skip
    """Small whole numbers, so that every type holds each sum exactly."""
    rng = np.random.default_rng(7)
    a, b, before = (rng.integers(-4, 5, shape) for shape in ((M, K), (K, columns), (M, columns)))
    exact = alpha * (a @ b) + (beta * before if beta else 0)
    start = before.astype(types[1]) if c is None else c
    return Product(
        operand(a.astype(types[0]), trans[0]), operand(b.astype(types[0]), trans[1]), device(start),
        device(np.array(alpha, types[1])), device(np.array(beta, types[1])), trans, exact,
    )  # fmt: skip


def gemm_ex(p: Product, types: tuple[str, str], **changes: Any) -> int:
    """acl.blas.gemm_ex of a product, with some arguments changed."""
    operands, result = CODES[types[0]], CODES[types[1]]
    given: Mapping[str, Any] = {
        "trans_a": p.trans[0], "trans_b": p.trans[1], "trans_c": N, "m": M, "n": COLUMNS, "k": K,
        "alpha": p.alpha.pointer, "matrix_a": p.a.pointer, "lda": -1, "data_type_a": operands,
        "matrix_b": p.b.pointer, "ldb": -1, "data_type_b": operands,
        "beta": p.beta.pointer, "matrix_c": p.c.pointer, "ldc": -1, "data_type_c": result, "type": 0, "stream": 0,
        **changes,
    }  # fmt: skip
    return int(acl.blas.gemm_ex(*given.values()))


@pytest.mark.parametrize("trans_b", [N, T, NZ, NZ_T])
@pytest.mark.parametrize("trans_a", [N, T, NZ, NZ_T])
@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_gemm_ex_of_every_type_and_layout(types: tuple[str, str], trans_a: int, trans_b: int) -> None:
    """N, T and NZ operands of the four pairs of types."""
    p = product(types, (trans_a, trans_b), alpha=2, beta=-3)
    p.compile()
    p.check(gemm_ex(p, types))


@pytest.mark.parametrize(("alpha", "beta"), [(1, 0), (0, 1), (0.5, 2), (-1, -1)])
@pytest.mark.parametrize("types", TYPES[:3], ids="-".join)
def test_factors(types: tuple[str, str], alpha: float, beta: float) -> None:
    """alpha * A @ B + beta * C."""
    p = product(types, alpha=alpha, beta=beta)
    p.compile()
    p.check(gemm_ex(p, types))


def test_beta_0_and_a_c_that_holds_nothing_valid() -> None:
    """beta 0: the output need not hold valid data."""
    types = ("float16", "float16")
    p = product(types, beta=0, c=np.full((M, COLUMNS), np.nan, np.float16))
    p.compile()
    p.check(gemm_ex(p, types))


def test_dense_leading_dimensions() -> None:
    """lda, ldb, ldc: -1 or the dense one; of a transposed operand that is its own row length."""
    types = ("float16", "float32")
    for trans, lda, ldb in (((N, N), K, COLUMNS), ((T, T), M, K)):
        p = product(types, trans)
        p.compile()
        p.check(gemm_ex(p, types, lda=lda, ldb=ldb, ldc=COLUMNS))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"lda": K + 1}, "ldA = 21"), ({"ldb": 0}, "ldB = 0"), ({"ldc": M}, "ldC = 5"),
        ({"trans_a": 4}, "transA = 4"), ({"trans_b": -1}, "transB = -1"), ({"trans_c": T}, "transC = 1"),
        ({"m": 0}, "0 x 20"), ({"n": -1}, "-1"), ({"k": 0}, "5 x 0"),
        ({"data_type_a": 0, "data_type_b": 0}, "0 x 0"), ({"data_type_b": 2}, "1 x 2"), ({"data_type_c": 3}, "-> 3"),
        ({"type": 2}, "type = 2"), ({"alpha": 0}, "alpha"), ({"matrix_a": 0}, "matrixA"), ({"matrix_b": 0}, "matrixB"),
        ({"beta": 0}, "beta"), ({"matrix_c": 0}, "matrixC"),
    ],
    ids=str,
)  # fmt: skip
def test_anything_else_is_invalid(changes: dict[str, int], told: str) -> None:
    """Sizes above 0, the listed types, N for C, dense or -1; anything else IP, named."""
    types = ("float16", "float16")
    p = product(types)
    p.compile()
    assert gemm_ex(p, types, **changes) == INVALID
    text = message()
    assert "gemm_ex" in text
    assert told in text
    np.testing.assert_array_equal(p.c.read(), p.c.array)


def test_a_product_needs_its_model() -> None:
    """Found by match like any other operator: the text names GEMM."""
    types = ("int8", "int32")
    p = product(types)
    assert gemm_ex(p, types, m=M - 1) == NO_MATCH
    assert "GEMM" in message()
    assert acl.blas.create_handle_for_gemm_ex(N, N, N, 1234, 1, 1, 1, 1, 1, 0)[1] == NO_MATCH


@pytest.mark.parametrize("trans", [(N, T), (NZ, NZ_T)])
@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_a_handle_of_gemm_ex(types: tuple[str, str], trans: tuple[int, int]) -> None:
    """Run by execute_with_handle: inputs A, B, C, alpha, beta, output C."""
    p = product(types, trans, alpha=3)
    p.compile()
    operands, result = CODES[types[0]], CODES[types[1]]
    check_handle(p, acl.blas.create_handle_for_gemm_ex(*trans, N, M, COLUMNS, K, operands, operands, result, 0))


def check_handle(p: Product, made: tuple[int, int]) -> None:
    handle, ret = made
    assert ret == 0, message()
    inputs = [one.buffer for one in (p.a, p.b, p.c, p.alpha, p.beta)]
    p.check(acl.op.execute_with_handle(handle, inputs, [p.c.buffer], 0))
    acl.op.destroy_handle(handle)


HALF, S8 = ("float16", "float16"), ("int8", "int32")


@pytest.mark.parametrize(("name", "types"), [("hgemm", HALF), ("s8gemm", S8)])
def test_gemm_of_one_type(name: str, types: tuple[str, str]) -> None:
    """hgemm: float16 alone; s8gemm: int8 into int32; and their handles."""
    p = product(types, (N, T), alpha=2, beta=2)
    p.compile()
    p.check(getattr(acl.blas, name)(N, T, N, M, COLUMNS, K, p.alpha.pointer, p.a.pointer, -1, p.b.pointer, -1,
                                    p.beta.pointer, p.c.pointer, -1, 0, 0))  # fmt: skip
    q = product(types, (N, T), alpha=2, beta=2)
    check_handle(q, getattr(acl.blas, f"create_handle_for_{name}")(N, T, N, M, COLUMNS, K, 0))


@pytest.mark.parametrize("trans", [N, T, NZ, NZ_T])
@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_gemv_ex(types: tuple[str, str], trans: int) -> None:
    """y = alpha * op(A) * x + beta * y: a product with a matrix of one column; and its handle."""
    operands, result = CODES[types[0]], CODES[types[1]]
    p = product(types, (trans, N), alpha=2, beta=3, columns=1)
    p.compile()
    for step in (-1, 1):
        p = product(types, (trans, N), alpha=2, beta=3, columns=1)
        p.check(acl.blas.gemv_ex(trans, M, K, p.alpha.pointer, p.a.pointer, -1, operands, p.b.pointer, step, operands,
                                 p.beta.pointer, p.c.pointer, step, result, 0, 0))  # fmt: skip
    q = product(types, (trans, N), alpha=2, beta=3, columns=1)
    check_handle(q, acl.blas.create_handle_for_gemv_ex(trans, M, K, operands, operands, result, 0))


@pytest.mark.parametrize(("name", "types"), [("hgemv", HALF), ("s8gemv", S8)])
def test_gemv_of_one_type(name: str, types: tuple[str, str]) -> None:
    p = product(types, (T, N), alpha=2, beta=0, columns=1)
    p.compile()
    p.check(getattr(acl.blas, name)(T, M, K, p.alpha.pointer, p.a.pointer, -1, p.b.pointer, 1, p.beta.pointer,
                                    p.c.pointer, 1, 0, 0))  # fmt: skip
    q = product(types, (T, N), alpha=2, beta=0, columns=1)
    check_handle(q, getattr(acl.blas, f"create_handle_for_{name}")(T, M, K, 0))


def test_a_vector_has_no_gaps() -> None:
    """incx and incy: -1 or 1."""
    p = product(HALF, columns=1)
    p.compile()
    assert acl.blas.hgemv(N, M, K, p.alpha.pointer, p.a.pointer, -1, p.b.pointer, 2, p.beta.pointer, p.c.pointer, 1, 0, 0) == (
        INVALID
    )
    assert "incX = 2" in message()


def test_it_is_the_operator_gemm() -> None:
    """The same model serves acl.op.execute_v2, with both attributes set."""
    p = product(HALF, alpha=2)
    p.compile()
    inputs = [p.a, p.b, p.c, p.alpha, p.beta]
    p.check(execute("GEMM", inputs, [p.c], {"transpose_a": False, "transpose_b": False}))
    q = product(HALF, alpha=2)
    assert execute("GEMM", [q.a, q.b, q.c, q.alpha, q.beta], [q.c]) == NO_MATCH


def load_model(folder: Path, op: dict[str, Any]) -> None:
    """Has atc make the model of a JSON, and loads it."""
    (folder / "gemm.json").write_text(json.dumps([op]))
    arguments = [f"--singleop={folder}/gemm.json", f"--output={folder}", "--soc_version=Ascend310"]
    subprocess.run([sys.executable, "-m", "hostacl.cli.main", "atc", *arguments], check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.om")
    model = path.read_bytes()
    assert acl.op.load(acl.util.bytes_to_ptr(model), len(model)) == 0, message()


ATTRS = [{"name": f"transpose_{name}", "type": "bool", "value": False} for name in ("a", "b")]


def test_a_model_made_by_atc(tmp_path: Path) -> None:
    """The JSON of the published samples: descs ND, alpha and beta of shape [], both attributes set."""
    shapes = {"A": [6, 16], "B": [16, 2], "C": [6, 2], "alpha": [], "beta": []}
    tensors = {name: {"format": "ND", "shape": shape, "type": "float16"} for name, shape in shapes.items()}
    assert acl.blas.create_handle_for_hgemm(N, N, N, 6, 2, 16, 0)[1] == NO_MATCH
    load_model(tmp_path, {"op": "GEMM", "input_desc": [*tensors.values()], "output_desc": [tensors["C"]], "attr": ATTRS})
    a, b, c = (device(np.ones(shapes[name], np.float16)) for name in "ABC")
    alpha, beta = device(np.array(0.5, np.float16)), device(np.array(-1, np.float16))
    pointers = [alpha.pointer, a.pointer, 16, b.pointer, 2, beta.pointer, c.pointer, 2]
    assert acl.blas.hgemm(N, N, N, 6, 2, 16, *pointers, 0, 0) == 0, message()
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(c.read(), np.full((6, 2), 7))


def test_a_model_of_blocks_made_by_atc(tmp_path: Path) -> None:
    """NZ operands: FRACTAL_NZ with the origin's format and shape."""
    plain = {"format": "ND", "type": "float16"}
    a = {"format": "FRACTAL_NZ", "shape": [2, 1, 16, 16], "origin_format": "ND", "origin_shape": [9, 32], "type": "float16"}
    b, c, one = {**plain, "shape": [32, 4]}, {**plain, "shape": [9, 4]}, {**plain, "shape": []}
    load_model(tmp_path, {"op": "GEMM", "input_desc": [a, b, c, one, one], "output_desc": [c], "attr": ATTRS})
    handle, ret = acl.blas.create_handle_for_hgemm(NZ, N, N, 9, 4, 32, 0)
    assert ret == 0, message()
    values = np.random.default_rng(1).integers(-3, 4, (9, 32)).astype(np.float16)
    tensors = [operand(values, NZ), device(np.ones((32, 4), np.float16)), device(np.zeros((9, 4), np.float16)),
               device(np.array(1, np.float16)), device(np.array(0, np.float16))]  # fmt: skip
    assert acl.op.execute_with_handle(handle, [one.buffer for one in tensors], [tensors[2].buffer], 0) == 0, message()
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(tensors[2].read(), values.sum(axis=1, keepdims=True).repeat(4, axis=1))
