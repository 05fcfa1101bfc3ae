"""Optimizers that scale each element's step: Adagrad, Adadelta, RMSProp, Ftrl, and the Adam family."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.optimizer import shrunk
from hostacl.ops.optimizing import optimizer, step

Array = NDArray[Any]

ADAM = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")


def moments(m: Array, v: Array, grad: Array, beta1: Array, beta2: Array) -> tuple[Any, Any]:
    """The running means of the gradient and of its square, one step on."""
    return beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad


def corrected(lr: Array, beta1_power: Array, beta2_power: Array) -> Any:
    """The rate of a step, corrected for moments that started at 0."""
    return lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)


@optimizer("ApplyAdam", "ApplyAdamD", slots=("m", "v"), scalars=ADAM)
def apply_adam(
    var: Array, m: Array, v: Array, beta1_power: Array, beta2_power: Array, lr: Array, beta1: Array, beta2: Array,
    epsilon: Array, grad: Array, use_nesterov: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """m = beta1·m + (1-beta1)·grad, v = beta2·v + (1-beta2)·grad²; var - r·m/(√v + epsilon).

    r is lr·√(1-beta2_power)/(1-beta1_power); use_nesterov takes beta1·m + (1-beta1)·grad in the place of m.
    ApplyAdam writes m and v into their inputs.
    """

    def move(at: Array, mean: Array, square: Array, grads: Array, p1: Array, p2: Array, rate: Array, b1: Array,
             b2: Array, eps: Array) -> tuple[Any, ...]:  # fmt: skip
        mean, square = moments(mean, square, grads, b1, b2)
        ahead = b1 * mean + (1 - b1) * grads if use_nesterov else mean
        return at - corrected(rate, p1, p2) * ahead / (np.sqrt(square) + eps), mean, square

    return step(move, (var, m, v, grad), (beta1_power, beta2_power, lr, beta1, beta2, epsilon))


@optimizer("ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2", "ApplyAdamWithAmsgradD", slots=("m", "v", "vhat"), scalars=ADAM)
def apply_adam_with_amsgrad(
    var: Array, m: Array, v: Array, vhat: Array, beta1_power: Array, beta2_power: Array, lr: Array, beta1: Any,
    beta2: Any, epsilon: Any, grad: Array,
) -> tuple[Array, ...]:  # fmt: skip
    """Adam with the largest v so far: vhat = max(vhat, v), var - r·m/(√vhat + epsilon).

    ApplyAdamWithAmsgrad, whose only output is var, writes m, v and vhat into their inputs.
    """

    def move(at: Array, mean: Array, square: Array, top: Array, grads: Array, p1: Array, p2: Array, rate: Array,
             b1: Array, b2: Array, eps: Array) -> tuple[Any, ...]:  # fmt: skip
        mean, square = moments(mean, square, grads, b1, b2)
        top = np.maximum(top, square)
        return at - corrected(rate, p1, p2) * mean / (np.sqrt(top) + eps), mean, square, top

    return step(move, (var, m, v, vhat, grad), (beta1_power, beta2_power, lr, beta1, beta2, epsilon))


def check_amsgrad(call: Call) -> None:
    """The largest v so far needs its tensor."""
    if call.attr("amsgrad") and not call.has("max_grad_norm"):
        raise call.refuse("HA513", "amsgrad needs max_grad_norm, the largest v so far, in the shape of var.")


@optimizer("ApplyAdamW", slots=("m", "v", "max_grad_norm"), scalars=(*ADAM, "weight_decay"), check=check_amsgrad)
def apply_adam_w(
    var: Array, m: Array, v: Array, beta1_power: Array, beta2_power: Array, lr: Array, weight_decay: Array, beta1: Array,
    beta2: Array, epsilon: Array, grad: Array, max_grad_norm: Array | None, amsgrad: bool, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Adam with weight decay apart: var·(1 - lr·weight_decay) - lr·m/(1-beta1_power)/(√(v/(1-beta2_power)) + epsilon).

    maximize takes -grad. amsgrad takes the largest v so far, kept in max_grad_norm, which it needs and writes in its memory.
    """

    def move(at: Array, mean: Array, square: Array, grads: Array, top: Array, p1: Array, p2: Array, rate: Array,
             decay: Array, b1: Array, b2: Array, eps: Array) -> tuple[Any, ...]:  # fmt: skip
        mean, square = moments(mean, square, -grads if maximize else grads, b1, b2)
        top = np.maximum(top, square) if amsgrad else top
        bottom = np.sqrt((top if amsgrad else square) / (1 - p2)) + eps
        return at * (1 - rate * decay) - rate * mean / (1 - p1) / bottom, mean, square, top

    largest = max_grad_norm if amsgrad and max_grad_norm is not None else v
    numbers = (beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon)
    *new, top = step(move, (var, m, v, grad, largest), numbers)
    return *new, (top if amsgrad else None)


