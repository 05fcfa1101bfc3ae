"""Recurrent layers, step by step with torch's own cells; connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.clients.torch_autograd.support import Array, Case, Draw, exact, gradient, leaf, numpy_of, pulled, torch

F = torch.nn.functional
STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 2, 5


def columns(weight: Any, order: str, wanted: str) -> Any:
    """The gates of a weight or bias in torch's order, as its cells take them: a row for each number of the gates."""
    parts = weight.chunk(len(order), -1)
    turned = torch.cat([parts[order.index(gate)] for gate in wanted], -1)
    return turned.T if turned.ndim == 2 else turned


def where(counts: Any, step: int, new: Any, old: Any) -> Any:
    """The new state of the sequences that this step belongs to."""
    return new if counts is None else torch.where((step < counts)[:, None], new, old)


class Layer:
    """What both kinds have: sizes, order of the steps, lengths, and tensors as the call lays them out."""

    def __init__(self, d: Draw, form: dict[str, Any]) -> None:
        self.form = form
        self.x, self.first_h = d.normal(STEPS, BATCH, FEATURES), d.normal(1, BATCH, HIDDEN)
        self.lengths = np.array([STEPS, 1, 2], np.int32) if form.get("lengths") else None
        self.counts = None if self.lengths is None else exact(self.lengths)
        back = form.get("direction") == "REDIRECTIONAL"
        self.order = range(STEPS - 1, -1, -1) if back else range(STEPS)
        self.last = self.order[-1]
        self.dy = d.normal(STEPS, BATCH, HIDDEN)
        self.major = form.get("time_major", True)

    def states(self, d: Draw) -> Array:
        """The gradient of a state: at every step, or of the last one."""
        return d.normal(STEPS, BATCH, HIDDEN) if self.form.get("every") else d.normal(BATCH, HIDDEN)

    def reached(self, states: list[Any], given: Array) -> Any:
        """The states that a gradient of states belongs to."""
        return torch.stack(states) if given.ndim == 3 else states[self.last]

    def laid(self, one: Any) -> Any:
        """A tensor with steps in front as the call has it."""
        if self.major or one is None or one.ndim != 3 or one.shape[0] != STEPS:
            return one
        return np.ascontiguousarray(one.swapaxes(0, 1)) if isinstance(one, np.ndarray) else one.transpose(0, 1)

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that every operator has."""
        return {name: self.form[name] for name in ("direction", "gate_order", "time_major", "reset_after") if name in self.form}


LSTMS: tuple[dict[str, Any], ...] = (
    {}, {"every": True}, {"direction": "REDIRECTIONAL"}, {"lengths": True}, {"gate_order": "ifjo", "every": True},
    {"lengths": True, "direction": "REDIRECTIONAL", "every": True}, {"time_major": False, "every": True},
)  # fmt: skip


@gradient("DynamicRNNGrad", "DynamicRNNV2Grad")
def lstm(d: Draw) -> Iterator[Case]:
    for form in LSTMS:
        one, order = Layer(d, form), form.get("gate_order", "ijfo")
        w_x, w_h, b = d.normal(FEATURES, 4 * HIDDEN), d.normal(HIDDEN, 4 * HIDDEN, spread=0.5), d.normal(4 * HIDDEN)
        first_c = d.normal(1, BATCH, HIDDEN)
        leaves = [leaf(each) for each in (w_x, w_h, b, one.x, one.first_h, first_c)]
        weights = [columns(each, order, "ifjo") for each in leaves[:3]]
        h, c, kept = leaves[4][0], leaves[5][0], {}
        for step in one.order:
            x = leaves[3][step]
            gates = F.linear(x, weights[0], weights[2]) + F.linear(h, weights[1])
            i, f, j, o = gates.chunk(4, -1)
            new_h, new_c = torch._VF.lstm_cell(x, (h, c), weights[0], weights[1], weights[2], torch.zeros_like(weights[2]))
            y = where(one.counts, step, new_h, torch.zeros_like(h))
            h, c = where(one.counts, step, new_h, h), where(one.counts, step, new_c, c)
            kept[step] = (y, h, c, i.sigmoid(), j.tanh(), f.sigmoid(), o.sigmoid(), new_c.tanh())
        states = [[kept[step][place] for step in range(STEPS)] for place in range(8)]
        saved = [one.laid(d.typed(numpy_of(torch.stack(each)))) for each in states]
        dh, dc = one.states(d), one.states(d)
        results = (torch.stack(states[0]), one.reached(states[1], dh), one.reached(states[2], dc))
        dw_x, dw_h, db, dx, dh_first, dc_first = pulled(results, (one.dy, dh, dc), *leaves)
        want = [db, one.laid(dx), dh_first, dc_first]
        arriving = [one.laid(each) for each in (one.x, one.dy, dh, dc)]
        middle = [saved[0], one.first_h, first_c, *saved[1:3], *arriving[1:], *saved[3:]]
        if d.op == "DynamicRNNGrad":
            inputs = [arriving[0], np.concatenate([w_x, w_h]), b, *middle, one.lengths]
            yield Case(inputs, [torch.cat([dw_x, dw_h]), *want], one.attrs, rounded=True, times=6)
        else:
            yield Case([arriving[0], w_x, w_h, *middle, one.lengths], [dw_x, dw_h, *want], one.attrs, rounded=True, times=6)


GRUS: tuple[dict[str, Any], ...] = (
    {}, {"every": True}, {"direction": "REDIRECTIONAL"}, {"lengths": True}, {"gate_order": "rzh", "every": True},
    {"lengths": True, "direction": "REDIRECTIONAL", "every": True}, {"time_major": False}, {"reset_after": False},
    {"reset_after": False, "gate_order": "rzh", "lengths": True},
)  # fmt: skip


@gradient("DynamicGRUV2Grad")
def gru(d: Draw) -> Iterator[Case]:
    """torch's cell resets after the product; the other kind is written out."""
    for form in GRUS:
        one, order = Layer(d, form), form.get("gate_order", "zrh")
        w_x, w_h = d.normal(FEATURES, 3 * HIDDEN), d.normal(HIDDEN, 3 * HIDDEN, spread=0.5)
        leaves = [leaf(each) for each in (w_x, w_h, d.normal(3 * HIDDEN), d.normal(3 * HIDDEN), one.x, one.first_h)]
        weights = [columns(each, order, "rzh") for each in leaves[:4]]
        h, kept = leaves[5][0], {}
        for step in one.order:
            x = leaves[4][step]
            outer, inner = F.linear(x, weights[0], weights[2]), F.linear(h, weights[1], weights[3])
            (r, z, to_new), (r_h, z_h, hidden_new) = outer.chunk(3, -1), inner.chunk(3, -1)
            r, z = (r + r_h).sigmoid(), (z + z_h).sigmoid()
            if form.get("reset_after", True):
                new = (to_new + r * hidden_new).tanh()
                state = torch._VF.gru_cell(x, h, weights[0], weights[1], weights[2], weights[3])
            else:
                hidden_new = F.linear(r * h, weights[1][2 * HIDDEN :], weights[3][2 * HIDDEN :])
                new = (to_new + hidden_new).tanh()
                state = (1 - z) * new + z * h
            y = where(one.counts, step, state, torch.zeros_like(h))
            h = where(one.counts, step, state, h)
            kept[step] = (y, h, z, r, new, hidden_new)
        states = [[kept[step][place] for step in range(STEPS)] for place in range(6)]
        saved = [one.laid(d.typed(numpy_of(torch.stack(each)))) for each in states]
        dh = one.states(d)
        results = (torch.stack(states[0]), one.reached(states[1], dh))
        dw_x, dw_h, db_x, db_h, dx, dh_first = pulled(results, (one.dy, dh), *leaves)
        arriving = [one.laid(one.dy), one.laid(dh)]
        inputs = [one.laid(one.x), w_x, w_h, saved[0], one.first_h, saved[1], *arriving, *saved[2:], one.lengths]
        yield Case(inputs, [dw_x, dw_h, db_x, db_h, one.laid(dx), dh_first], one.attrs, rounded=True, times=6)


