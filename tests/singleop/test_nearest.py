"""Texts for calls that no model fits."""

from __future__ import annotations

from hostacl.singleop.models import Model, ModelStore
from hostacl.singleop.nearest import nearest, similar
from hostacl.tensors.spec import TensorSpec

X = TensorSpec(0, (8, 16))
NAMES = ("Add", "AddN", "NonZero", "MatMul")


def text(model: Model | None, *inputs: TensorSpec, op_type: str = "Add", **attrs: tuple[str, object]) -> str:
    store = ModelStore()
    if model:
        store.add(model)
    return nearest(store, op_type, inputs, (X,), attrs, NAMES)


def test_unknown_operator_names_the_nearest_and_how_operators_are_loaded() -> None:
    said = text(None, X, op_type="NonZeros")
    assert "NonZeros" in said
    assert "nearest names: NonZero" in said
    assert "acl.op.set_model_dir" in said
    assert "acl.op.compile" in said


def test_no_model_of_the_operator() -> None:
    said = text(Model("MatMul", (X, X), (X,)), X, X)
    assert "Add(float32 [8,16] ND, float32 [8,16] ND) -> float32 [8,16] ND" in said
    assert "there are models of MatMul only" in said
    assert "there are no models at all" in text(None, X, X)


def test_first_difference_of_the_nearest() -> None:
    model = Model("Add", (X, X), (X,), {"k": ("int", 1)}, path="dir/add.om")
    k = ("int", 1)
    assert "dir/add.om" in text(model, X, X._replace(dtype=1), k=k)
    assert "differs in input 1: dtype float16 given, built for float32" in text(model, X, X._replace(dtype=1), k=k)
    assert "input 0: shape [8,17] given, built for [8,16]" in text(model, X._replace(shape=(8, 17)), X, k=k)
    assert "input 0: format NCHW given, built for ND" in text(model, X._replace(format=0), X, k=k)
    assert "input 0: storage format FRACTAL_NZ given, built for ND" in text(
        model, X._replace(storage_format=29), X, k=k
    )
    assert "input 0: placement host given, built for device" in text(model, X._replace(placement=1), X, k=k)
    assert "input 0: const data: 2 bytes 01 02 given, built for not const" in text(
        model, X._replace(const=b"\1\2"), X, k=k
    )
    assert "the number of inputs: 1 given, built for 2" in text(model, X, k=k)
    assert "attribute k: not set, built with 1 (int)" in text(model, X, X)
    assert "attribute k: 2 (int) given, built with 1 (int)" in text(model, X, X, k=("int", 2))
    assert "attribute z: 'a' (string) given, built without it" in text(model, X, X, k=k, z=("string", "a"))


def test_dynamic_shapes_show_their_ranges() -> None:
    open_dims = TensorSpec(0, (-1, 16), ranges=((1, 4), (16, 16)))
    said = text(Model("Add", (open_dims, open_dims), (X,)), X, X)
    assert "shape [8,16] given, built for [1..4,16] and 1 more" in said


def test_similar_ignores_case() -> None:
    assert similar("matmul", NAMES)[0] == "MatMul"
    assert similar("qqqqqq", NAMES) == []