@optimizer("ApplyAdaMax", "ApplyAdaMaxD", slots=("m", "v"), scalars=("beta1_power", "lr", "beta1", "beta2", "epsilon"))
def apply_ada_max(
    var: Array, m: Array, v: Array, beta1_power: Array, lr: Array, beta1: Array, beta2: Array, epsilon: Array, grad: Array
) -> tuple[Array, ...]:
    """m = beta1·m + (1-beta1)·grad, v = max(beta2·v, |grad|); var - lr/(1-beta1_power)·m/(v + epsilon).

    ApplyAdaMax, whose only output is var, writes m and v into their inputs.
    """

    def move(at: Array, mean: Array, top: Array, grads: Array, p1: Array, rate: Array, b1: Array, b2: Array,
             eps: Array) -> tuple[Any, ...]:  # fmt: skip
        mean, top = b1 * mean + (1 - b1) * grads, np.maximum(b2 * top, np.abs(grads))
        return at - rate / (1 - p1) * mean / (top + eps), mean, top

    return step(move, (var, m, v, grad), (beta1_power, lr, beta1, beta2, epsilon))


@optimizer("ApplyAdadelta", "ApplyAdadeltaD", slots=("accum", "accum_update"), scalars=("lr", "rho", "epsilon"))
def apply_adadelta(
    var: Array, accum: Array, accum_update: Array, lr: Array, rho: Array, epsilon: Array, grad: Array
) -> tuple[Array, ...]:
    """accum = rho·accum + (1-rho)·grad², u = √(accum_update + epsilon)/√(accum + epsilon)·grad; var - lr·u.

    accum_update = rho·accum_update + (1-rho)·u². ApplyAdadelta writes both slots into their inputs.
    """

    def move(at: Array, square: Array, moved: Array, grads: Array, rate: Array, keep: Array, eps: Array) -> tuple[Any, ...]:
        square = keep * square + (1 - keep) * grads * grads
        update = np.sqrt(moved + eps) / np.sqrt(square + eps) * grads
        return at - rate * update, square, keep * moved + (1 - keep) * update * update

    return step(move, (var, accum, accum_update, grad), (lr, rho, epsilon))


@optimizer("ApplyAdagrad", "ApplyAdagradD", slots=("accum",), scalars=("lr",))
def apply_adagrad(var: Array, accum: Array, lr: Array, grad: Array, update_slots: bool) -> tuple[Array, ...]:
    """accum + grad² (unless update_slots is false); var - lr·grad/√accum. ApplyAdagrad writes accum into its input."""
    return apply_adagrad_v2(var, accum, lr, grad, update_slots, 0.0)


@optimizer("ApplyAdagradV2", "ApplyAdagradV2D", slots=("accum",), scalars=("lr", "epsilon"))
def apply_adagrad_v2(
    var: Array, accum: Array, lr: Array, grad: Array, update_slots: bool, epsilon: Any
) -> tuple[Array, ...]:
    """accum + grad² (unless update_slots is false); var - lr·grad/(√accum + epsilon).

    ApplyAdagradV2, whose only output is var, writes accum into its input.
    """

    def move(at: Array, square: Array, grads: Array, rate: Array, eps: Array) -> tuple[Any, ...]:
        square = square + grads * grads if update_slots else square
        return at - rate * grads / (np.sqrt(square) + eps), square

    return step(move, (var, accum, grad), (lr, epsilon))


@optimizer("ApplyProximalAdagrad", slots=("accum",), scalars=("lr", "l1", "l2"))
def apply_proximal_adagrad(
    var: Array, accum: Array, lr: Array, l1: Array, l2: Array, grad: Array
) -> tuple[Array, ...]:
    """accum + grad², written into its input; p = var - r·grad with r = lr/√accum; sign(p)·max(|p| - r·l1, 0)/(1 + r·l2)."""

    def move(at: Array, square: Array, grads: Array, rate: Array, a: Array, b: Array) -> tuple[Any, ...]:
        square = square + grads * grads
        own = rate / np.sqrt(square)
        return shrunk(at - own * grads, own, a, b), square

    return step(move, (var, accum, grad), (lr, l1, l2))