@gradient("CTCLossV2Grad")
def temporal_classes(d: Draw) -> Iterator[Case]:
    """log_probs are a log-softmax: torch's gradient, too, is that by what they are made of."""
    for blank, kind in ((0, np.int64), (3, np.int32)):
        for zero_infinity in (False, True):
            steps, batch, classes, longest = 8, 3, 5, 3
            scores = torch.log_softmax(exact(d.normal(steps, batch, classes)), -1)
            log_probs = d.typed(numpy_of(scores))
            labels = [one for one in range(classes) if one != blank]
            targets = np.array(labels, kind)[d.whole(0, classes - 1, batch, longest)]
            lengths = np.array([8, 6, 2 if zero_infinity else 7], kind)  # 2 steps are too few for 3 labels
            sizes = np.array([3, 1, 3 if zero_infinity else 2], kind)
            at = leaf(log_probs)
            loss, alpha = torch._ctc_loss(
                at, exact(targets).long(), exact(lengths).tolist(), exact(sizes).tolist(), blank, zero_infinity
            )
            dy = d.normal(batch)
            attrs = {"blank": blank, "reduction": "none", "zero_infinity": zero_infinity}
            saved = [d.typed(numpy_of(loss)), d.typed(numpy_of(alpha))]
            inputs = [dy, log_probs, targets, lengths, sizes, *saved]
            yield Case(inputs, pulled(loss, dy, at), attrs, rounded=True, times=64)
