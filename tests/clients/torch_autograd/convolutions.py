"""Convolutions: the gradients of the filter and of the input, value and D forms, and the transposed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.clients.torch_autograd.support import Array, Case, Draw, exact, gradient, leaf, pulled, torch

F = torch.nn.functional
LONG = 16
"""Roundings that sums of hundreds of products in float32 may be away."""

LAYOUTS = {
    2: (("NCHW", "NCHW"), ("NHWC", "HWCN")),
    3: (("NCDHW", "NCDHW"), ("NDHWC", "DHWCN")),
}
"""The formats of data and filter, channels first and last, by the number of spatial axes."""


class Geometry(NamedTuple):
    """A convolution: the shapes of x and the filter, channels first, and its attributes for each spatial axis."""

    x: tuple[int, ...]
    weight: tuple[int, ...]
    stride: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    pads: tuple[int, ...] = (0, 0, 0, 0)
    groups: int = 1

    @property
    def axes(self) -> int:
        """The number of spatial axes."""
        return len(self.stride)

    def forward(self, x: Any, weight: Any) -> Any:
        """The convolution as torch computes it; pads that differ before and after are put around x first."""
        around = [each for at in reversed(range(self.axes)) for each in self.pads[2 * at : 2 * at + 2]]
        convolve = F.conv2d if self.axes == 2 else F.conv3d
        return convolve(F.pad(x, around), weight, None, self.stride, 0, self.dilation, self.groups)

    def attributes(self, data: str, groups: bool = True) -> dict[str, Any]:
        """The operator's attributes, lists in the axis order of the data."""
        lists = {"strides": self.stride, "dilations": self.dilation}
        ordered = {
            name: [{"N": 1, "C": 1, **dict(zip("DHW"[-self.axes :], values, strict=True))}[letter] for letter in data]
            for name, values in lists.items()
        }
        return {**ordered, "pads": list(self.pads), "data_format": data, **({"groups": self.groups} if groups else {})}


