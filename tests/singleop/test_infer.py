"""What infer_shape says of operators that give a list of tensors, and of dims that are not known."""

from __future__ import annotations

import pytest

from hostacl.errors import AclError
from hostacl.ops.operator import Attr
from hostacl.singleop.infer import infer_shape
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

EXACT = ((4, 4), (6, 6))


def listed(name: str, count: int, shape: tuple[int, ...] = (4, 6), code: int = dtypes.FLOAT) -> list[TensorSpec]:
    """Descriptors of a list of tensors, with names and data."""
    return [TensorSpec(code, shape, formats.ND, name=f"{name}{place}", const=bytes(96)) for place in range(count)]


def outputs(name: str, count: int) -> list[TensorSpec]:
    return [TensorSpec(dtypes.FLOAT, (), formats.ND, name=f"{name}{place}") for place in range(count)]


def test_as_many_outputs_as_inputs() -> None:
    assert infer_shape("ForeachAbs", listed("x", 2), outputs("y", 2), {}) == [(0, 2, (4, 6), EXACT)] * 2
    assert infer_shape("ShapeN", listed("x", 3), outputs("y", 3), {}) == [(3, 2, (2,), ((2, 2),))] * 3
    positions, updates = listed("indice", 1, (2,), dtypes.INT32), listed("updates", 1, (2, 4, 3))
    attrs: dict[str, Attr] = {"axis": ("int", -1)}
    inputs = [*listed("var", 2), *(one._replace(name=one.name[:-1]) for one in (*positions, *updates))]
    assert infer_shape("ScatterList", inputs, outputs("var", 2), attrs) == [(0, 2, (4, 6), EXACT)] * 2


def test_lists_that_an_attribute_measures() -> None:
    attrs: dict[str, Attr] = {"split_dim": ("int", 1), "num_split": ("int", 2)}
    x = [one._replace(name="x") for one in listed("x", 1)]
    assert infer_shape("SplitD", x, outputs("y", 2), attrs) == [(0, 2, (4, 3), ((4, 4), (3, 3)))] * 2
    assert len(infer_shape("SplitD", x, outputs("y", 1), attrs)) == 1
    with pytest.raises(AclError, match="3 output") as caught:
        infer_shape("SplitD", x, outputs("y", 3), attrs)
    assert caught.value.rule == "HA513"


def test_more_outputs_than_the_list_of_inputs_allows() -> None:
    with pytest.raises(AclError, match=r"HA513: ForeachAbs: 3 outputs y were described; the call gives 2") as caught:
        infer_shape("ForeachAbs", listed("x", 2), outputs("y", 3), {})
    assert caught.value.code == 500002


def test_a_list_of_which_nothing_is_known() -> None:
    one, other = listed("x", 2)
    unknown = [one._replace(shape=(-2,)), other]
    assert infer_shape("ForeachAbs", unknown, outputs("y", 2), {}) == [(0, 2, (-2,), ())] * 2
