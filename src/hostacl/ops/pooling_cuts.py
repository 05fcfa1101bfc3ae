"""How pooling and its gradients are divided: by images, and by channels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hostacl.ops.axes import letters
from hostacl.ops.batches import Cut, evenly, sized
from hostacl.ops.call import Call

Cuts = Callable[[Call], Iterator[Cut]]


def plane_cuts(default: str, size: str = "") -> Cuts:
    """The cuts of what works on the planes of images alone. ``default``: the axes where neither format nor data_format says.

    ``size``: the attribute or value input that holds the output's shape.
    """

    def cuts(call: Call) -> Iterator[Cut]:
        specs = {name: bound.specs[0] for name, bound in (*call.inputs.items(), *call.outputs.items()) if bound.specs}
        tensors = {name: spec for name, spec in specs.items() if not spec.absent and len(spec.shape) == len(default)}
        (output, *_) = call.outputs
        if size and not ((size in call.attrs or call.known(size)) and tuple(call.ints(size)) == tensors[output].shape):
            return
        named = str(call.attrs.get("data_format") or default)
        order = {name: letters(spec.format, len(default), named) for name, spec in tensors.items()}
        for letter in "NC":
            for cut in evenly(call, {name: axes.index(letter) for name, axes in order.items()}):
                yield sized(cut, size) if size else cut

    return cuts


def leading_cuts(call: Call) -> Iterator[Cut]:
    """The cuts of what works on the last two dims alone."""
    names = [name for name in (*call.inputs, *call.outputs) if name in call.outputs or call.has(name)]
    shapes = {name: (call.outputs if name in call.outputs else call.inputs)[name].specs[0].shape for name in names}
    rank = max(map(len, shapes.values()))
    for axis in range(rank - 2):
        yield from evenly(call, {name: axis for name, shape in shapes.items() if len(shape) == rank})


def leading_grad_cuts(call: Call) -> Iterator[Cut]:
    """The same for a gradient whose shape is orig_input_shape."""
    for cut in leading_cuts(call):
        yield sized(cut, "orig_input_shape")
