"""Recurrent layers step by step in float64; gradients are imaginary parts of the loss at inputs moved along i."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes

LSTM = ("DynamicRNN", "DynamicRNNV2")
STEP = 1e-30


def sizes(d: Dice, gates: int) -> dict[str, Any]:
    """Sizes and attributes that all layers have, and the mask of steps that count."""
    one = d.wants("one element")
    most = 2 if d.prototype.op_type.endswith("Grad") else 4
    v: dict[str, Any] = {"T": 1 if one else d.int(1, 3), "B": 1 if one else 0 if d.wants("empty") else d.int(1, 2)}
    v.update(I=1 if one else d.int(1, most), H=1 if one else d.int(1, most), gates=gates)
    if d.wants("long"):
        v["T"] = d.int(12, 20)
    v["back"] = d.attr("direction", "REDIRECTIONAL") == "REDIRECTIONAL"
    v["major"] = d.attr("time_major", False)
    v["order"] = d.attr("gate_order", "ifjo" if gates == 4 else "rzh") or "ijfo"
    return v


def draw(d: Dice, name: str, *shape: int) -> Any:
    """A tensor of ordinary numbers; what it holds once rounded."""
    return d.tensor(name, np.asarray(d.rng.uniform(-1, 1, shape))).astype(np.float64)


def timed(array: Any, v: dict[str, Any]) -> Any:
    return array if v["major"] else np.swapaxes(array, 0, 1)


def lengths(d: Dice, v: dict[str, Any]) -> None:
    """seq_length, as numbers or as a mask."""
    v["mask"] = np.ones((v["T"], v["B"], 1), bool)
    if not d.optional("seq_length"):
        return
    whole = d.prototype.op_type.endswith("Grad") or d.chance()
    count = d.rng.integers(0, v["T"] + 1, v["B"])
    v["mask"] = np.arange(v["T"])[:, None, None] < count[:, None]
    if whole:
        d.tensor("seq_length", count, dtype=dtypes.INT32)
    else:
        d.tensor("seq_length", np.repeat(v["mask"], v["H"], 2), dtype=dtypes.FLOAT16)


def absent(d: Dice, *names: str) -> None:
    """Inputs that are never given."""
    for name in names:
        d.wants("optional absent", d.decl(name) is not None)


def walk(v: dict[str, Any], cell: Callable[..., Any], x: Any, *states: Any) -> dict[str, list[Any]]:
    """A layer: cell(x, *states) gives what it keeps by name, the new states first."""
    kept: dict[str, list[Any]] = {}
    order = range(v["T"])[::-1] if v["back"] else range(v["T"])
    found = {}
    for t in order:
        new = cell(x[t], *states)
        mask = v["mask"][t]
        fresh = list(new.values())[: len(states)]
        states = tuple(np.where(mask, one, old) for one, old in zip(fresh, states, strict=True))
        found[t] = {"y": np.where(mask, fresh[0], 0), **new, **dict(zip(list(new)[: len(states)], states, strict=True))}
    for t in range(v["T"]):
        for name, value in found[t].items():
            kept.setdefault(name, []).append(value)
    return kept


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(v: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    """The outputs with steps in front, from x, wx, wh, b and the first states."""
    place = {gate: slice(k * v["H"], (k + 1) * v["H"]) for k, gate in enumerate(v["order"])}

    def cell(x: Any, h: Any, c: Any) -> dict[str, Any]:
        a = x @ p["wx"] + h @ p["wh"] + p["b"]
        i, j = sigmoid(a[:, place["i"]]), np.tanh(a[:, place["j"]])
        f, o = sigmoid(a[:, place["f"]] + v.get("forget_bias", 0.0)), sigmoid(a[:, place["o"]])
        new = c * f + i * j
        if v.get("clip", -1) > 0:
            new = np.minimum(np.maximum(new, -v["clip"]), v["clip"])
        return {"h": o * np.tanh(new), "c": new, "i": i, "j": j, "f": f, "o": o, "tanhc": np.tanh(new)}

    return {name: stacked(value, v) for name, value in walk(v, cell, p["x"], p["h0"], p["c0"]).items()}


def gru(v: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    """The outputs with steps in front."""
    place = {gate: slice(k * v["H"], (k + 1) * v["H"]) for k, gate in enumerate(v["order"])}

    def cell(x: Any, h: Any) -> dict[str, Any]:
        a, b = x @ p["wx"] + p["b"], h @ p["wh"] + p["bh"]
        z, r = sigmoid(a[:, place["z"]] + b[:, place["z"]]), sigmoid(a[:, place["r"]] + b[:, place["r"]])
        if v["after"]:
            inner = b[:, place["h"]]
            n = np.tanh(a[:, place["h"]] + r * inner)
        else:
            inner = (r * h) @ p["wh"][:, place["h"]] + p["bh"][place["h"]]
            n = np.tanh(a[:, place["h"]] + inner)
        return {"h": n + z * (h - n), "update": z, "reset": r, "new": n, "inner": inner}

    return {name: stacked(value, v) for name, value in walk(v, cell, p["x"], p["h0"]).items()}


def stacked(value: list[Any], v: dict[str, Any]) -> Any:
    return np.stack(value) if value else np.zeros((0, v["B"], v["H"]))


def derivative(run: Callable[..., Any], v: dict[str, Any], p: dict[str, Any], name: str, weights: dict[str, Any]) -> Any:
    """The derivative of the sum of outputs times weights by each element of a parameter."""
    result = np.zeros(p[name].shape)
    for place in np.ndindex(*result.shape):
        moved = p[name].astype(np.complex128)
        moved[place] += STEP * 1j
        outputs = run(v, {**p, name: moved})
        result[place] = sum(np.sum(outputs[key] * weight) for key, weight in weights.items()).imag / STEP
    return result


def first_states(d: Dice, v: dict[str, Any], *names: str) -> list[Any]:
    """The first states, which may be left out in a forward pass."""
    found = []
    for name in names:
        given = d.prototype.op_type.endswith("Grad") or d.optional(name)
        shape = (1, v["B"], v["H"]) if d.chance() else (v["B"], v["H"])
        found.append(draw(d, name, *shape).reshape(v["B"], v["H"]) if given else np.zeros((v["B"], v["H"])))
    return found


def x_of(d: Dice, v: dict[str, Any]) -> Any:
    lead = (v["T"], v["B"]) if v["major"] else (v["B"], v["T"])
    return timed(draw(d, "x", *lead, v["I"]), v)


@shapes(*LSTM)
def lstm_call(d: Dice) -> None:
    v = sizes(d, 4)
    p: dict[str, Any] = {"x": x_of(d, v)}
    width = 4 * v["H"]
    if d.prototype.op_type == "DynamicRNN":
        w = draw(d, "w", v["I"] + v["H"], width)
        p.update(wx=w[: v["I"]], wh=w[v["I"] :])
    else:
        p.update(wx=draw(d, "weight_input", v["I"], width), wh=draw(d, "weight_hidden", v["H"], width))
    given = d.prototype.op_type == "DynamicRNN" or d.optional("b")
    p["b"] = draw(d, "b", width) if given else np.zeros(width)
    p["h0"], p["c0"] = first_states(d, v, "init_h", "init_c")
    lengths(d, v)
    absent(d, "wci", "wcf", "wco", "mask")
    v.update(forget_bias=d.attr("forget_bias", 1.0), clip=d.attr("cell_clip", 0.25))
    d.values.update(v=v, p=p)
    for name in ("y", "output_h", "output_c", "i", "j", "f", "o", "tanhc"):
        d.output(name, d.choose(dtypes.FLOAT, dtypes.FLOAT16))


def near(value: Any, slack: float = 1e-5) -> Within:
    return Within(value, slack)


@oracle(*LSTM)
def lstm_outputs(dice: Dice) -> Any:
    v, found = dice.values["v"], lstm(dice.values["v"], dice.values["p"])
    return tuple(near(timed(found[name], v)) for name in ("y", "h", "c", "i", "j", "f", "o", "tanhc"))


def saved(d: Dice, v: dict[str, Any], found: dict[str, Any], names: dict[str, str]) -> None:
    """What the forward pass kept."""
    for name, key in names.items():
        d.tensor(name, np.ascontiguousarray(timed(found[key], v)))


def gradients_of(d: Dice, v: dict[str, Any], states: dict[str, str]) -> dict[str, Any]:
    """The gradients of y and of the states, every step or the last."""
    weights = {"y": timed(draw(d, "dy", *timed(np.zeros((v["T"], v["B"], v["H"])), v).shape), v)}
    for name, key in states.items():
        if d.chance():
            weights[key] = timed(draw(d, name, *timed(np.zeros((v["T"], v["B"], v["H"])), v).shape), v)
        else:
            weights[key] = np.zeros((v["T"], v["B"], v["H"]))
            weights[key][0 if v["back"] else -1] = draw(d, name, v["B"], v["H"])
    return weights


@shapes("DynamicRNNGrad", "DynamicRNNV2Grad")
def lstm_gradient_call(d: Dice) -> None:
    v = sizes(d, 4)
    v["T"] = min(v["T"], 4)
    p: dict[str, Any] = {"x": x_of(d, v)}
    width = 4 * v["H"]
    if d.prototype.op_type == "DynamicRNNGrad":
        w = draw(d, "w", v["I"] + v["H"], width)
        p.update(wx=w[: v["I"]], wh=w[v["I"] :], b=draw(d, "b", width))
    else:
        p.update(wx=draw(d, "w_x", v["I"], width), wh=draw(d, "w_h", v["H"], width), b=np.zeros(width))
    p["h0"], p["c0"] = first_states(d, v, "init_h", "init_c")
    lengths(d, v)
    absent(d, "wci", "wcf", "wco", "mask")
    found = lstm(v, p)
    saved(d, v, found, {"y": "y", "h": "h", "c": "c", "i": "i", "j": "j", "f": "f", "o": "o"})
    if d.prototype.op_type == "DynamicRNNV2Grad" or d.optional("tanhct"):
        saved(d, v, found, {"tanhct": "tanhc"})
    d.values.update(v=v, p=p, weights=gradients_of(d, v, {"dh": "h", "dc": "c"}))
    v["slack"] = 0.05 if d.dtype == dtypes.FLOAT16 else 2e-5


def shaped(dice: Dice, name: str, value: Any) -> Any:
    """A gradient in the shape of its tensor."""
    return value.reshape(dice.inputs[name][0].spec.shape)


@oracle("DynamicRNNGrad", "DynamicRNNV2Grad")
def lstm_gradients(dice: Dice) -> Any:
    v, p, weights = (dice.values[name] for name in ("v", "p", "weights"))
    by = {name: derivative(lstm, v, p, name, weights) for name in ("wx", "wh", "b", "x", "h0", "c0")}
    front = [np.concatenate([by["wx"], by["wh"]])] if "w" in dice.inputs else [by["wx"], by["wh"]]
    states = [shaped(dice, "init_h", by["h0"]), shaped(dice, "init_c", by["c0"])]
    return (*(near(one, v["slack"]) for one in (*front, by["b"], timed(by["x"], v), *states)), [], [], [])


@shapes("DynamicGRUV2")
def gru_call(d: Dice) -> None:
    v = sizes(d, 3)
    width = 3 * v["H"]
    p = {"x": x_of(d, v), "wx": draw(d, "weight_input", v["I"], width), "wh": draw(d, "weight_hidden", v["H"], width)}
    for name, key in (("bias_input", "b"), ("bias_hidden", "bh")):
        p[key] = draw(d, name, width) if d.optional(name) else np.zeros(width)
    (p["h0"],) = first_states(d, v, "init_h")
    lengths(d, v)
    v["after"] = d.attr("reset_after", False)
    d.values.update(v=v, p=p)
    for name in ("y", "output_h", "update", "reset", "new", "hidden_new"):
        d.output(name, d.choose(dtypes.FLOAT, dtypes.FLOAT16))


@oracle("DynamicGRUV2")
def gru_outputs(dice: Dice) -> Any:
    v, found = dice.values["v"], gru(dice.values["v"], dice.values["p"])
    return tuple(near(timed(found[name], v)) for name in ("y", "h", "update", "reset", "new", "inner"))


@shapes("DynamicGRUV2Grad")
def gru_gradient_call(d: Dice) -> None:
    v = sizes(d, 3)
    v["T"], width = min(v["T"], 4), 3 * v["H"]
    p = {"x": x_of(d, v), "wx": draw(d, "weight_input", v["I"], width), "wh": draw(d, "weight_hidden", v["H"], width)}
    p.update(b=d.rng.uniform(-1, 1, width), bh=d.rng.uniform(-1, 1, width))
    (p["h0"],) = first_states(d, v, "init_h")
    lengths(d, v)
    absent(d, "mask")
    v["after"] = d.attr("reset_after", False)
    names = {"y": "y", "h": "h", "update": "update", "reset": "reset", "new": "new", "hidden_new": "inner"}
    saved(d, v, gru(v, p), names)
    d.values.update(v=v, p=p, weights=gradients_of(d, v, {"dh": "h"}))
    v["slack"] = 0.05 if d.dtype == dtypes.FLOAT16 else 2e-5


@oracle("DynamicGRUV2Grad")
def gru_gradients(dice: Dice) -> Any:
    v, p, weights = (dice.values[name] for name in ("v", "p", "weights"))
    by = {name: derivative(gru, v, p, name, weights) for name in ("wx", "wh", "b", "bh", "x", "h0")}
    results = by["wx"], by["wh"], by["b"], by["bh"], timed(by["x"], v), shaped(dice, "init_h", by["h0"])
    return tuple(near(one, v["slack"]) for one in results)


@shapes("CTCLossV2", "CTCLossV2Grad")
def ctc_call(d: Dice) -> None:
    one = d.wants("one element")
    steps, batch, classes = (1, 1, 2) if one else (d.int(1, 5), 0 if d.wants("empty") else d.int(1, 2), d.int(2, 4))
    longest = 1 if one else d.int(1, 3)
    blank = d.attr("blank", 1)
    d.attr("reduction", "sum", "none")
    d.attr("zero_infinity", True)
    counts = d.rng.integers(0, longest + 1, batch)
    targets = (d.rng.integers(1, classes, (batch, longest)) + blank) % classes
    scores = d.rng.normal(0, 1, (steps, batch, classes))
    scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
    backward = d.prototype.op_type.endswith("Grad")
    if backward:
        d.tensor("grad_out", d.rng.uniform(-1, 1, batch))
    probs = d.tensor("log_probs", scores).astype(np.float64)
    flat = np.concatenate([row[:count] for row, count in zip(targets, counts, strict=True)]) if batch else np.zeros(0)
    whole = d.choose(dtypes.INT32, dtypes.INT64)
    d.tensor("targets", flat if d.chance() else targets, dtype=whole)
    inputs = d.rng.integers(0, steps + 1, batch) if d.chance() else np.full(batch, steps)
    d.tensor("input_lengths", inputs, dtype=whole)
    d.tensor("target_lengths", counts, dtype=whole)
    v = {"blank": blank, "targets": [list(row[:count]) for row, count in zip(targets, counts, strict=True)], "inputs": inputs}
    v.update(states=2 * longest + 1 + d.choose(0, 3), probs=probs)
    found = [ctc(probs[:, n], v, n) for n in range(batch)]
    if backward:
        d.tensor("neg_log_likelihood", np.array([loss for loss, _ in found]).reshape(batch))
        d.tensor("log_alpha", np.array([alpha for _, alpha in found]).reshape(batch, steps, v["states"]))
    d.values.update(v=v, found=found)


def ctc(probs: Any, v: dict[str, Any], n: int) -> tuple[Any, Any]:
    """The loss of one target, and the logarithms of the ways up to each state, by adding probabilities."""
    labels = [v["blank"]]
    for label in v["targets"][n]:
        labels += [label, v["blank"]]
    ways = np.zeros((len(probs), v["states"]), probs.dtype)
    for t in range(int(v["inputs"][n])):
        for s, label in enumerate(labels):
            if t == 0:
                total = float(s < 2)
            else:
                total = ways[t - 1, s] + (ways[t - 1, s - 1] if s else 0)
                if s > 1 and label not in (v["blank"], labels[s - 2]):
                    total = total + ways[t - 1, s - 2]
            ways[t, s] = total * np.exp(probs[t, label])
    with np.errstate(divide="ignore"):
        logs = np.log(ways)
        if v["inputs"][n] == 0:
            return (0.0 if len(labels) == 1 else np.inf), logs
        last = ways[int(v["inputs"][n]) - 1]
        return -np.log(last[len(labels) - 1] + (last[len(labels) - 2] if len(labels) > 1 else 0)), logs


@oracle("CTCLossV2")
def ctc_loss(zero_infinity: bool, dice: Dice) -> Any:
    v, found = dice.values["v"], dice.values["found"]
    losses = np.array([0.0 if zero_infinity and np.isinf(loss) else loss for loss, _ in found])
    alpha = np.array([alpha for _, alpha in found]).reshape(len(found), len(v["probs"]), v["states"])
    return near(losses, 2e-6), near(alpha, 2e-6)


@oracle("CTCLossV2Grad")
def ctc_gradient(grad_out: Any, zero_infinity: bool, dice: Dice) -> Any:
    """By the scores: the loss of their log-softmax, moved along i."""
    v = dice.values["v"]
    result = np.zeros(v["probs"].shape)
    for t, n, c in np.ndindex(*result.shape):
        loss, _ = dice.values["found"][n]
        if t >= v["inputs"][n] or (zero_infinity and np.isinf(loss)):
            continue
        if np.isinf(loss):
            result[t, n, c] = np.nan
            continue
        moved = v["probs"][:, n].astype(np.complex128)
        moved[t, c] += STEP * 1j
        moved[t] -= np.log(np.exp(moved[t]).sum()) - np.log(np.exp(v["probs"][t, n]).sum())
        result[t, n, c] = ctc(moved, v, n)[0].imag / STEP * grad_out[n]
    return near(result, 2e-5)
