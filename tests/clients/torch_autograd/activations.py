"""Activations: each takes the gradient and its own input or output, in an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.clients.torch_autograd.support import COMPLEXES, FLOATS, Case, Draw, exact, gradient, leaf, pulled, torch

F = torch.nn.functional
SHAPES = ((), (7,), (3, 5), (0, 3), (2, 3, 4), (2, 1, 3, 2, 2))


FAR = (-30.0, -9.0, -0.0, 0.0, 9.0, 30.0)


def by_input(
    op: str, function: Any, order: str, *attrs: dict[str, Any], edges: Any = (), reach: float = 2, within: float = 0
) -> None:
    """A gradient that takes the activation's input: ``g``, ``x`` and ``y`` in the operator's order.

    ``edges`` are inputs where the slope changes, of the first attributes; ``within`` bounds the others on both sides.
    """

    def at(d: Draw, x: Any, given: dict[str, Any]) -> Case:
        value = leaf(x)
        y = function(value, **given)
        dy = d.normal(*x.shape)
        tensors = {"g": dy, "x": x, "y": d.typed(y.detach().numpy())}
        return Case([tensors[one] for one in order], pulled(y, dy, value), given)

    @gradient(op)
    def cases(d: Draw) -> Iterator[Case]:
        def drawn(*shape: int) -> Any:
            return d.between(-within, within, *shape) if within else d.normal(*shape, spread=reach)

        for given in attrs or ({},):
            for shape in SHAPES:
                yield at(d, drawn(*shape), given)
        yield at(d, drawn(3, 6001), attrs[0] if attrs else {})  # more than one block
        yield at(d, d.typed([*edges, *([] if within else FAR)]), attrs[0] if attrs else {})


def by_output(
    op: str, function: Any, inverse: Any, order: str, bounds: Any, *attrs: dict[str, Any], own: Any = None,
    codes: Any = FLOATS, edge: float | None = None,
) -> None:  # fmt: skip
    """A gradient that takes the activation's output, drawn between bounds: autograd runs at the input that gives it.

    ``own`` makes of the operator's attributes those of the function; ``edge`` is an output where the slope changes.
    """

    @gradient(op, codes=codes)
    def cases(d: Draw) -> Iterator[Case]:
        for given in attrs or ({},):
            named = own(**given) if own else given
            for shape in SHAPES:
                y, dy = d.between(*bounds, *shape), d.normal(*shape)
                if edge is not None:
                    y.reshape(-1)[:1] = edge
                x = inverse(exact(y), **named).detach().requires_grad_()
                tensors = {"g": dy, "y": y}
                yield Case([tensors[one] for one in order], pulled(function(x, **named), dy, x), given)


def fast_gelu(x: Any) -> Any:
    return x * torch.sigmoid(1.702 * x)


def leaky(x: Any, negative_slope: float = 0.0) -> Any:
    return F.leaky_relu(x, negative_slope)


def hard_sigmoid(x: Any, alpha: float = 1 / 6, beta: float = 0.5) -> Any:
    return F.hardsigmoid(6 * (alpha * x + beta) - 3)


def elu_inverse(y: Any, alpha: float = 1.0) -> Any:
    return torch.where(y > 0, y, torch.log1p(y / alpha))


def selu_inverse(y: Any) -> Any:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return torch.where(y > 0, y / scale, torch.log1p(y / (scale * alpha)))


def elu_of_three(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return scale * torch.where(x > 0, x, alpha * torch.expm1(torch.clamp(x, max=0) * input_scale))


BOTH = (*FLOATS, *COMPLEXES)
by_input("AbsGrad", torch.abs, "xg")
by_input("AtanGrad", torch.atan, "xg")
by_input("AcosGrad", torch.acos, "xg", edges=(-0.75, 0.5), within=0.9)
by_input("AsinGrad", torch.asin, "xg", edges=(-0.75, 0.5), within=0.9)
by_output("AcoshGrad", torch.acosh, torch.cosh, "yg", (0.25, 3))
by_output("AsinhGrad", torch.asinh, torch.sinh, "yg", (-3, 3))
by_output("InvGrad", torch.reciprocal, torch.reciprocal, "yg", (0.25, 4))
by_output("ReciprocalGrad", torch.reciprocal, torch.reciprocal, "yg", (0.25, 4), codes=BOTH)
by_output("RsqrtGrad", torch.rsqrt, lambda y: 1 / (y * y), "yg", (0.25, 4), codes=BOTH)
by_output("SqrtGrad", torch.sqrt, torch.square, "yg", (0.25, 4), codes=BOTH)
by_output("TanhGrad", torch.tanh, torch.atanh, "yg", (-1, 1))
by_output("SigmoidGrad", torch.sigmoid, torch.logit, "yg", (0, 1))
by_output("TanhGrad", torch.tanh, torch.atanh, "yg", (-0.9, 0.9), {"complex_conj": True}, own=lambda **_: {}, codes=BOTH)
by_output(
    "SigmoidGrad", torch.sigmoid, lambda y: torch.log(y / (1 - y)), "yg", (0.1, 0.9), {"complex_conj": True},
    own=lambda **_: {}, codes=BOTH,
)  # fmt: skip
by_input("ReluGrad", F.relu, "gx")
by_input("Relu6Grad", F.relu6, "gx", edges=(6.0, 5.75, 6.25), reach=6)
by_input("LeakyReluGrad", leaky, "gx", {}, {"negative_slope": 0.25}, {"negative_slope": -1.5})
by_input("HardtanhGrad", F.hardtanh, "xg", {}, {"min_val": -0.5, "max_val": 2.0}, edges=(-1.0, 1.0))
by_input("HardSigmoidGrad", hard_sigmoid, "gx", {"alpha": 0.25, "beta": 0.5}, {"alpha": 0.5, "beta": 0.25}, {},
         edges=(-2.0, 2.0))  # fmt: skip
by_input("HardSwishGrad", F.hardswish, "gx", edges=(-3.0, 3.0), reach=4)
by_input("HardShrinkGrad", F.hardshrink, "gx", {}, {"lambd": 1.25}, {"lambd": 0.0}, edges=(-0.5, 0.5))
by_input("SoftShrinkGrad", F.softshrink, "gx", {}, {"lambd": 1.25}, {"lambd": 0.0}, edges=(-0.5, 0.5))
by_input("ThresholdGradV2D", lambda x, threshold: F.threshold(x, threshold, 0), "gx", {"threshold": 0.5}, {"threshold": -1.0},
         edges=(0.5,))  # fmt: skip
by_output("EluGrad", F.elu, elu_inverse, "gy", (-1, 2), edge=0)
by_output("EluGradV2", F.elu, elu_inverse, "gy", (-0.5, 2), {}, {"alpha": 0.5}, {"alpha": 2.5}, edge=0)
by_output("SeluGrad", F.selu, selu_inverse, "gy", (-1.75, 2), edge=0)
by_input("GeluGrad", lambda x: F.gelu(x, approximate="tanh"), "gxy")
by_input("GeluGradV2", F.gelu, "gx", {}, {"approximate": "none"}, {"approximate": "tanh"})
by_input("FastGeluGrad", fast_gelu, "gx")
by_input("SiluGrad", F.silu, "gx")
by_input("SwishGrad", lambda x, scale=1.0: x * torch.sigmoid(scale * x), "gxy", {}, {"scale": 1.702}, {"scale": -0.5})
by_input("MishGrad", F.mish, "gx")
by_input("LogSigmoidGrad", F.logsigmoid, "gx")
by_input("SoftplusGrad", lambda x: F.softplus(x, threshold=1000), "gx")
by_input("SoftsignGrad", F.softsign, "gx")
by_input("SoftplusV2Grad", F.softplus, "gx", {}, {"beta": 2.0, "threshold": 1.0}, {"beta": 0.5, "threshold": 20.0})


@gradient("EluGradV2")
def elu_by_input(d: Draw) -> Iterator[Case]:
    """With is_result false the operator takes Elu's input, and with it all of torch's three scales."""
    scales = {"alpha": 1.5, "scale": 2.0, "input_scale": 0.5}
    for shape in SHAPES:
        x, dy = d.normal(*shape), d.normal(*shape)
        at = leaf(x)
        yield Case([dy, x], pulled(elu_of_three(at, **scales), dy, at), {**scales, "is_result": False})
        y = d.between(-2.75, 3, *shape)
        wide = exact(y)
        root = torch.where(wide > 0, wide / 2, torch.log1p(wide / 3) / 0.5).requires_grad_()
        yield Case([dy, y], pulled(elu_of_three(root, **scales), dy, root), {**scales, "is_result": True})


@gradient("MishGrad")
def mish_with_its_tanh(d: Draw) -> Iterator[Case]:
    """tanhx is tanh(softplus(x)), rounded as the forward operator leaves it."""
    for shape in SHAPES:
        x, dy = d.normal(*shape), d.normal(*shape)
        at = leaf(x)
        tanhx = d.typed(torch.tanh(F.softplus(exact(x))).numpy())
        yield Case([dy, x, tanhx], pulled(F.mish(at), dy, at), rounded=True)


@gradient("PReluGrad")
def p_relu(d: Draw) -> Iterator[Case]:
    for shape, count in (((6,), 1), ((4, 3), 3), ((2, 3, 4), 1), ((2, 3, 4), 3), ((2, 3, 2, 2), 3), ((2, 3, 0), 3)):
        x, slope, dy = d.normal(*shape), d.between(-0.5, 0.9, count), d.normal(*shape)
        x.reshape(-1)[:1] = 0
        at, weight = leaf(x), leaf(slope)
        yield Case([dy, x, slope], pulled(F.prelu(at, weight), dy, at, weight))


GATES: dict[str, Callable[..., Any]] = {
    "GLUGrad": F.glu,
    "SwiGluGrad": lambda x, dim: F.silu(x.chunk(2, dim)[0]) * x.chunk(2, dim)[1],
}


@gradient(*GATES)
def gated(d: Draw) -> Iterator[Case]:
    for shape, dim in (((6,), -1), ((3, 8), -1), ((4, 3), 0), ((2, 6, 3), 1), ((2, 0, 4), -1), ((2, 3, 4), -3)):
        x, half = d.normal(*shape), [*shape]
        half[dim] //= 2
        dy, at = d.normal(*half), leaf(x)
        yield Case([dy, x], pulled(GATES[d.op](at, dim), dy, at), {"dim": dim})


@gradient("GeGluGradV2")
def ge_glu(d: Draw) -> Iterator[Case]:
    for shape, dim in (((3, 8), -1), ((4, 3), 0), ((2, 6, 3), 1), ((2, 0, 4), -1)):
        for approximate in (0, 1):
            for left in (False, True):
                x, half = d.normal(*shape), [*shape]
                half[dim] //= 2
                dy, at = d.normal(*half), leaf(x)
                plain, active = reversed(at.chunk(2, dim)) if left else at.chunk(2, dim)
                gelu = F.gelu(active, approximate="tanh" if approximate else "none")
                attrs = {"dim": dim, "approximate": approximate, "activate_left": left}
                yield Case([dy, x, d.typed(gelu.detach().numpy())], pulled(plain * gelu, dy, at), attrs, rounded=True, times=1)


@gradient("MaximumGrad", "MinimumGrad", codes=FLOATS)
def larger_or_smaller(d: Draw) -> Iterator[Case]:
    """Two tensors that are nowhere equal, with every shape that broadcasts, and gradients that are not asked for."""
    function = torch.maximum if d.op == "MaximumGrad" else torch.minimum
    for one, other in (((), ()), ((5,), (5,)), ((3, 4), (4,)), ((3, 1), (2, 1, 4)), ((0, 3), (1, 3))):
        x1, x2 = d.normal(*one), d.normal(*other)
        dy = d.normal(*np.broadcast_shapes(one, other))
        first, second = leaf(x1), leaf(x2)
        yield Case([dy, x1, x2], pulled(function(first, second), dy, first, second))
