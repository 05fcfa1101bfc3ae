"""Shape rules that several families use, and the checks that go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hostacl.ops import dims
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Dim, Shape

Rule = Callable[[Call], Any]


def same_as(*names: str) -> Rule:
    """The shape of an input; of several names, one output each: ``same_as("x")``, ``same_as("var", "m", "v")``."""
    if len(names) == 1:
        return lambda call: call.shape(names[0])
    return lambda call: [call.shape(name) for name in names]


def alike(*names: str) -> Rule:
    """The shape that these inputs all have: ``alike("x", "grad")``; absent optional ones do not count."""
    return lambda call: alike_inputs(call, *names)


def alike_inputs(call: Call, *names: str) -> Shape:
    """The one shape of several inputs of a call; refuses those that differ."""
    first, *others = [name for name in names if call.has(name)]
    result = call.shape(first)
    for name in others:
        shape = call.shape(name)
        text = f"{first} = {dims.text(result)}, {name} = {dims.text(shape)} differ; they must have one shape."
        if len(shape) != len(result):
            raise call.refuse("HA504", text)
        result = tuple(equal_dims(call, one, other, text) for one, other in zip(result, shape, strict=True))
    return result


def broadcast(*names: str) -> Rule:
    """The common shape of these inputs by NumPy's rule; absent optional ones do not count."""
    return lambda call: broadcast_inputs(call, *names)


def broadcast_inputs(call: Call, *names: str) -> Shape:
    """The common shape of inputs of a call."""
    given = [name for name in names if call.has(name)]
    shapes = [call.shape(name) for name in given]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    result = shapes[0]
    for shape in shapes[1:]:
        joined = broadcast_shapes(result, shape)
        if joined is None:
            told = ", ".join(f"{name} = {dims.text(shape)}" for name, shape in zip(given, shapes, strict=True))
            raise call.refuse("HA504", f"{told} do not broadcast; each dim, from the last, must be equal or 1.")
        result = joined
    return result


def broadcasts_to(call: Call, name: str, shape: Shape, other: str) -> None:
    """Refuses an input that does not broadcast to the shape of another one."""
    given = call.shape(name)
    joined = broadcast_shapes(shape, given)
    grown = joined is None or len(joined) != len(shape) or (dims.known(*joined, *shape) and joined != shape)
    if grown:
        raise call.refuse("HA504", f"{name} = {dims.text(given)} does not broadcast to {other} = {dims.text(shape)}.")


def broadcast_shapes(one: Shape, other: Shape) -> Shape | None:
    """The common shape of two, None when there is none."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    joined = [broadcast_dim(a, b) for a, b in zip(longer, padded, strict=True)]
    return None if None in joined else tuple(dim for dim in joined if dim is not None)


def broadcast_dim(one: Dim, other: Dim) -> Dim | None:
    """The common size of two dims, None when there is none."""
    if isinstance(one, Between) and isinstance(other, Between):
        low = min(one.low, other.low) if 0 in (one.low, other.low) else max(one.low, other.low)
        return Between(low, None if one.high is None or other.high is None else max(one.high, other.high))
    if isinstance(one, Between):
        one, other = other, one
    if one == 1:
        return other
    if isinstance(other, Between):
        return one if dims.may_be(other, 1) or dims.may_be(other, one) else None  # type: ignore[arg-type]
    return one if other in (1, one) else None


def axis(call: Call, value: int, rank: int, name: str = "axis") -> int:
    """An axis counted from the front; refuses one outside [-rank, rank). A scalar counts as rank 1."""
    size = max(rank, 1)
    if not -size <= value < size:
        raise call.refuse("HA509", f"{name} = {value}: axis {value} not in [{-size},{size - 1}] for rank {rank}.")
    return value % size


def axes(call: Call, values: Sequence[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front, each once; an axis named twice is refused."""
    found = [axis(call, value, rank, name) for value in values]
    if len(set(found)) != len(found):
        raise call.refuse("HA509", f"{name} = {list(values)}: an axis is given twice for rank {rank}.")
    return tuple(found)


