"""Random numbers: uniform, normal, 0 or 1, permutations, drawn categories; each a function of its seed and counter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims, philox
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is, sizes, unknown_sizes
from hostacl.tensors import dtypes

Array = NDArray[Any]

FRACTION = {dtypes.FLOAT16: 10, dtypes.BF16: 7, dtypes.FLOAT: 23, dtypes.DOUBLE: 52}
"""Random bits of a uniform number by dtype."""

PHILOX, AUTO = 1, 3
"""The algorithm numbers that mean Philox; 2 would be ThreeFry."""

_draws = itertools.count()


def next_draw() -> int:
    """How many draws came before this one: what tells apart the calls of an operator that has no counter."""
    return next(_draws)


def whole(value: Any) -> int:
    """An integer from a value input or attribute of one element."""
    return int(np.asarray(value).reshape(()))


def shape_named(call: Call) -> Shape:
    """The dims that the input ``shape`` gives."""
    return sizes(call, "shape") if call.known("shape") else unknown_sizes(call, "shape")


def one_element(call: Call, *names: str) -> None:
    """Refuses inputs with another number of elements than one."""
    for name in names:
        count_is(call, name, 1)


def count_is(call: Call, name: str, count: int) -> None:
    """Refuses an input that has another number of elements."""
    size = dims.count(call.shape(name))
    if isinstance(size, int) and size != count:
        raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: {count} elements.")


def probability(call: Call, name: str = "prob") -> None:
    """Refuses a probability outside 0 to 1, once it is known."""
    one_element(call, name)
    if call.known(name):
        value = float(np.asarray(call.value(name), np.float64).reshape(()))
        if not 0 <= value <= 1:
            raise call.refuse("HA519", f"{name} = {value:g}; allowed: 0 to 1.")


def stateless_shape(call: Call) -> Shape:
    """The dims named; key, counter and algorithm as Philox takes them."""
    one_element(call, "key", "alg")
    count_is(call, "counter", 2)
    if call.known("alg") and (alg := call.scalar("alg")) not in (PHILOX, AUTO):
        raise call.refuse("HA519", f"alg = {alg}; allowed: {PHILOX} (Philox) and {AUTO} (chosen here: Philox).")
    return shape_named(call)


def float_bits(out: tuple[Out, ...]) -> int:
    """How many random bits a number of the output's type has."""
    return FRACTION.get(out[0].code, 23)


def placed(shape: Any) -> tuple[int, ...]:
    """The dims that a value input holds."""
    return tuple(int(size) for size in np.ravel(shape))


