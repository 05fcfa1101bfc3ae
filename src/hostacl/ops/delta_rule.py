"""The gated delta rule: a state that each step forgets a little of and corrects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.cache_writes import check_dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]


def rule_shape(call: Call) -> list[Shape]:
    """A result for each step as value, and the states."""
    steps, heads, width = rank_is(call, "query", 3)
    _, others, out = rank_is(call, "value", 3)
    check_dims(call, "key", (steps, heads, width))
    check_dims(call, "value", (steps, others, out))
    check_dims(call, "beta", (steps, others))
    state = rank_is(call, "state", 4)
    check_dims(call, "state", (state[0], others, out, width))
    if dims.known(heads, others) and (heads == 0 or others % heads):  # type: ignore[operator]
        told = f"query has {heads} heads, value {others}"
        raise call.refuse("HA504", f"{told}; allowed: for value a multiple of those of query.")
    check_dims(call, "ssm_state_indices", (steps,))
    (count,) = rank_is(call, "actual_seq_lengths", 1)
    for name, want in (("g", (steps, others)), ("gk", (steps, others, width)), ("num_accepted_tokens", (count,))):
        if call.has(name):
            check_dims(call, name, want)
    equal_dims(call, len(call.shape("actual_seq_lengths")), 1, "actual_seq_lengths: one for each sequence.")
    return [(steps, others, out), state]


@kernel("RecurrentGatedDeltaRule", shape=rule_shape)
def recurrent_gated_delta_rule(
    query: Array, key: Array, value: Array, beta: Array, state: Array, actual_seq_lengths: Array, ssm_state_indices: Array,
    g: Array | None, gk: Array | None, num_accepted_tokens: Array | None, scale_value: float, call: Call,
) -> tuple[Array, Array]:  # fmt: skip
    """Step by step S = S·e^g (·e^gk), S = S + beta·(value - S·key)·keyᵀ, and the result S·(scale_value·query), for each head.

    Sequences follow one after the other, actual_seq_lengths steps each. A sequence begins with the state that ssm_state_indices
    names at its first step (with num_accepted_tokens at that many steps, the last accepted one); after each step its state is
    written where ssm_state_indices says. Heads of query and key serve several of value.
    """
    steps, heads = query.shape[:2]
    lengths, group = actual_seq_lengths.ravel().tolist(), value.shape[1] // max(heads, 1)
    if min(lengths, default=0) < 0 or sum(lengths) > steps:
        told = f"actual_seq_lengths = {lengths}; allowed: 0 or more each, {steps} together at most"
        raise Failed("HA510", f"{call.op_type}: {told}.")
    places = checked_indices(call.op_type, ssm_state_indices, len(state), "ssm_state_indices")
    q, k = (np.repeat(part.astype(np.float64), group, axis=1) for part in (query, key))
    result, states, start = np.zeros(value.shape), state.astype(np.float64), 0
    for row, length in enumerate(lengths):
        first = start if num_accepted_tokens is None else start + int(num_accepted_tokens.ravel()[row]) - 1
        if length and not start <= first < start + length:
            told = f"num_accepted_tokens[{row}] = {first - start + 1}; allowed: 1 to {length}, the steps of the sequence"
            raise Failed("HA510", f"{call.op_type}: {told}.")
        current = states[places[first]].copy() if length else None
        for step in range(start, start + length):
            current = stepped(current, k[step], value[step], beta[step], decay(g, gk, step))
            result[step] = np.einsum("nvk,nk->nv", current, q[step] * scale_value)
            states[places[step]] = current
        start += length
    return result, states


def decay(g: Array | None, gk: Array | None, step: int) -> Any:
    """What the state is multiplied by, (heads, 1, features of the key or 1)."""
    factor: Any = 1.0 if g is None else np.exp(g[step].astype(np.float64))[:, None, None]
    return factor if gk is None else factor * np.exp(gk[step].astype(np.float64))[:, None, :]


def stepped(state: Any, key: Array, value: Array, beta: Array, factor: Any) -> Array:
    """The state after a step."""
    state = state * factor
    miss = (value - np.einsum("nvk,nk->nv", state, key)) * beta[:, None]
    return np.asarray(state + miss[:, :, None] * key[:, None, :])
