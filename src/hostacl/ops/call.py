"""A call: an operator with tensors and attributes bound and checked; what shape rules ask, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Refused
from hostacl.ops import dims
from hostacl.ops.binding import Bound
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

if TYPE_CHECKING:
    from hostacl.ops.operator import Operator

Array = NDArray[Any]


class Unknown(Exception):  # noqa: N818 - it says what it is
    """A shape rule asked for a rank or value that is not known before the call runs."""


class Inferred(NamedTuple):
    """What is known of an output: shape None for an unknown rank, -1 for an unknown dim; ranges with max -1: no bound."""

    dtype: int
    format: int
    shape: tuple[int, ...] | None
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Call:
    """An operator bound to tensors and attributes. Shape rules ask it by the prototype's names.

    ``reports`` holds (rule, text) of what was dropped; ``inputs_sent`` counts the client's inputs, absent ones included.
    """

    operator: Operator
    inputs: Mapping[str, Bound]
    outputs: Mapping[str, Bound]
    attrs: Mapping[str, Any]
    given: frozenset[str] = frozenset()
    reports: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, Array] = field(default_factory=dict)
    inputs_sent: int = 0

    @property
    def op_type(self) -> str:
        """The operator's name."""
        return self.operator.op_type

    def has(self, name: str) -> bool:
        """Whether an optional input was given."""
        return name in self.inputs and self.inputs[name].given

    def spec(self, name: str) -> TensorSpec:
        """The descriptor of an input that is there."""
        return self.inputs[name].specs[0]

    def shape(self, name: str) -> Shape:
        """The shape of an input; a dim that is not known is a ``Between``. Raises Unknown when the rank is not known."""
        return _shape(self.spec(name))

    def shapes(self, name: str) -> list[Shape]:
        """The shapes of a dynamic input."""
        return [_shape(spec) for spec in self.inputs[name].specs]

    def rank(self, name: str) -> int:
        """The number of dims of an input."""
        return len(self.shape(name))

    def dtype(self, name: str) -> int:
        """The dtype code of an input, the first one's of a dynamic input."""
        return self.spec(name).dtype

    def format(self, name: str) -> int:
        """The (origin) format code of an input."""
        return self.spec(name).format

    def attr(self, name: str) -> Any:
        """An attribute's value, or its default."""
        return self.attrs[name]

    def known(self, *names: str) -> bool:
        """Whether the values of these inputs are known (absent ones are)."""
        return all(name in self.values or not self.has(name) for name in names)

    def value(self, name: str) -> Array:
        """The data of a value input. Raises Unknown when it is only known at run time."""
        if name not in self.values:
            raise Unknown(name)
        return self.values[name]

    def ints(self, name: str) -> tuple[int, ...]:
        """Integers that arrive as an attribute (D twins) or as a value input, scalar or list."""
        source = self.attrs[name] if name in self.attrs else self.value(name)
        return (
            tuple(int(one) for one in np.atleast_1d(source).ravel()) if not isinstance(source, list | tuple) else tuple(source)
        )

    def scalar(self, name: str) -> int:
        """One integer that arrives as an attribute or as a value input of one element."""
        listed = self.ints(name)
        if len(listed) != 1:
            raise self.refuse("HA519", f"{name} = {list(listed)}; one element is allowed")
        return listed[0]

    def outputs_given(self, name: str) -> int:
        """How many tensors the client described for an output."""
        return len(self.outputs[name].specs)

    def refuse(self, rule: str, text: str) -> Refused:
        """The exception for something this call cannot have, with the operator's name in front."""
        return Refused(rule, f"{self.op_type}: {text}")

    def with_values(self, values: Mapping[str, Array]) -> Call:
        """The same call with the data of value inputs known."""
        return replace(self, values={**self.values, **values})

    @cached_property
    def _inferred(self) -> list[Shape | None]:
        """One shape for each output tensor in order, None where nothing is known of it."""
        try:
            return self.operator.infer_shapes(self)
        except Unknown:
            return [None] * len(self.output_slots)

    @cached_property
    def output_slots(self) -> tuple[tuple[str, int], ...]:
        """Output tensors in order, as (name, index within a dynamic output)."""
        return tuple(
            (name, index)
            for name, bound in self.outputs.items()
            for index in range(max(len(bound.specs), bound.decl.kind != "dynamic"))
        )

    @cached_property
    def shapes_out(self) -> tuple[Shape | None, ...]:
        """The inferred shape of each output tensor in order."""
        return tuple(self._inferred)

    @cached_property
    def exact(self) -> bool:
        """Whether every output shape follows from descriptors, attributes and known values."""
        return all(shape is not None and dims.known(*shape) for shape in self.shapes_out)

    @property
    def value_inputs(self) -> tuple[tuple[str, int], ...]:
        """(name, position) of inputs whose values the shape rule lacks; empty when the size depends on other data."""
        return () if self.exact else self.unknown_values

    @property
    def unknown_values(self) -> tuple[tuple[str, int], ...]:
        """(name, position) of all value inputs that are not known: the shape rule sees and checks them when the call runs."""
        names = [name for name in self.operator.value_inputs if self.has(name) and name not in self.values]
        return tuple((name, self.inputs[name].positions[0]) for name in names)

    def infer(self) -> tuple[Inferred, ...]:
        """Dtype, format and shape of each output, in the client's order (the prototype's, when none were given)."""
        codes = self.operator.output_dtypes(self)
        return tuple(
            _inferred(codes[place], self.output_format(name, index, shape), shape)
            for place, ((name, index), shape) in enumerate(zip(self.output_slots, self.shapes_out, strict=True))
        )

    def output_format(self, name: str, index: int, shape: Shape | None) -> int:
        """The format of an output: the described one, else the first input's where the rank agrees, else ND."""
        specs = self.outputs[name].specs
        if index < len(specs) and not specs[index].absent:
            return specs[index].format
        first = next((bound.specs[0] for bound in self.inputs.values() if bound.given), None)
        same = first is not None and shape is not None and len(first.shape) == len(shape)
        return first.format if same and first is not None else formats.ND

    def function(self) -> Callable[..., tuple[tuple[int, ...], ...] | None]:
        """What runs the call on arrays; made under the settings in force. See docs/design.md."""
        from hostacl.ops.run import function

        return function(self)


def _shape(spec: TensorSpec) -> Shape:
    if spec.shape[:1] == (-2,):
        raise Unknown
    if min(spec.shape, default=0) >= 0:
        return spec.shape
    return tuple(dims.dim_of(size, index, spec.ranges) for index, size in enumerate(spec.shape))


def _inferred(dtype: int, layout: int, shape: Shape | None) -> Inferred:
    if shape is None:
        return Inferred(dtype, layout, None, ())
    return Inferred(dtype, layout, tuple(-1 if isinstance(dim, Between) else dim for dim in shape), tuple(map(_range, shape)))


def _range(dim: Dim) -> tuple[int, int]:
    low, high = dims.bounds(dim)
    return low, dims.NO_BOUND if high is None else high


def described(spec: TensorSpec) -> str:
    """A descriptor in a few words: ``DT_FLOAT16 [2,3]``."""
    return f"{dtypes.ge_name(spec.dtype)} {dims.text(spec.shape)}"


def each_output(call: Call) -> Sequence[tuple[str, int, TensorSpec]]:
    """(label, position, descriptor) of every output that the client described."""
    return [
        (bound.label(index), position, spec)
        for bound in call.outputs.values()
        for index, (position, spec) in enumerate(zip(bound.positions, bound.specs, strict=True))
        if not spec.absent
    ]
