"""The match: static by key, dynamic by ranges; ageing; removal."""

from __future__ import annotations

import dataclasses

import pytest

from hostacl.singleop.models import Model, ModelStore
from hostacl.tensors.spec import TensorSpec

F32 = TensorSpec(0, (8, 16))
ABSENT = TensorSpec(-1, (), -1)


def add(x: TensorSpec = F32, y: TensorSpec | None = None, **more: object) -> Model:
    return Model("Add", (x, x), (y or x,), **more)  # type: ignore[arg-type]


def finds(store: ModelStore, like: Model) -> Model | None:
    return store.find(like.op_type, like.inputs, like.outputs, like.attrs)


def test_same_call_finds_the_model() -> None:
    store = ModelStore()
    model = store.add(add())
    assert finds(store, add()) is model


@pytest.mark.parametrize(
    "changed",
    [
        F32._replace(dtype=1), F32._replace(shape=(8, 17)), F32._replace(shape=(128,)), F32._replace(format=0),
        F32._replace(storage_format=29), F32._replace(const=b"\0" * 512), F32._replace(placement=1), ABSENT,
    ],
)  # fmt: skip
def test_each_part_of_the_key_counts(changed: TensorSpec) -> None:
    store = ModelStore()
    store.add(add())
    assert store.find("Add", (F32, changed), (F32,), {}) is None
    assert store.find("Add", (F32, F32), (changed,), {}) is None


@pytest.mark.parametrize(
    "changed", [F32._replace(name="x"), F32._replace(storage_shape=(2, 64)), F32._replace(storage_format=2)]
)
def test_names_and_storage_shape_do_not_count(changed: TensorSpec) -> None:
    store = ModelStore()
    model = store.add(add())
    assert store.find("Add", (F32, changed), (F32,), {}) is model


def test_number_of_tensors_and_type_count() -> None:
    store = ModelStore()
    store.add(add())
    assert store.find("Add", (F32,), (F32,), {}) is None
    assert store.find("Add", (F32, F32, F32), (), {}) is None
    assert store.find("Sub", (F32, F32), (F32,), {}) is None


def test_left_out_tensor_matches_in_any_form() -> None:
    store = ModelStore()
    model = store.add(Model("Conv2D", (F32, F32, ABSENT), (F32,)))
    odd_form = TensorSpec(-1, (3,), 2)
    assert store.find("Conv2D", (F32, F32, odd_form), (F32,), {}) is model


@pytest.mark.parametrize(
    "given",
    [
        {}, {"axis": ("int", 2)}, {"axis": ("float", 1.0)}, {"axis": ("bool", True)}, {"axes": ("int", 1)},
        {"axis": ("int", 1), "unknown": ("int", 0)}, {"axis": ("list_int", [1])},
    ],
)  # fmt: skip
def test_attributes_count_by_name_kind_and_value(given: dict[str, tuple[str, object]]) -> None:
    store = ModelStore()
    store.add(add(attrs={"axis": ("int", 1)}))
    assert store.find("Add", (F32, F32), (F32,), given) is None


def test_int_and_data_type_are_one_kind() -> None:
    store = ModelStore()
    model = store.add(add(attrs={"dst_type": ("data_type", 1), "list": ("list_data_type", [1])}))
    assert store.find("Add", (F32, F32), (F32,), {"dst_type": ("int", 1), "list": ("list_int", (1,))}) is model


def test_float_attributes_count_as_float32() -> None:
    store = ModelStore()
    model = store.add(add(attrs={"a": ("float", 0.1), "b": ("list_float", [float("nan"), 1e300])}))
    c_values = {"a": ("float", 0.10000000149011612), "b": ("list_float", (float("nan"), float("inf")))}
    assert store.find("Add", (F32, F32), (F32,), c_values) is model


def test_same_key_again_keeps_the_first() -> None:
    store = ModelStore()
    first = store.add(add())
    assert store.add(add(path="second.om")) is first
    assert len(store) == 1


RANGED = TensorSpec(0, (-1, 16), ranges=((2, 8), (16, 16)))


@pytest.mark.parametrize(("rows", "fits"), [(1, False), (2, True), (8, True), (9, False)])
def test_dynamic_model_takes_what_its_ranges_hold(rows: int, fits: bool) -> None:
    store = ModelStore()
    model = store.add(add(RANGED))
    found = finds(store, add(TensorSpec(0, (rows, 16))))
    assert (found is model) is fits


