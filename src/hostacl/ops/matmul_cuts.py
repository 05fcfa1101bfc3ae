"""How matrix products are divided: by matrices, rows, columns, and along the inner axis where nothing is added behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType

from hostacl.ops.batches import Cut, evenly
from hostacl.ops.call import Call

Cuts = Callable[[Call], Iterator[Cut]]


def product_cuts(
    one: str = "x1", other: str = "x2", beside: Sequence[str] = (), by_row: Sequence[str] = (), by_column: Sequence[str] = (),
    grids: Sequence[str] = (), sums: bool = True,
) -> Cuts:  # fmt: skip
    """The cuts of a product of two operands, flipped where an attribute says so.

    ``beside``: inputs that broadcast to the result; ``by_row``, ``by_column``: those of one element or one for each; ``grids``:
    those that lie over the first and over the second operand. ``sums``: the product may be added up from pieces of the inner
    axis, when none of these inputs is given.
    """
    over_one, over_other = grids[:1], grids[1:]

    def cuts(call: Call) -> Iterator[Cut]:
        if min(call.rank(one), call.rank(other)) < 2:
            return
        first, second = _flipped(call, one), _flipped(call, other)
        (name,) = call.outputs
        rank = len(call.outputs[name].specs[0].shape)
        if not any(call.has(scale) and call.rank(scale) > 1 for scale in grids):
            for axis in range(-rank, -2):
                lead = {operand: axis for operand in (one, other) if _dim(call, operand, axis) not in (1, None)}
                yield from along(call, lead, axis, beside)
        rows, columns = int(first), int(not second)
        yield from along(call, {one: rows - 2}, -2, beside, by_row, dict.fromkeys(over_one, rows))
        yield from along(call, {other: columns - 2}, -1, beside, by_column, dict.fromkeys(over_other, columns))
        if sums and not any(call.has(extra) for extra in (*beside, *by_row, *by_column, *grids)):
            yield from evenly(call, {one: -1 - rows, other: -1 - columns}, adds=True)

    return cuts


def _flipped(call: Call, name: str) -> bool:
    """Whether an operand's last two dims are swapped."""
    return any(bool(call.attrs.get(f"{verb}_{name}")) for verb in ("transpose", "adj"))


def along(
    call: Call, axes: Mapping[str, int], axis: int, beside: Iterable[str] = (), by_line: Iterable[str] = (),
    grids: Mapping[str, int] = MappingProxyType({}),
) -> Iterable[Cut]:  # fmt: skip
    """The cut along an axis of the only result, counted from its end, and these axes of the operands.

    ``beside``: inputs that broadcast to it; ``by_line``: those of one element or one for each place of this axis; ``grids``:
    matrices over an operand, with the axis that this one is there, and vectors like ``by_line``.
    """
    (result,) = call.outputs
    size = call.outputs[result].specs[0].shape[axis]
    extra = {name: axis for name in beside if call.has(name) and _dim(call, name, axis) not in (1, None)}
    lines: dict[str, int | None] = {**dict.fromkeys(by_line), **grids}
    for name, place in lines.items():
        if not call.has(name) or prod(shape := call.spec(name).shape) == 1:
            continue
        if place is not None and len(shape) > 1:
            if shape[place] not in (1, size):
                return ()
            extra |= {name: place} if shape[place] == size else {}
        elif prod(shape) != size or size not in shape:
            return ()
        else:
            extra[name] = shape.index(size)
    return evenly(call, {**axes, result: axis, **extra})


def _dim(call: Call, name: str, axis: int) -> int | None:
    """A dim of an input; None where it has fewer."""
    shape = call.spec(name).shape
    return shape[axis] if -axis <= len(shape) else None


def permuted_cuts(by_row: Sequence[str] = (), by_column: Sequence[str] = ()) -> Cuts:
    """The cuts of a batched product of permuted operands: by matrices, rows and columns; a bias broadcasts to it unpermuted."""

    def cuts(call: Call) -> Iterator[Cut]:
        if call.has("offset_w") and prod(call.spec("offset_w").shape) != 1:
            return
        orders = {name: [at % 3 for at in call.attr(name)] or [0, 1, 2] for name in ("perm_x1", "perm_x2", "perm_y")}
        lines: tuple[Sequence[str], ...] = ((), by_row, by_column)
        for place, axes in enumerate(({"x1": 0, "x2": 0}, {"x1": 1}, {"x2": 2})):
            stored = {name: orders[f"perm_{name}"][axis] for name, axis in axes.items()}
            bias = {"bias": place - 3} if call.has("bias") and _dim(call, "bias", place - 3) not in (1, None) else {}
            yield from along(call, {**stored, **bias}, orders["perm_y"].index(place) - 3, by_line=lines[place])

    return cuts


def vector_cuts(call: Call) -> Iterable[Cut]:
    """The cut of a sum over two vectors."""
    return evenly(call, {"input_x": 0, "input_y": 0}, adds=True)