PLANES = (
    Geometry((2, 3, 5, 6), (4, 3, 3, 2)),
    Geometry((1, 4, 7, 6), (6, 2, 3, 3), (2, 1), (1, 2), (1, 0, 2, 1), 2),
    Geometry((2, 6, 9, 8), (6, 1, 2, 3), (2, 3), (3, 1), (0, 2, 1, 1), 6),
    Geometry((2, 3, 4, 4), (5, 3, 1, 1), (3, 2)),
    Geometry((2, 16, 20, 18), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    Geometry((0, 3, 5, 6), (4, 3, 3, 2)),
)
SPACES = (
    Geometry((2, 3, 4, 5, 3), (4, 3, 2, 3, 2), (1, 1, 1), (1, 1, 1), (0,) * 6),
    Geometry((1, 4, 6, 5, 7), (6, 2, 2, 3, 2), (2, 1, 3), (1, 2, 1), (1, 0, 2, 1, 0, 1), 2),
    Geometry((1, 6, 5, 4, 5), (6, 1, 3, 1, 2), (1, 2, 1), (2, 1, 3), (2, 2, 0, 0, 1, 2), 6),
    Geometry((0, 3, 4, 5, 3), (4, 3, 2, 3, 2), (1, 1, 1), (1, 1, 1), (0,) * 6),
)


def ordered(array: Any, target: str) -> Any:
    """A channels-first array or tensor with its axes in another order."""
    order = ["NCDHW".replace("D", "" if array.ndim == 4 else "D").index(letter) for letter in target]
    return np.ascontiguousarray(array.transpose(order)) if isinstance(array, np.ndarray) else array.permute(order)


class Formed(NamedTuple):
    """One convolution in one layout: what the operators take, and autograd's gradients of filter and input."""

    x: Array
    weight: Array
    dy: Array
    by_weight: Any
    by_x: Any
    data: str
    filters: str
    named: bool

    def codes(self, *letters: str) -> list[int]:
        """Formats by their names; ND for none, and for all where only data_format says the order."""
        return [formats.CODES.get(one, formats.ND) if self.named else formats.ND for one in letters]

    def described(self, code: int, shape: Sequence[int], letters: str) -> list[TensorSpec]:
        """The descriptor of an output in an order of its own."""
        return [TensorSpec(code, tuple(shape), *self.codes(letters))]


def formed(d: Draw, one: Geometry) -> Iterator[Formed]:
    """A convolution in every layout, described by formats and by data_format alone."""
    x, weight = d.normal(*one.x), d.normal(*one.weight)
    at, by = leaf(x), leaf(weight)
    y = one.forward(at, by)
    dy = d.normal(*y.shape)
    by_x, by_weight = pulled(y, dy, at, by)
    for data, filters in LAYOUTS[one.axes]:
        for named in (True, False):
            yield Formed(ordered(x, data), ordered(weight, filters), ordered(dy, data), ordered(by_weight, filters),
                         ordered(by_x, data), data, filters, named)  # fmt: skip


def sized(shape: Sequence[int]) -> Array:
    """A size as a value input."""
    return np.array(shape, np.int32)


@gradient("Conv2DBackpropFilter", "Conv2DBackpropFilterD", "Conv3DBackpropFilter", "Conv3DBackpropFilterD")
def filters(d: Draw) -> Iterator[Case]:
    by_attribute = d.op.endswith("D")
    code = dtypes.FLOAT if by_attribute else d.code
    for one in SPACES if "3D" in d.op else PLANES:
        for way in formed(d, one):
            out, attrs = way.described(code, way.weight.shape, way.filters), one.attributes(way.data)
            if by_attribute:
                attrs["filter_size"] = list(way.weight.shape)
                yield Case([way.x, way.dy], [way.by_weight], attrs, way.codes(way.data, way.data), out, times=LONG)
            else:
                inputs = [way.x, sized(way.weight.shape), way.dy]
                yield Case(inputs, [way.by_weight], attrs, way.codes(way.data, "", way.data), out, [1], times=LONG)


@gradient("Conv2DBackpropInput", "Conv2DBackpropInputD", "Conv3DBackpropInput", "Conv3DBackpropInputD")
def inputs(d: Draw) -> Iterator[Case]:
    by_attribute = d.op.endswith("D")
    for one in SPACES if "3D" in d.op else PLANES:
        for way in formed(d, one):
            out, attrs = way.described(d.code, way.x.shape, way.data), one.attributes(way.data)
            if by_attribute:
                attrs["input_size"] = list(way.x.shape)
                yield Case([way.weight, way.dy], [way.by_x], attrs, way.codes(way.filters, way.data), out, times=LONG)
            else:
                inputs = [sized(way.x.shape), way.weight, way.dy]
                yield Case(inputs, [way.by_x], attrs, way.codes("", way.filters, way.data), out, [0], times=LONG)


@gradient("Conv2DTranspose", "Conv2DTransposeD", "Conv3DTranspose", "Conv3DTransposeD")
def transposed(d: Draw) -> Iterator[Case]:
    """A transposed convolution is the gradient of the input by another name; a bias is added to its channels."""
    by_attribute = d.op.endswith("D")
    for one in SPACES if "3D" in d.op else PLANES:
        for way in formed(d, one):
            out, attrs = way.described(d.code, way.x.shape, way.data), one.attributes(way.data)
            bias = d.normal(one.x[1])
            want = way.by_x + exact(bias).reshape([-1 if letter == "C" else 1 for letter in way.data])
            tensors, layouts = [way.dy, way.weight, bias], way.codes(way.data, way.filters, "")
            if by_attribute:
                yield Case(tensors, [want], {**attrs, "input_size": list(way.x.shape)}, layouts, out, times=LONG)
            else:
                yield Case([sized(way.x.shape), *tensors], [want], attrs, [formats.ND, *layouts], out, [0], times=LONG)


DEPTHWISE = (
    (Geometry((2, 3, 5, 6), (3, 1, 3, 2), groups=3), 1),
    (Geometry((1, 4, 7, 6), (8, 1, 3, 3), (2, 1), (1, 2), (1, 0, 2, 1), 4), 2),
    (Geometry((2, 2, 9, 8), (6, 1, 2, 3), (2, 3), (3, 1), (0, 2, 1, 1), 2), 3),
    (Geometry((0, 2, 4, 4), (4, 1, 3, 3), groups=2), 2),
)
"""Depthwise convolutions and how many filters each channel has."""


def by_multiplier(weight: Any, channels: int, times: int) -> Any:
    """The filters (channels * times, 1, h, w) of a grouped convolution as a depthwise one has them: (times, channels, h, w)."""
    size = weight.shape[2:]
    return weight.reshape(channels, times, *size).swapaxes(0, 1)


@gradient(
    "DepthwiseConv2DBackpropFilter", "DepthwiseConv2DBackpropFilterD", "DepthwiseConv2DBackpropInput",
    "DepthwiseConv2DBackpropInputD",
)  # fmt: skip
def depthwise(d: Draw) -> Iterator[Case]:
    by_attribute, of_filter = d.op.endswith("D"), "Filter" in d.op
    for one, times in DEPTHWISE:
        x, weight = d.normal(*one.x), d.normal(*one.weight)
        at, by = leaf(x), leaf(weight)
        y = one.forward(at, by)
        dy = d.normal(*y.shape)
        by_x, by_weight = pulled(y, dy, at, by)
        for data, letters in LAYOUTS[2]:
            folded = ordered(np.ascontiguousarray(by_multiplier(weight, one.groups, times)), letters)
            wanted = (ordered(by_multiplier(by_weight, one.groups, times), letters), ordered(by_x, data))
            sources = {"x": ordered(x, data), "weight": folded, "dy": ordered(dy, data)}
            first = "x" if of_filter else "weight"
            shape = folded.shape if of_filter else sources["x"].shape
            attrs, layout = one.attributes(data, groups=False), [formats.CODES[data if of_filter else letters]]
            given, layouts = [sources[first]], layout
            if by_attribute:
                attrs["filter_size" if of_filter else "input_size"] = list(shape)
            else:
                given = [*given, sized(shape)] if of_filter else [sized(shape), *given]
                layouts = [*layout, formats.ND] if of_filter else [formats.ND, *layout]
            code = dtypes.FLOAT if of_filter else d.code
            yield Case(
                [*given, sources["dy"]], [wanted[0 if of_filter else 1]], attrs, [*layouts, formats.CODES[data]],
                [TensorSpec(code, shape, formats.CODES[letters if of_filter else data])],
                [] if by_attribute else [1 if of_filter else 0],
            )  # fmt: skip