@optimizer("ApplyRMSProp", "ApplyRMSPropD", slots=("ms", "mom"), scalars=("lr", "rho", "momentum", "epsilon"))
def apply_rms_prop(
    var: Array, ms: Array, mom: Array, lr: Array, rho: Any, momentum: Any, epsilon: Any, grad: Array
) -> tuple[Array, ...]:
    """ms = rho·ms + (1-rho)·grad², mom = momentum·mom + lr·grad/√(ms + epsilon); var - mom.

    ApplyRMSProp, whose only output is var, writes ms and mom into their inputs.
    """

    def move(at: Array, square: Array, speed: Array, grads: Array, rate: Array, keep: Array, decay: Array,
             eps: Array) -> tuple[Any, ...]:  # fmt: skip
        square = keep * square + (1 - keep) * grads * grads
        speed = decay * speed + rate * grads / np.sqrt(square + eps)
        return at - speed, square, speed

    return step(move, (var, ms, mom, grad), (lr, rho, momentum, epsilon))


@optimizer("ApplyCenteredRMSProp", "ApplyCenteredRMSPropD", slots=("mg", "ms", "mom"),
           scalars=("lr", "rho", "momentum", "epsilon"))  # fmt: skip
def apply_centered_rms_prop(
    var: Array, mg: Array, ms: Array, mom: Array, lr: Array, rho: Array, momentum: Array, epsilon: Array, grad: Array
) -> tuple[Array, ...]:
    """RMSProp about the mean: mg = rho·mg + (1-rho)·grad, mom = momentum·mom + lr·grad/√(ms - mg² + epsilon); var - mom.

    ApplyCenteredRMSProp, whose only output is var, writes mg, ms and mom into their inputs.
    """

    def move(at: Array, mean: Array, square: Array, speed: Array, grads: Array, rate: Array, keep: Array, decay: Array,
             eps: Array) -> tuple[Any, ...]:  # fmt: skip
        mean, square = keep * mean + (1 - keep) * grads, keep * square + (1 - keep) * grads * grads
        speed = decay * speed + rate * grads / np.sqrt(square - mean * mean + eps)
        return at - speed, mean, square, speed

    return step(move, (var, mg, ms, mom, grad), (lr, rho, momentum, epsilon))


@optimizer("ApplyFtrl", "ApplyFtrlD", slots=("accum", "linear"), scalars=("lr", "l1", "l2", "lr_power"))
def apply_ftrl(
    var: Array, accum: Array, linear: Array, grad: Array, lr: Array, l1: Array, l2: Array, lr_power: Array
) -> tuple[Array, ...]:
    """Follow the regularised leader: a = accum + grad², linear += grad - (a^-p - accum^-p)/lr·var with p = lr_power.

    var = (sign(linear)·l1 - linear)/(a^-p/lr + 2·l2) where |linear| > l1, else 0. ApplyFtrl writes the slots into their inputs.
    """

    def move(at: Array, square: Array, line: Array, grads: Array, rate: Array, a: Array, b: Array, power: Array) -> Any:
        total = square + grads * grads
        line = line + grads - (total**-power - square**-power) / rate * at
        bent = (np.sign(line) * a - line) / (total**-power / rate + 2 * b)
        return np.where(np.abs(line) > a, bent, 0), total, line

    return step(move, (var, accum, linear, grad), (lr, l1, l2, lr_power))


def check_adam_mode(call: Call) -> None:
    """Refuses the mode whose step is not published."""
    if (mode := call.attr("adam_mode")) != "adam":
        raise call.refuse("HA508", f"adam_mode = {mode!r}; allowed: 'adam'. What 'mbart_adam' does is not published.")


BERT = ("lr", "beta1", "beta2", "epsilon", "max_grad_norm", "global_grad_norm", "weight_decay", "step_size")


@optimizer("ApplyAdamV2", slots=("m", "v"), check=check_adam_mode, scalars=BERT)
def apply_adam_v2(
    var: Array, m: Array, v: Array, lr: Array, beta1: Array, beta2: Array, epsilon: Array, grad: Array,
    max_grad_norm: Array | None, global_grad_norm: Array, weight_decay: Array,
) -> tuple[Array, ...]:  # fmt: skip
    """BERT's Adam: var - lr·(m / (√v + epsilon) + weight_decay·var), without a correction of the moments.

    Where max_grad_norm is above 0 and global_grad_norm above it, grad is first scaled by max_grad_norm / (global_grad_norm +
    1e-6). step_size has no part in the mode adam.
    """
    most, total = (0.0 if one is None else float(one.reshape(())) for one in (max_grad_norm, global_grad_norm))
    scale = min(1.0, most / (total + 1e-6)) if most > 0 else 1.0

    def move(at: Array, mean: Array, square: Array, grads: Array, rate: Array, decay: Array, b1: Array, b2: Array,
             eps: Array) -> tuple[Any, ...]:  # fmt: skip
        mean, square = moments(mean, square, grads * scale, b1, b2)
        return at - rate * (mean / (np.sqrt(square) + eps) + decay * at), mean, square

    return step(move, (var, m, v, grad), (lr, weight_decay, beta1, beta2, epsilon))
