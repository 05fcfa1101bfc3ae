"""Scatters of rows: by the first axis (Scatter*) or by coordinates (ScatterNd*, TensorScatter*)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import accumulate, dims, runtime
from hostacl.ops.accumulate import Combine, numbers
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.scattering import ROWS, Way, scatter_into
from hostacl.ops.schema import prototype
from hostacl.ops.shapes import equal_dims, sizes, unknown_sizes

Array = NDArray[Any]


def by_rows(op_type: str, combine: Combine, doc: str, **options: Any) -> Callable[..., Any]:
    """Declares an operator that combines updates with the rows var[indices]."""

    def run(var: Array, indices: Array, updates: Array, call: Call) -> Array:
        checked = checked_indices(call.op_type, indices, var.shape[0])
        return combine(*as_rows(var, checked, updates)).reshape(var.shape)

    def direct(call: Call) -> Any:
        return scatter_into(ROWS, combine, call.dtype("var"), Way(rows_and_out, check, partial(run, call=call)))

    def check(var: Array, indices: Array) -> None:
        checked_indices(op_type, indices, var.shape[0])

    run.__doc__ = doc
    return kernel(op_type, shape=rows_shape, direct=direct, **options)(run)


def as_rows(var: Array, indices: Array, updates: Array) -> tuple[Array, Array, Array]:
    """var as rows, the indices as a vector, and a row of updates for each of them."""
    wide = prod(var.shape[1:])
    each = np.broadcast_to(updates, indices.shape + var.shape[1:]).reshape(indices.size, wide)
    return var.reshape(var.shape[0], wide), numbers(indices.reshape(-1)), each


def rows_and_out(var: Array, indices: Array, updates: Array, out: Array) -> tuple[Array, ...]:
    """The same, and the output as rows."""
    target, rows, each = as_rows(var, indices, updates)
    return target, rows, each, out.reshape(target.shape)


def rows_shape(call: Call) -> Shape:
    """The shape of var; updates have that of indices and of a row, or are one element."""
    var, indices, updates = call.shape("var"), call.shape("indices"), call.shape("updates")
    if not var:
        raise call.refuse("HA516", "var is a scalar; allowed: 1 dim or more.")
    if updates:
        told = f"indices = {dims.text(indices)}, var = {dims.text(var)}"
        same_dims(call, "updates", updates, (*indices, *var[1:]), told)
    return var


def same_dims(call: Call, name: str, given: Shape, wanted: Shape, told: str) -> None:
    """Refuses a tensor that has not the shape that others ask for."""
    text = f"{name} = {dims.text(given)}; for {told} it must be {dims.text(wanted)}."
    if len(given) != len(wanted):
        raise call.refuse("HA504", text)
    for one, other in zip(given, wanted, strict=True):
        equal_dims(call, one, other, text)


TEXT = "of several for one row all count, one after the other. Negative indices count from the end. In place."

by_rows("ScatterUpdate", accumulate.update, """var with its rows var[indices] replaced by updates.

    Of several for one row the last wins. Negative indices count from the end. In place.""",
        reads={"var": Reads.NOTHING})  # fmt: skip
by_rows("ScatterAdd", accumulate.add, f"""var with updates added to its rows var[indices]; {TEXT}""")
by_rows("ScatterSub", accumulate.subtract, f"""var with updates taken away from its rows var[indices]; {TEXT}""")
by_rows("ScatterMul", accumulate.multiply, f"""var with its rows var[indices] multiplied by updates; {TEXT}""")
by_rows("ScatterDiv", accumulate.divide, f"""var with its rows var[indices] divided by updates; {TEXT}

    Integers are divided toward zero; divided by 0 they are 0.""")  # fmt: skip
by_rows("ScatterMax", accumulate.maximum, f"""var with its rows var[indices] at least updates, NaN when one is; {TEXT}""")
by_rows("ScatterMin", accumulate.minimum, f"""var with its rows var[indices] at most updates, NaN when one is; {TEXT}""")


def coordinate_shape(name: str) -> Callable[[Call], Shape]:
    """The shape rule of scatters by coordinates: that of the tensor; updates have the dims of indices and of what they name."""

    def rule(call: Call) -> Shape:
        var = call.shape(name)
        updates_fit(call, var, "updates", name)
        return var

    return rule


def updates_fit(call: Call, var: Shape, source: str, name: str) -> None:
    """Refuses updates and coordinates that do not go together."""
    indices = call.shape("indices")
    if not indices:
        raise call.refuse("HA516", "indices is a scalar; its last dim must say the length of a coordinate.")
    depth = indices[-1]
    if not isinstance(depth, int):
        return
    if depth > len(var):
        raise call.refuse("HA504", f"indices = {dims.text(indices)} have {depth} numbers each; {name} has {len(var)} dims.")
    told = f"indices = {dims.text(indices)}, {name} = {dims.text(var)}"
    same_dims(call, source, call.shape(source), (*indices[:-1], *var[depth:]), told)


def rows_at(op: str, indices: Array, shape: tuple[int, ...], name: str = "indices") -> Array:
    """The row number of each coordinate, in a tensor whose leading dims are counted as one."""
    depth = indices.shape[-1]
    rows = np.zeros(prod(indices.shape[:-1]), np.int64)
    for place in range(depth):
        found = checked_indices(op, indices[..., place], shape[place], name, place).reshape(-1)
        rows = rows * shape[place] + found if place else found.astype(np.int64, copy=False)
    return rows


def combined(op: str, var: Array, indices: Array, updates: Array, combine: Combine) -> Array:
    """var with updates combined at coordinates."""
    rows = rows_at(op, indices, var.shape)
    return combine(*at_coordinates(var, indices, rows, updates)).reshape(var.shape)


def at_coordinates(var: Array, indices: Array, rows: Array, updates: Array) -> tuple[Array, Array, Array]:
    """var as rows of what one coordinate names, their numbers, and a row of updates for each of them."""
    depth = indices.shape[-1]
    wide = prod(var.shape[depth:])
    return var.reshape(prod(var.shape[:depth]), wide), rows, updates.reshape(rows.size, wide)


def direct_coordinates(op: str, combine: Combine, code: int) -> Callable[..., None] | None:
    """The native loop; it reads coordinates of one number itself."""

    def arguments(var: Array, indices: Array, updates: Array, out: Array) -> tuple[Array, ...]:
        rows = numbers(indices.reshape(-1)) if indices.shape[-1] == 1 else rows_at(op, indices, var.shape)
        target, rows, each = at_coordinates(var, indices, rows, updates)
        return target, rows, each, out.reshape(target.shape)

    def check(var: Array, indices: Array) -> None:
        rows_at(op, indices, var.shape)

    def general(var: Array, indices: Array, updates: Array) -> Array:
        return combined(op, var, indices, updates, combine)

    return scatter_into(ROWS, combine, code, Way(arguments, check, general))


def by_coordinates(op_type: str, combine: Combine, doc: str, **options: Any) -> Callable[..., Any]:
    """Declares an operator that combines updates with a tensor at coordinates."""
    known = prototype(op_type)
    assert known is not None
    name = known.inputs[0].name

    def run(var: Array, indices: Array, updates: Array, call: Call) -> Array:
        return combined(call.op_type, var, indices, updates, combine)

    def direct(call: Call) -> Any:
        return direct_coordinates(op_type, combine, call.dtype(name))

    run.__doc__ = doc
    return kernel(op_type, shape=coordinate_shape(name), names={"var": name}, direct=direct, **options)(run)


PLACES = "at the coordinates in the last axis of indices (negative ones count from the end)"
LAST = "of several for one place the last wins"
ALL = "several for one place all count"

by_coordinates("ScatterNdUpdate", accumulate.update, f"""var with updates {PLACES}; {LAST}. In place.""", bits=True,
               reads={"var": Reads.NOTHING})  # fmt: skip
by_coordinates("TensorScatterUpdate", accumulate.update, f"""x with updates {PLACES}; {LAST}.""", bits=True)
by_coordinates("ScatterNdAdd", accumulate.add, f"""var with updates added {PLACES}; {ALL}. In place.""")
by_coordinates("ScatterNdSub", accumulate.subtract, f"""var with updates taken away {PLACES}; {ALL}. In place.""")
by_coordinates("ScatterNdMax", accumulate.maximum, f"""The larger of var and updates {PLACES}; {ALL}. In place.""")
by_coordinates("ScatterNdMin", accumulate.minimum, f"""The smaller of var and updates {PLACES}; {ALL}. In place.""")
by_coordinates("TensorScatterAdd", accumulate.add, f"""x with updates added {PLACES}; {ALL}.""")
by_coordinates("TensorScatterSub", accumulate.subtract, f"""x with updates taken away {PLACES}; {ALL}.""")
by_coordinates("TensorScatterMax", accumulate.maximum, f"""The larger of input and updates {PLACES}; {ALL}.""")
by_coordinates("TensorScatterMin", accumulate.minimum, f"""The smaller of input and updates {PLACES}; {ALL}.""")
by_coordinates("ScatterNonAliasingAdd", accumulate.add, f"""x with updates added {PLACES}; {ALL}.""")


def named_shape(call: Call) -> Shape:
    """The shape named; x has that of indices and of what they name."""
    if "shape" not in call.attrs and not call.known("shape"):
        return unknown_sizes(call, "shape")
    shape = sizes(call, "shape")
    updates_fit(call, shape, "x", "y")
    return shape


def direct_named(call: Call) -> Any:
    """The native loop, once the shape is known; zeros are made of the output itself."""
    if "shape" in call.attrs or not call.known("shape"):
        return None
    into = direct_coordinates(call.op_type, accumulate.add, call.dtype("x"))

    def run(indices: Array, x: Array, shape: Array, out: Array) -> None:
        assert into is not None
        into(np.zeros(out.shape, out.dtype), indices, x, out)

    return run if into is not None else None


@kernel("ScatterNd", "ScatterNdD", shape=named_shape, values=("shape",), direct=direct_named)
def scatter_nd(indices: Array, x: Array, shape: Any, call: Call) -> Array:
    """Zeros of the shape with x added at the coordinates in the last axis of indices (negative ones count from the end)."""
    target = np.zeros(runtime.whole(shape), x.dtype)
    return combined(call.op_type, target, indices, x, accumulate.add)
