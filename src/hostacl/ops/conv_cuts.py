"""How convolutions and their gradients are divided along D, H and W: pieces see what is around them, pads only at the ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hostacl.ops.batches import Cut, Piece, divides, evenly, shorter, sized
from hostacl.ops.call import Call
from hostacl.ops.conv_axes import attribute_order, axes_like, data_letters, filter_letters, geometry_of, spatial


class Line(NamedTuple):
    """How the filter moves along an axis: its letter, the place of its pads, stride, reach and pads of the filter."""

    letter: str
    place: int
    stride: int
    reach: int
    before: int
    after: int


def lines(call: Call, data: str) -> Iterator[Line]:
    """The axes that a filter moves along; ``data`` are the letters of the images."""
    order = attribute_order(call.attr("data_format"), data)
    geometry = geometry_of(call.attr("strides"), call.attr("dilations"), call.attr("pads"), order)
    if "filter" in call.inputs:
        size = dict(zip(filter_letters(call.format("filter"), data), call.spec("filter").shape, strict=True))
    else:
        (output,) = call.outputs.values()
        size = dict(zip(filter_letters(output.specs[0].format, data), output.specs[0].shape, strict=True))
    for place, (letter, stride, dilation, (before, after)) in enumerate(zip(spatial(data), *geometry, strict=True)):
        yield Line(letter, place, stride, (size[letter] - 1) * dilation, before, after)


def seen(line: Line, part: slice, size: int) -> tuple[slice, tuple[int, int]]:
    """What the places ``part`` of a convolution see along an axis of so many, and the pads around it."""
    low, high = part.start * line.stride - line.before, (part.stop - 1) * line.stride - line.before + line.reach + 1
    start = min(max(low, 0), size)
    stop = min(max(high, start), size)
    before = max(0, min(high, 0) - low)
    return slice(start, stop), (before, high - low - before - (stop - start))


def reaching(line: Line, part: slice, count: int, size: int) -> tuple[slice, tuple[int, int], bool]:
    """Which of ``count`` places reach into ``part`` of the images, the pads around it; whether it ends as the whole does."""
    first = max(0, -(-(part.start + line.before - line.reach) // line.stride))
    before = line.before + part.start - first * line.stride
    if before < 0:
        first, before = first - 1, before + line.stride
    last = min(count, (part.stop - 1 + line.before) // line.stride + 1)
    if part.stop == size and last == count:
        return slice(first, last), (before, line.after), True
    over = (last - first - 1) * line.stride + line.reach + 1 - before - (part.stop - part.start)
    return slice(first, last), (before, max(0, over)), False


def with_pads(call: Call, line: Line, pads: tuple[int, int]) -> dict[str, Any]:
    """The attributes with other pads along an axis."""
    every = list(call.attr("pads"))
    every[2 * line.place : 2 * line.place + 2] = pads
    return {"pads": every}


def conv_cuts(call: Call) -> Iterator[Cut]:
    """The cuts of a convolution along its result."""
    spec = call.outputs["y"].specs[0]
    data = data_letters(call.format("x"), call.attr("data_format"), call.rank("x"))
    letters = axes_like(spec.format, data)
    for line in lines(call, data):
        axis, at = data.index(line.letter), letters.index(line.letter)
        if not divides(call, {"x": axis, "y": at}):
            return

        def piece(part: slice, line: Line = line, axis: int = axis, at: int = at) -> Piece:
            part_seen, pads = seen(line, part, call.spec("x").shape[axis])
            return shorter(call, {"x": {axis: part_seen}, "y": {at: part}}, with_pads(call, line, pads))

        yield Cut(spec.shape[at], piece, least=line.reach // line.stride + 1)


def input_cuts(name: str) -> Any:
    """The cuts of a gradient with respect to the images, or of a transposed convolution, whose operand has this name."""

    def cuts(call: Call) -> Iterator[Cut]:
        ((output, bound),) = call.outputs.items()
        if "input_size" in call.inputs and not call.known("input_size"):
            return
        gradient = data_letters(call.format(name), call.attr("data_format"), call.rank(name))
        letters = axes_like(bound.specs[0].format, gradient)
        for cut in evenly(call, {name: gradient.index("N"), output: letters.index("N")}):
            yield sized(cut, "input_size")
        for line in lines(call, gradient):
            axis, at = gradient.index(line.letter), letters.index(line.letter)
            if divides(call, {name: axis, output: at}):
                yield along(call, line, name, axis, output, at)

    return cuts


def along(call: Call, line: Line, name: str, axis: int, output: str, at: int) -> Cut:
    """The cut of an adjoint along one axis."""
    size, count = call.outputs[output].specs[0].shape[at], call.spec(name).shape[axis]

    def piece(part: slice) -> Piece:
        places, pads, ends = reaching(line, part, count, size)
        attrs = with_pads(call, line, pads)
        if "output_padding" in call.attrs and not ends:
            letters = data_letters(call.format(name), call.attr("data_format"), call.rank(name))
            order = attribute_order(call.attr("data_format"), letters)
            attrs["output_padding"] = list(call.attr("output_padding"))
            attrs["output_padding"][order.index(line.letter)] = 0
        return shorter(call, {name: {axis: places}, output: {at: part}}, attrs)

    return sized(Cut(size, piece, least=line.reach + line.stride), "input_size")


def filter_cuts(name: str) -> Any:
    """The cuts of a gradient with respect to the filter, which add up; the images have this name."""

    def cuts(call: Call) -> Iterator[Cut]:
        data = data_letters(call.format(name), call.attr("data_format"), call.rank(name))
        gradient = data_letters(call.format("out_backprop"), call.attr("data_format") or data, call.rank(name))
        yield from evenly(call, {name: data.index("N"), "out_backprop": gradient.index("N")}, adds=True)
        for line in lines(call, data):
            axis, at = data.index(line.letter), gradient.index(line.letter)
            if not divides(call, {name: axis, "out_backprop": at}):
                return

            def piece(part: slice, line: Line = line, axis: int = axis, at: int = at) -> Piece:
                part_seen, pads = seen(line, part, call.spec(name).shape[axis])
                return shorter(call, {name: {axis: part_seen}, "out_backprop": {at: part}}, with_pads(call, line, pads))

            yield Cut(call.spec("out_backprop").shape[at], piece, least=line.reach // line.stride + 1, adds=True)

    return cuts
