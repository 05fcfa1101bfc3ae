"""A recipe: how ONNX Runtime computes a call, and the two ways to run one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import precision
from hostacl.ops.call import Call
from hostacl.ops.engines.sessions import Session
from hostacl.tensors import dtypes

Array = NDArray[Any]
Change = Callable[[Array], Array]


class Feed(NamedTuple):
    """An input of the graph: its name, the tensor of the call that it is, and what brings that into ONNX's form."""

    name: str
    tensor: str
    change: Change | None = None


class Recipe(NamedTuple):
    """A session with what goes in and what comes out.

    ``shapes``: those of the outputs as ONNX sees them, in the call's order; ``back`` brings them into the form of the
    kernel's. ``right`` tells by a result whether ONNX Runtime computed what the operator does.
    """

    session: Session
    feeds: Sequence[Feed]
    shapes: Sequence[Sequence[int]]
    back: Change | None = None
    right: Callable[[Array], bool] | None = None


def fed(recipe: Recipe, tensors: Callable[[str], Array]) -> dict[str, Array]:
    """The inputs of the graph, each in order in memory."""
    return {
        one.name: np.ascontiguousarray(tensors(one.tensor) if one.change is None else one.change(tensors(one.tensor)))
        for one in recipe.feeds
    }


def as_kernel(recipe: Recipe, call: Call) -> Callable[..., Any]:
    """The recipe in the place of the operator's kernel, with the same parameters."""
    names = {source: parameter for parameter, source in call.operator.parameters}
    kernel = call.operator.kernel

    def run(**tensors: Any) -> Any:
        feed = fed(recipe, lambda name: tensors[names[name]])
        results = recipe.session.run(feed)
        if recipe.right is not None and not all(map(recipe.right, results)):
            return kernel(**tensors)
        found = results if recipe.back is None else [recipe.back(one) for one in results]
        return found[0] if len(found) == 1 else tuple(found)

    return run


def straight(recipe: Recipe, call: Call, otherwise: Callable[..., Any]) -> Callable[..., None] | None:
    """The recipe on arrays as they lie in memory, results into the outputs; None where they have to be changed."""
    specs = [bound.specs[0] for bound in (*call.inputs.values(), *call.outputs.values()) if bound.given]
    if recipe.back is not None or any(precision.compute_dtype(one.dtype) != dtypes.numpy_dtype(one.dtype) for one in specs):
        return None
    places = {name: bound.positions[0] for name, bound in call.inputs.items() if bound.given}
    first = call.inputs_sent

    def run(*arrays: Array) -> None:
        feed = fed(recipe, lambda name: arrays[places[name]])
        outputs = arrays[first:]
        apart = all(out.flags.c_contiguous for out in outputs) and not _overlap(feed, outputs)
        results = outputs if apart else recipe.session.run(feed)
        if apart:
            recipe.session.run_into(feed, outputs, recipe.shapes)
        if recipe.right is not None and not all(map(recipe.right, results)):
            otherwise(*arrays)
        elif not apart:
            for out, one in zip(outputs, results, strict=True):
                np.copyto(out, one.reshape(out.shape))

    return run


def _overlap(feed: Mapping[str, Array], outputs: Sequence[Array]) -> bool:
    """Whether a result would be written where an input is still read."""
    return any(np.may_share_memory(one, out) for one in feed.values() for out in outputs)
