"""Optimizers: the printed formulas, in float64 or complex128."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

TENSORS = {"var", "m", "v", "accum", "accum_update", "ms", "mom", "mg", "vhat", "linear", "grad", "delta", "parameters",
           "gradient", "stat", "max_grad_norm"}  # fmt: skip
ALL = [
    "ApplyGradientDescent", "ApplyProximalGradientDescent", "ApplyMomentum", "ApplyMomentumD", "ApplyKerasMomentum",
    "ApplyKerasMomentumD", "ApplyPowerSign", "ApplyAddSign", "SGD", "ApplyAdam", "ApplyAdamD", "ApplyAdamWithAmsgrad",
    "ApplyAdamWithAmsgradV2", "ApplyAdamWithAmsgradD", "ApplyAdamW", "ApplyAdaMax", "ApplyAdaMaxD", "ApplyAdadelta",
    "ApplyAdadeltaD", "ApplyAdagrad", "ApplyAdagradD", "ApplyAdagradV2", "ApplyAdagradV2D", "ApplyProximalAdagrad",
    "ApplyRMSProp", "ApplyRMSPropD", "ApplyCenteredRMSProp", "ApplyCenteredRMSPropD", "ApplyFtrl", "ApplyFtrlD",
]  # fmt: skip


@shapes(*ALL)
def step_call(d: Dice) -> None:
    """A variable and its slots alike, slots of squares positive; numbers of one element."""
    shape, whole = d.shape(), values.is_int(d.dtype)
    for decl in d.generation.inputs:
        if decl.kind == "optional" and not d.optional(decl.name):
            continue
        if decl.name not in TENSORS:
            number = np.array([d.choose(0.1, 0.3, 0.45)])
            d.tensor(decl.name, np.array([d.choose(0, 2)]) if whole else number if d.chance() else number.reshape(()))
            continue
        squares = decl.name in ("v", "accum", "accum_update", "ms", "vhat", "stat", "max_grad_norm")
        low = 0.5 if squares and not values.is_complex(d.dtype) else -3
        array = d.rng.uniform(low, 3, shape)
        if decl.name in ("mg", "mom"):
            array = array * 0.05
        d.tensor(decl.name, np.asarray(np.round(array) if whole else array))
    for name, attr in d.generation.attrs.items():
        if attr.required:
            d.attrs[name] = ("float", 0.25)
            d.values[name] = 0.25
        elif attr.kind == "bool":
            d.attr(name, True, False)
        else:
            d.attr(name, 0.25)
    if d.prototype.op_type == "ApplyAdamW" and d.inputs["max_grad_norm"][0].data is None:
        d.values["amsgrad"] = False
        d.attrs.pop("amsgrad", None)


def cell(x: Any) -> Any:
    array = np.asarray(x)
    return complex(array.ravel()[0]) if array.dtype.kind == "c" else float(array.ravel()[0])


def float_of(x: Any) -> Any:
    return x if x.dtype.kind == "c" else np.asarray(x, np.float64)


def given(dice: Dice, *names: str) -> list[Any]:
    """Tensors and numbers by name, in exact form."""
    found = []
    for name in names:
        if name in dice.attrs or (name in dice.values and name not in dice.inputs):
            found.append(dice.values[name])
            continue
        one = dice.inputs[name][0]
        exact = float_of(values.exact(one.data, one.spec.dtype))
        found.append(exact if name in TENSORS else cell(exact))
    return found


def answers(dice: Dice, *kept: Any) -> Any:
    """The variable and its slots, as outputs or in the inputs; integers toward zero, within their bounds."""
    if not values.is_int(dice.dtype):
        shaped = [Within(one, finite(np.abs(one)) * 1e-12 + 1e-30) for one in kept]
        if values.is_complex(dice.dtype):
            loose = {dtypes.COMPLEX128: 1e-11}.get(dice.dtype, 1e-4)
            shaped = [Within(one, finite(np.abs(one)) * loose + loose) for one in kept]
        return tuple(shaped)
    info = np.iinfo(values.logical(dice.dtype))

    def whole(one: float) -> int:
        if np.isnan(one):
            return 0
        return int(info.max if one >= float(info.max) else info.min if one <= float(info.min) else one)

    return tuple(np.array([whole(one) for one in result.ravel()], object).reshape(result.shape) for result in kept)


def shrink(p: Any, rate: Any, l1: Any, l2: Any) -> Any:
    return np.sign(p) * np.maximum(np.abs(p) - rate * l1, 0) / (1 + rate * l2)


@oracle("ApplyGradientDescent")
def descent(dice: Dice) -> Any:
    if values.is_int(dice.dtype):
        var, alpha, delta = (values.exact(dice.inputs[name][0].data, dice.dtype) for name in ("var", "alpha", "delta"))
        return var - int(alpha.ravel()[0]) * delta
    var, alpha, delta = given(dice, "var", "alpha", "delta")
    return answers(dice, var - alpha * delta)


@oracle("ApplyProximalGradientDescent")
def proximal(dice: Dice) -> Any:
    var, alpha, l1, l2, delta = given(dice, "var", "alpha", "l1", "l2", "delta")
    return answers(dice, shrink(var - alpha * delta, alpha, l1, l2))


@oracle("ApplyMomentum", "ApplyMomentumD")
def momentum(use_nesterov: bool, dice: Dice) -> Any:
    var, accum, lr, grad, decay = given(dice, "var", "accum", "lr", "grad", "momentum")
    accum = accum * decay + grad
    return answers(dice, var - lr * (grad + accum * decay) if use_nesterov else var - lr * accum, accum)


@oracle("ApplyKerasMomentum", "ApplyKerasMomentumD")
def keras(use_nesterov: bool, dice: Dice) -> Any:
    var, accum, lr, grad, decay = given(dice, "var", "accum", "lr", "grad", "momentum")
    accum = accum * decay - lr * grad
    return answers(dice, var + (accum * decay - lr * grad) if use_nesterov else var + accum, accum)


@oracle("ApplyPowerSign")
def power_sign(dice: Dice) -> Any:
    var, m, lr, base, decay, beta, grad = given(dice, "var", "m", "lr", "logbase", "sign_decay", "beta", "grad")
    m = beta * m + (1 - beta) * grad
    return answers(dice, var - lr * np.exp(base * decay * np.sign(grad) * np.sign(m)) * grad, m)


@oracle("ApplyAddSign")
def add_sign(dice: Dice) -> Any:
    var, m, lr, alpha, decay, beta, grad = given(dice, "var", "m", "lr", "alpha", "sign_decay", "beta", "grad")
    m = beta * m + (1 - beta) * grad
    return answers(dice, var - lr * (alpha + decay * np.sign(grad) * np.sign(m)) * grad, m)


@oracle("SGD")
def sgd(dampening: float, weight_decay: float, nesterov: bool, dice: Dice) -> Any:
    names = ("parameters", "gradient", "learning_rate", "accum", "momentum", "stat")
    var, grad, lr, accum, decay, stat = given(dice, *names)
    grad = grad + weight_decay * var
    accum = np.where(stat > 0, grad, decay * accum + (1 - dampening) * grad)
    return answers(dice, var - lr * (grad + decay * accum if nesterov else accum), accum, np.where(stat > 0, 0, stat))


def adam_moments(dice: Dice) -> Any:
    m, v, b1, b2, grad = given(dice, "m", "v", "beta1", "beta2", "grad")
    return b1 * m + (1 - b1) * grad, b2 * v + (1 - b2) * grad * grad


@oracle("ApplyAdam", "ApplyAdamD")
def adam(use_nesterov: bool, dice: Dice) -> Any:
    var, p1, p2, lr, b1, eps, grad = given(dice, "var", "beta1_power", "beta2_power", "lr", "beta1", "epsilon", "grad")
    m, v = adam_moments(dice)
    ahead = b1 * m + (1 - b1) * grad if use_nesterov else m
    return answers(dice, var - lr * np.sqrt(np.asarray(1 - p2)) / (1 - p1) * ahead / (np.sqrt(v) + eps), m, v)


@oracle("ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2", "ApplyAdamWithAmsgradD")
def amsgrad(dice: Dice) -> Any:
    var, top, p1, p2, lr, eps = given(dice, "var", "vhat", "beta1_power", "beta2_power", "lr", "epsilon")
    m, v = adam_moments(dice)
    top = np.maximum(top, v)
    return answers(dice, var - lr * np.sqrt(np.asarray(1 - p2)) / (1 - p1) * m / (np.sqrt(top) + eps), m, v, top)


@oracle("ApplyAdamW")
def adam_w(maximize: bool, dice: Dice) -> Any:
    var, m, v, grad = given(dice, "var", "m", "v", "grad")
    names = ("beta1_power", "beta2_power", "lr", "weight_decay", "beta1", "beta2", "epsilon")
    p1, p2, lr, decay, b1, b2, eps = given(dice, *names)
    grad = -grad if maximize else grad
    m, v = b1 * m + (1 - b1) * grad, b2 * v + (1 - b2) * grad * grad
    largest = np.maximum(given(dice, "max_grad_norm")[0], v) if dice.values.get("amsgrad") else v
    step = lr * m / (1 - p1) / (np.sqrt(largest / (1 - p2)) + eps)
    top = [] if dice.inputs["max_grad_norm"][0].data is None else given(dice, "max_grad_norm")
    kept = [largest] if dice.values.get("amsgrad") else top
    return answers(dice, var * (1 - lr * decay) - step, m, v, *kept)


@oracle("ApplyAdaMax", "ApplyAdaMaxD")
def ada_max(dice: Dice) -> Any:
    var, m, v, p1, lr = given(dice, "var", "m", "v", "beta1_power", "lr")
    b1, b2, eps, grad = given(dice, "beta1", "beta2", "epsilon", "grad")
    m, v = b1 * m + (1 - b1) * grad, np.maximum(b2 * v, np.abs(grad))
    return answers(dice, var - lr / (1 - p1) * m / (v + eps), m, v)


@oracle("ApplyAdadelta", "ApplyAdadeltaD")
def adadelta(dice: Dice) -> Any:
    var, accum, moved, lr, rho, eps, grad = given(dice, "var", "accum", "accum_update", "lr", "rho", "epsilon", "grad")
    accum = rho * accum + (1 - rho) * grad * grad
    update = np.sqrt(moved + eps) / np.sqrt(accum + eps) * grad
    return answers(dice, var - lr * update, accum, rho * moved + (1 - rho) * update * update)


@oracle("ApplyAdagrad", "ApplyAdagradD", "ApplyAdagradV2", "ApplyAdagradV2D")
def adagrad(update_slots: bool, dice: Dice) -> Any:
    var, accum, lr, grad = given(dice, "var", "accum", "lr", "grad")
    eps = given(dice, "epsilon")[0] if "V2" in dice.prototype.op_type else 0.0
    accum = accum + grad * grad if update_slots else accum
    return answers(dice, var - lr * grad / (np.sqrt(accum) + eps), accum)


@oracle("ApplyProximalAdagrad")
def proximal_adagrad(dice: Dice) -> Any:
    var, accum, lr, l1, l2, grad = given(dice, "var", "accum", "lr", "l1", "l2", "grad")
    accum = accum + grad * grad
    rate = lr / np.sqrt(accum)
    return answers(dice, shrink(var - rate * grad, rate, l1, l2), accum)


@oracle("ApplyRMSProp", "ApplyRMSPropD")
def rms_prop(dice: Dice) -> Any:
    var, ms, mom, lr, rho, decay, eps, grad = given(dice, "var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad")
    ms = rho * ms + (1 - rho) * grad * grad
    mom = decay * mom + lr * grad / np.sqrt(ms + eps)
    return answers(dice, var - mom, ms, mom)


@oracle("ApplyCenteredRMSProp", "ApplyCenteredRMSPropD")
def centered(dice: Dice) -> Any:
    var, mg, ms, mom, lr = given(dice, "var", "mg", "ms", "mom", "lr")
    rho, decay, eps, grad = given(dice, "rho", "momentum", "epsilon", "grad")
    mg, ms = rho * mg + (1 - rho) * grad, rho * ms + (1 - rho) * grad * grad
    mom = decay * mom + lr * grad / np.sqrt(ms - mg * mg + eps)
    return answers(dice, var - mom, mg, ms, mom)


@oracle("ApplyFtrl", "ApplyFtrlD")
def ftrl(dice: Dice) -> Any:
    var, accum, linear, grad = given(dice, "var", "accum", "linear", "grad")
    lr, l1, l2, power = given(dice, "lr", "l1", "l2", "lr_power")
    total = accum + grad * grad
    linear = linear + grad - (total ** (-power) - accum ** (-power)) / lr * var
    bent = (np.sign(linear) * l1 - linear) / (total ** (-power) / lr + 2 * l2)
    return answers(dice, np.where(np.abs(linear) > l1, bent, 0), total, linear)


@shapes("ApplyAdamV2")
def bert_call(d: Dice) -> None:
    shape = d.shape()
    for decl in d.generation.inputs:
        if decl.kind == "optional" and not d.optional(decl.name):
            continue
        if decl.name in ("var", "m", "v", "grad"):
            d.tensor(decl.name, np.asarray(d.rng.uniform(0.5 if decl.name == "v" else -3, 3, shape)))
        else:
            d.tensor(decl.name, np.array([d.choose(0.1, 0.3, 0.45)]))
    d.attr("adam_mode")


@oracle("ApplyAdamV2")
def bert(max_grad_norm: Any, dice: Dice) -> Any:
    var, m, v, grad = given(dice, "var", "m", "v", "grad")
    lr, b1, b2, eps, total, decay = given(dice, "lr", "beta1", "beta2", "epsilon", "global_grad_norm", "weight_decay")
    if max_grad_norm is not None and cell(max_grad_norm) < total + 1e-6:
        grad = grad * (cell(max_grad_norm) / (total + 1e-6))
    m, v = m + (1 - b1) * (grad - m), v + (1 - b2) * (grad**2 - v)
    return answers(dice, var - lr * m / (v**0.5 + eps) - lr * decay * var, m, v)
