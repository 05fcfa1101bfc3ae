"""How operators are divided that work place by place, along some axes only, or for each channel or image on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod

from hostacl.ops.batches import Cut, divides, evenly, shorter
from hostacl.ops.call import Call

Cuts = Callable[[Call], Iterator[Cut]]


def free_cuts(kept: Callable[[Call], Iterable[int]] = lambda call: ()) -> Cuts:
    """The cuts of x and y, which have one shape, along every axis but those that ``kept`` names."""

    def cuts(call: Call) -> Iterator[Cut]:
        rank = call.rank("x")
        stay = {axis % rank for axis in kept(call)} if rank else set()
        for axis in range(rank):
            if axis not in stay:
                yield from evenly(call, {"x": axis, "y": axis})

    return cuts


def broadcast_cuts(kept: Callable[[Call], int] = lambda call: 0) -> Cuts:
    """The cuts of what broadcasts, along every axis but the last ``kept``: of all tensors that have it, counted from the end.

    Inputs whose values shapes follow from are left whole.
    """

    def cuts(call: Call) -> Iterator[Cut]:
        bounds = {**call.inputs, **call.outputs}
        shapes = {name: bound.specs[0].shape for name, bound in bounds.items() if bound.specs and not bound.specs[0].absent}
        tensors = {name: shape for name, shape in shapes.items() if name not in call.operator.value_inputs}
        rank = max(map(len, tensors.values()))
        for axis in range(-rank, -kept(call)):
            own = {name: shape[axis] for name, shape in tensors.items() if -axis <= len(shape)}
            wide = {name: axis for name, size in own.items() if size != 1}
            if all(name in wide for name in call.outputs if name in tensors):
                yield from evenly(call, wide)

    return cuts


def channel_cuts(channel_axes: Callable[[Call], tuple[int, ...]]) -> Cuts:
    """The cut by channels of x: with it what has its shape, and what has one element for each."""

    def cuts(call: Call) -> Iterator[Cut]:
        x, over = call.spec("x").shape, channel_axes(call)
        if len(over) != 1 or (count := x[over[0]]) < 2:
            return
        axes = {}
        for name, bound in (*call.inputs.items(), *call.outputs.items()):
            shape = bound.specs[0].shape if bound.specs and not bound.specs[0].absent else ()
            if shape == x:
                axes[name] = over[0]
            elif prod(shape) == count and count in shape:
                axes[name] = shape.index(count)
            elif prod(shape) > 1:
                return
        yield from evenly(call, axes)

    return cuts


def image_cuts(call: Call) -> Iterator[Cut]:
    """The cut by images of x and of outputs that begin with as many, alone or times groups."""
    count, names = call.spec("x").shape[0], ("x", *call.outputs)
    each = {}
    for name in names:
        spec = (call.inputs if name == "x" else call.outputs)[name].specs[0]
        if spec.absent or not spec.shape or spec.shape[0] % max(count, 1) or not divides(call, {name: 0}):
            return
        each[name] = spec.shape[0] // max(count, 1)

    yield Cut(count, lambda part: shorter(call, {
        name: {0: slice(part.start * times, part.stop * times)} for name, times in each.items()
    }))  # fmt: skip