def reduced(x: str = "x", axes_name: str = "axes", keep: str = "keep_dims") -> Rule:
    """The shape of ``x`` without the reduced axes, or with 1 there when the ``keep`` attribute is set.

    An empty list of axes reduces nothing, unless the attribute noop_with_empty_axes says false: then it reduces all.
    """

    def rule(call: Call) -> Shape:
        shape = call.shape(x)
        if not (axes_name in call.attrs or call.known(axes_name)):
            return unknown_reduction(shape, dims.count(call.shape(axes_name)), bool(call.attrs.get(keep)))
        over = reduction_axes(call, axes_name, len(shape))
        return drop_axes(shape, over, bool(call.attrs.get(keep)))

    return rule


def unknown_reduction(shape: Shape, count: Dim, keep: bool) -> Shape:
    """What is known of a reduced shape before the axes are: with kept dims, each is 1 or what it was."""
    if keep or not shape:
        return tuple(dim if dim == 1 else one_or(dim) for dim in shape)
    return without_some(shape, count)


def without_some(shape: Shape, count: Dim) -> Shape:
    """A shape without ``count`` of its dims, it is not known which: each is one of as many neighbours."""
    if not isinstance(count, int) or count > len(shape):
        raise Unknown
    return tuple(one_of(shape[place : place + count + 1]) for place in range(len(shape) - count))


def one_of(choices: Shape) -> Dim:
    """One of several dims."""
    lows, highs = zip(*map(dims.bounds, choices), strict=True)
    low, high = min(lows), None if None in highs else max(highs)
    return low if low == high else Between(low, high)


def one_or(dim: Dim) -> Dim:
    """A dim that is 1 or what it was; an empty one may become 1 too."""
    low, high = dims.bounds(dim)
    return Between(min(1, low), None if high is None else max(1, high))


def reduction_axes(call: Call, name: str, rank: int) -> tuple[int, ...]:
    """The axes a reduction works on."""
    values = call.ints(name)
    if not values and call.attrs.get("noop_with_empty_axes") is False:
        return tuple(range(rank))
    return axes(call, values, rank, name) if rank else checked_scalar_axes(call, values, name)


def checked_scalar_axes(call: Call, values: Sequence[int], name: str) -> tuple[int, ...]:
    """No axes at all: a scalar has none to reduce, but 0 and -1 are accepted."""
    for value in values:
        axis(call, value, 0, name)
    return ()


def drop_axes(shape: Shape, over: Sequence[int], keep: bool) -> Shape:
    """A shape without these axes, or with 1 there."""
    if keep:
        return tuple(1 if place in over else dim for place, dim in enumerate(shape))
    return tuple(dim for place, dim in enumerate(shape) if place not in over)


def equal_dims(call: Call, one: Dim, other: Dim, text: str) -> Dim:
    """The known one of two dims that must be equal; refuses with ``text`` when they cannot be."""
    if dims.known(one, other) and one != other:
        raise call.refuse("HA504", text)
    return other if isinstance(one, Between) else one


def rank_is(call: Call, name: str, *allowed: int) -> Shape:
    """The shape of an input whose rank must be one of these."""
    shape = call.shape(name)
    if len(shape) not in allowed:
        raise call.refuse(
            "HA516", f"{name} = {dims.text(shape)} has {len(shape)} dims; allowed: {', '.join(map(str, allowed))}."
        )
    return shape


def one_element(call: Call, *names: str) -> None:
    """Refuses inputs that are there and have more or fewer elements than one."""
    for name in names:
        if call.has(name) and dims.known(size := dims.count(call.shape(name))) and size != 1:
            raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: one element.")


def sizes(call: Call, name: str) -> tuple[int, ...]:
    """A shape that arrives as a value input or attribute, each entry 0 or more."""
    values = call.ints(name)
    for place, value in enumerate(values):
        if value < 0:
            raise call.refuse("HA519", f"{name}[{place}] = {value}; allowed: 0 or more.")
    return values


def unknown_sizes(call: Call, name: str) -> Shape:
    """As many unknown dims as a value input has elements."""
    length = dims.count(call.shape(name))
    if not isinstance(length, int):
        raise Unknown(name)
    return (Between(0, None),) * length