@kernel("StatelessRandomUniformV2", shape=stateless_shape, values=("shape", "alg"))
def stateless_random_uniform_v2(shape: Any, key: Array, counter: Array, out: tuple[Out, ...]) -> Array:
    """Numbers in [0, 1) by Philox 4x32-10 of the key and the 128-bit counter, one counter for four words, as TensorFlow.

    float32 takes 23 bits of a word, float16 10, bfloat16 7, float64 52 of two words. Equal keys and counters
    give equal numbers.
    """
    where, bits = placed(shape), float_bits(out)
    each = 2 if bits == 52 else 1
    result = np.empty(int(np.prod(where)), np.float64 if bits == 52 else np.float32)
    count = result.size * each
    for place, words in philox.blocks(count + count % 2, whole(key), philox.counter_of(*map(int, counter.ravel()))):
        result[place.start // each : place.stop // each] = philox.uniform(words, bits)[: result.size - place.start // each]
    return result.reshape(where)


@kernel("StatelessRandomNormalV2", shape=stateless_shape, values=("shape", "alg"))
def stateless_random_normal_v2(shape: Any, key: Array, counter: Array, out: tuple[Out, ...]) -> Array:
    """Numbers of mean 0 and variance 1: Box and Muller's of the uniform ones that the same words give, as TensorFlow.

    Half types have the numbers of float32, rounded; float64 takes four words for two numbers.
    """
    where = placed(shape)
    wide = out[0].code == dtypes.DOUBLE
    bits, each = (52, 2) if wide else (23, 1)
    result = np.empty(int(np.prod(where)), np.float64 if wide else np.float32)
    count = -(-result.size * each // 4) * 4
    for place, words in philox.blocks(count, whole(key), philox.counter_of(*map(int, counter.ravel()))):
        pairs = philox.uniform(words, bits).reshape(-1, 2)
        numbers = np.stack(philox.normal(pairs[:, 0], pairs[:, 1], 1e-7), axis=1).ravel()
        start = place.start // each
        result[start : start + numbers.size] = numbers[: result.size - start]
    return result.reshape(where)


def bernoulli_shape(call: Call) -> Shape:
    """The dims named; one seed and offset, one probability or one for each element."""
    one_element(call, "seed", "offset")
    shape, count = shape_named(call), dims.count(call.shape("prob"))
    if call.known("shape") and (dims.count(shape) != count or not isinstance(count, int)):
        probability(call)
    return shape


def draws(count: int, prob: Array, key: int, counter: int) -> Array:
    """0 or 1, 1 with this probability (one, or one for each): a word below prob · 2^32; for float64 52 bits of two words."""
    wide = prob.dtype == np.float64
    bits = 52 if wide else 32
    limit = np.broadcast_to(np.rint(prob.astype(np.float64).ravel() * 2.0**bits), (count,))
    result, each = np.empty(count, bool), 2 if wide else 1
    for place, words in philox.blocks(count * each, key, counter):
        inside = slice(place.start // each, place.stop // each)
        numbers = philox.uniform(words, 52) * 2.0**52 if wide else words.astype(np.float64)
        result[inside] = numbers < limit[inside]
    return result


@kernel("StatelessBernoulli", shape=bernoulli_shape, values=("shape", "prob"))
def stateless_bernoulli(shape: Any, prob: Array, seed: Array, offset: Array) -> Array:
    """0 or 1, 1 with probability ``prob``, one or one for each: by Philox, the seed its key and the offset its counter."""
    where = placed(shape)
    check_probabilities("StatelessBernoulli", prob, "prob")
    return draws(int(np.prod(where)), prob, philox.key_of(whole(seed)), philox.counter_of(whole(offset))).reshape(where)


def bernoulli_v2_shape(call: Call) -> Shape:
    """The shape of x; one seed and offset."""
    one_element(call, "seed", "offset")
    return call.shape("x")


@kernel("StatelessBernoulliV2", shape=bernoulli_v2_shape)
def stateless_bernoulli_v2(x: Array, seed: Array, offset: Array) -> Array:
    """0 or 1, 1 with the probability that x has there; a probability outside 0 to 1 fails."""
    check_probabilities("StatelessBernoulliV2", x)
    return draws(x.size, x, philox.key_of(whole(seed)), philox.counter_of(whole(offset))).reshape(x.shape)


def check_probabilities(op: str, x: Array, name: str = "x") -> None:
    """Fails for a probability outside 0 to 1."""
    wrong = ~((x >= 0) & (x <= 1))
    if wrong.any():
        place = tuple(int(one) for one in np.argwhere(wrong)[0])
        raise Failed("HA519", f"{op}: {name}{list(place)} = {x[place]:g}; allowed: 0 to 1.")


def permutation_shape(call: Call) -> Shape:
    """(n,)"""
    one_element(call, "n", "seed", "offset")
    if not call.known("n"):
        return (Between(),)
    (size,) = sizes(call, "n")
    code = call.operator.output_dtypes(call)[0]
    limit = EXACT_UP_TO.get(code)
    if limit is not None and size > limit:
        raise call.refuse("HA519", f"n = {size}; {dtypes.ge_name(code)} tells only {limit} numbers apart. Use a wider dtype.")
    return (size,)


EXACT_UP_TO = {
    dtypes.UINT8: 1 << 8, dtypes.INT8: 1 << 7, dtypes.INT16: 1 << 15, dtypes.INT32: 1 << 31, dtypes.FLOAT16: (1 << 11) + 1,
    dtypes.FLOAT: (1 << 24) + 1,
}  # fmt: skip
"""How many numbers from 0 on a dtype holds."""


@kernel("StatelessRandperm", shape=permutation_shape, values=("n",))
def stateless_randperm(n: Array, seed: Array, offset: Array) -> Array:
    """The numbers 0 to n - 1 in random order: that of n pairs of Philox words; the seed is the key, the offset the counter."""
    return random_order(whole(n), philox.key_of(whole(seed)), philox.counter_of(whole(offset)))


def random_order(count: int, key: int, counter: int) -> Array:
    """A random order of so many things."""
    order: Array = np.argsort(philox.words(2 * count, key, counter).view(np.uint64), kind="stable")
    return order


def chosen_shape(call: Call) -> list[Shape]:
    """(count, rank) and (count,); for count 0 as many as x has true elements."""
    shape = rank_is(call, "x", 1, 2, 3, 4, 5)
    count = call.attr("count")
    if count < 0:
        raise call.refuse("HA508", f"count = {count}; allowed: 0 (all) or more.")
    most = dims.bounds(dims.count(shape))[1]
    size = count or Between(0, most)
    return [(size, len(shape)), (size,)]


@kernel("RandomChoiceWithMask", shape=chosen_shape)
def random_choice_with_mask(x: Array, count: int, seed: int, seed2: int) -> tuple[Array, Array]:
    """Places of ``count`` true elements of x in random order, each once, and a mask of which are there.

    With fewer true ones the rest of the places is 0 and the mask false there. Each call goes on with the seeds' numbers.
    """
    places = np.argwhere(x)
    order = random_order(len(places), philox.key_of(seed, seed2), philox.counter_of(0, next_draw()))
    picked = places[order][: count or len(places)]
    rows = np.zeros((count or len(places), x.ndim), np.int32)
    rows[: len(picked)] = picked
    return rows, np.arange(len(rows)) < len(picked)
