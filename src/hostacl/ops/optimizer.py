"""Optimizers without moments of second order: gradient descent, momentum, and those with signs or bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.optimizing import optimizer, step

Array = NDArray[Any]


@optimizer("ApplyGradientDescent", grad="delta", scalars=("alpha",))
def apply_gradient_descent(var: Array, alpha: Array, delta: Array) -> Array:
    """var - alpha·delta. Integers stay integers and wrap."""
    if var.dtype.kind in "iu":
        return var - alpha.reshape(()) * delta
    return step(lambda at, grad, rate: (at - rate * grad,), (var, delta), (alpha,))[0]


def shrunk(prox: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """The proximal step: toward 0 by rate·l1, and divided by 1 + rate·l2."""
    return np.sign(prox) * np.maximum(np.abs(prox) - rate * l1, 0) / (1 + rate * l2)


@optimizer("ApplyProximalGradientDescent", grad="delta", scalars=("alpha", "l1", "l2"))
def apply_proximal_gradient_descent(var: Array, alpha: Array, l1: Array, l2: Array, delta: Array) -> Array:
    """p = var - alpha·delta, then sign(p)·max(|p| - alpha·l1, 0)/(1 + alpha·l2)."""
    return step(lambda at, grad, a, b, c: (shrunk(at - a * grad, a, b, c),), (var, delta), (alpha, l1, l2))[0]


@optimizer("ApplyMomentum", "ApplyMomentumD", slots=("accum",), scalars=("lr", "momentum"))
def apply_momentum(
    var: Array, accum: Array, lr: Array, grad: Array, momentum: Array, use_nesterov: bool
) -> tuple[Array, ...]:
    """accum = accum·momentum + grad; var - lr·accum, with use_nesterov var - lr·(grad + accum·momentum).

    ApplyMomentum, whose only output is var, writes accum into its input.
    """

    def move(at: Array, speed: Array, grads: Array, rate: Array, decay: Array) -> tuple[Any, ...]:
        speed = speed * decay + grads
        return at - rate * (grads + speed * decay if use_nesterov else speed), speed

    return step(move, (var, accum, grad), (lr, momentum))


@optimizer("ApplyKerasMomentum", "ApplyKerasMomentumD", slots=("accum",), scalars=("lr", "momentum"))
def apply_keras_momentum(
    var: Array, accum: Array, lr: Array, grad: Array, momentum: Array, use_nesterov: bool
) -> tuple[Array, ...]:
    """accum = accum·momentum - lr·grad; var + accum, with use_nesterov var + accum·momentum - lr·grad.

    ApplyKerasMomentum, whose only output is var, writes accum into its input.
    """

    def move(at: Array, speed: Array, grads: Array, rate: Array, decay: Array) -> tuple[Any, ...]:
        speed = speed * decay - rate * grads
        return at + (speed * decay - rate * grads if use_nesterov else speed), speed

    return step(move, (var, accum, grad), (lr, momentum))


@optimizer("ApplyPowerSign", slots=("m",), scalars=("lr", "logbase", "sign_decay", "beta"))
def apply_power_sign(
    var: Array, m: Array, lr: Array, logbase: Array, sign_decay: Array, beta: Array, grad: Array
) -> tuple[Array, ...]:
    """m = beta·m + (1 - beta)·grad, written into its input; var - lr·e^(logbase·sign_decay·sign(grad)·sign(m))·grad."""

    def move(at: Array, mean: Array, grads: Array, rate: Array, base: Array, decay: Array, b: Array) -> tuple[Any, ...]:
        mean = b * mean + (1 - b) * grads
        return at - rate * np.exp(base * decay * np.sign(grads) * np.sign(mean)) * grads, mean

    return step(move, (var, m, grad), (lr, logbase, sign_decay, beta))


@optimizer("ApplyAddSign", slots=("m",), scalars=("lr", "alpha", "sign_decay", "beta"))
def apply_add_sign(
    var: Array, m: Array, lr: Array, alpha: Array, sign_decay: Array, beta: Array, grad: Array
) -> tuple[Array, ...]:
    """m = beta·m + (1 - beta)·grad, written into its input; var - lr·(alpha + sign_decay·sign(grad)·sign(m))·grad."""

    def move(at: Array, mean: Array, grads: Array, rate: Array, a: Array, decay: Array, b: Array) -> tuple[Any, ...]:
        mean = b * mean + (1 - b) * grads
        return at - rate * (a + decay * np.sign(grads) * np.sign(mean)) * grads, mean

    return step(move, (var, m, grad), (lr, alpha, sign_decay, beta))


@optimizer("SGD", slots=("accum", "stat"), grad="gradient", scalars=("learning_rate", "momentum"))
def sgd(
    parameters: Array, gradient: Array, learning_rate: Array, accum: Array, momentum: Array, stat: Array,
    dampening: float, weight_decay: float, nesterov: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """g = gradient + weight_decay·parameters; accum = momentum·accum + (1 - dampening)·g, or g itself where stat > 0.

    parameters - learning_rate·accum, with nesterov - learning_rate·(g + momentum·accum). accum and stat, which becomes 0, are
    written into their inputs.
    """

    def move(at: Array, grads: Array, speed: Array, first: Array, rate: Array, decay: Array) -> tuple[Any, ...]:
        grads = grads + weight_decay * at
        speed = np.where(first > 0, grads, decay * speed + (1 - dampening) * grads)
        return at - rate * (grads + decay * speed if nesterov else speed), speed, np.where(first > 0, 0, first)

    return step(move, (parameters, gradient, accum, stat), (learning_rate, momentum))