def test_dim_without_a_range_or_bound_takes_anything() -> None:
    store = ModelStore()
    free = store.add(add(TensorSpec(0, (-1, 4))))
    unbounded = store.add(add(TensorSpec(0, (-1, 5), ranges=((1, -1), (5, 5)))))
    assert finds(store, add(TensorSpec(0, (0, 4)))) is free
    assert finds(store, add(TensorSpec(0, (10**9, 5)))) is unbounded
    assert finds(store, add(TensorSpec(0, (0, 5)))) is None


def test_unknown_rank_takes_every_shape() -> None:
    store = ModelStore()
    model = store.add(add(TensorSpec(0, (-2,))))
    for shape in ((), (3,), (1, 2, 3, 4, 5, 6, 7, 8)):
        assert finds(store, add(TensorSpec(0, shape))) is model


def test_rank_must_agree() -> None:
    store = ModelStore()
    store.add(add(RANGED))
    assert finds(store, add(TensorSpec(0, (4, 16, 1)))) is None


def test_static_models_come_first_then_dynamic_ones_in_order() -> None:
    store = ModelStore()
    wide = store.add(add(TensorSpec(0, (-1, 16), ranges=((1, 100), (16, 16)))))
    store.add(add(RANGED))
    assert finds(store, add(TensorSpec(0, (4, 16)))) is wide
    static = store.add(add(TensorSpec(0, (4, 16))))
    assert finds(store, add(TensorSpec(0, (4, 16)))) is static


def test_the_first_added_counts_whatever_its_open_dims_are() -> None:
    shapes = [(-1, 16), (-2,), (8, -1)]
    for first in range(3):
        store = ModelStore()
        added = [store.add(add(TensorSpec(0, shape))) for shape in (*shapes[first:], *shapes[:first])]
        assert finds(store, add()) is added[0]
        store.remove(added[0])
        assert finds(store, add()) is added[1]
        store.clear()
        assert finds(store, add()) is None


def test_compiling_the_same_dynamic_signature_finds_it() -> None:
    store = ModelStore()
    model = store.add(add(RANGED))
    assert finds(store, add(RANGED)) is model


def models(count: int, **more: object) -> list[Model]:
    return [add(TensorSpec(0, (size,)), **more) for size in range(1, count + 1)]


def test_least_recently_used_compiled_model_goes_first() -> None:
    store, gone = ModelStore(maximum=3), []
    store.on_removal(gone.append)
    first, second, third = map(store.add, models(3))
    finds(store, first)
    store.touch(second)
    store.add(add())
    assert gone == [third]
    assert finds(store, third) is None
    assert finds(store, first) is first


def test_warm_uses_are_asked_for_before_a_model_goes() -> None:
    store = ModelStore(maximum=2)
    first, second = map(store.add, models(2))
    finds(store, second)
    later = store.clock()
    store.other_use = lambda model: later if model is first else 0
    new = store.add(add())
    assert set(store) == {first, new}


def test_loaded_models_count_but_stay() -> None:
    store = ModelStore(maximum=2)
    loaded = [store.add(model) for model in models(2, origin="loaded")]
    compiled = store.add(add())
    store.add(add(TensorSpec(1, (1,))))
    assert all(finds(store, model) is model for model in loaded)
    assert finds(store, compiled) is None


def test_static_and_dynamic_queues_are_separate() -> None:
    store = ModelStore(maximum=1)
    static, dynamic = store.add(add()), store.add(add(RANGED))
    assert set(store) == {static, dynamic}
    store.add(add(TensorSpec(0, (-2,))))
    assert dynamic not in set(store)
    assert finds(store, add(TensorSpec(0, (4, 16)))).inputs[0].shape == (-2,)  # type: ignore[union-attr]


def test_clear_by_origin() -> None:
    store, gone = ModelStore(), []
    store.on_removal(gone.append)
    compiled = store.add(add())
    loaded = store.add(add(RANGED, origin="loaded"))
    store.clear("loaded")
    assert gone == [loaded]
    assert list(store) == [compiled]
    store.clear()
    assert len(store) == 0


def test_removed_model_can_be_added_again() -> None:
    store = ModelStore()
    model = store.add(add(RANGED))
    store.remove(model)
    again = store.add(dataclasses.replace(model))
    assert finds(store, add(TensorSpec(0, (4, 16)))) is again
