"""Random numbers and dropout: Philox 4x32-10 in Python integers, one counter at a time, and what is drawn from its words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, oracle, shapes

MASK = 0xFFFFFFFF


def words(count: int, key: int, counter: int) -> list[int]:
    """The first words of a key and a 128-bit counter."""
    found: list[int] = []
    while len(found) < count:
        c = [counter >> 32 * i & MASK for i in range(4)]
        k = [key & MASK, key >> 32 & MASK]
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [second >> 32 ^ c[1] ^ k[0], second & MASK, first >> 32 ^ c[3] ^ k[1], first & MASK]
            k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
        found += c
        counter = (counter + 1) % (1 << 128)
    return found[:count]


def integer(array: Any, place: int = 0) -> int:
    return int(np.asarray(array).ravel()[place])


def count_of(shape: Any) -> int:
    return math.prod(int(one) for one in np.ravel(shape))


def dims_of(shape: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in np.ravel(shape))


def drawn_shape(d: Dice) -> tuple[int, ...]:
    shape = d.shape()
    d.value("shape", np.array(shape, np.int64))
    return shape


def seed(d: Dice, name: str, shape: tuple[int, ...] = (1,)) -> None:
    code = d.dtype_of(name)
    high = {dtypes.INT32: 2**31, dtypes.UINT64: 2**64}.get(code, 2**63)
    special = d.wants("special values")
    numbers = [d.choose(0, high - 1, high // 2) if special else int(d.rng.integers(0, 2**31)) for _ in range(math.prod(shape))]
    d.tensor(name, np.array(numbers, object).reshape(shape).astype(dtypes.numpy_dtype(code)), dtype=code)


def chance(d: Dice, name: str = "prob", shape: tuple[int, ...] = (1,)) -> None:
    code = d.dtype_of(name)
    numbers = d.rng.choice([0.0, 0.25, 0.5, 0.9, 1.0], shape) if d.wants("special values") else d.rng.uniform(0, 1, shape)
    d.value(name, np.asarray(numbers), dtype=code) if name == "prob" else d.tensor(name, np.asarray(numbers), dtype=code)


# --- the numbers themselves ---


@shapes("StatelessRandomUniformV2", "StatelessRandomNormalV2")
def stateless(d: Dice) -> None:
    drawn_shape(d)
    seed(d, "key", () if d.wants("0-d") else (1,))
    seed(d, "counter", (2,))
    d.value("alg", np.array(d.choose(1, 3), np.int32))
    code = d.choose(dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16, dtypes.DOUBLE)
    if d.wants("attributes absent"):
        code = dtypes.FLOAT
    elif d.wants("attributes default"):
        code = dtypes.FLOAT
        d.attrs["dtype"] = ("data_type", code)
    else:
        d.wants("attributes varied")
        d.attrs["dtype"] = ("data_type", code)
    d.values["dtype"] = code
    d.output("y", code)


def fractions(count: int, key: Any, counter: Any, bits: int) -> list[float]:
    start = integer(counter) + (integer(counter, 1) << 64)
    if bits == 52:
        pairs = words(2 * count, integer(key), start)
        return [((pairs[2 * i] & 0xFFFFF) << 32 | pairs[2 * i + 1]) / 2**52 for i in range(count)]
    return [(word % 2**bits) / 2**bits for word in words(count, integer(key), start)]


@oracle("StatelessRandomUniformV2")
def uniform(shape: Any, key: Any, counter: Any, dtype: int) -> Any:
    bits = {dtypes.FLOAT16: 10, dtypes.BF16: 7, dtypes.DOUBLE: 52}.get(dtype, 23)
    return np.array(fractions(count_of(shape), key, counter, bits)).reshape(dims_of(shape))


@oracle("StatelessRandomNormalV2")
def normal(shape: Any, key: Any, counter: Any, dtype: int) -> Any:
    count = count_of(shape)
    pairs = fractions(count + count % 2, key, counter, 52 if dtype == dtypes.DOUBLE else 23)
    numbers = []
    for one, other in zip(pairs[::2], pairs[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(max(one, 1e-7)))
        numbers += [radius * math.sin(2 * math.pi * other), radius * math.cos(2 * math.pi * other)]
    return Within(np.array(numbers[:count]).reshape(dims_of(shape)), 1e-14)


def below(count: int, prob: Any, key: int, counter: int, wide: bool) -> list[bool]:
    """Whether each number is below its probability, in exact fractions of the rounded limit."""
    limits = [Fraction(float(one)) for one in np.ravel(prob)] * (count if np.size(prob) == 1 else 1)
    bits = 52 if wide else 32
    found = words(count * (2 if wide else 1), key, counter)
    numbers = [(found[2 * i] & 0xFFFFF) << 32 | found[2 * i + 1] for i in range(count)] if wide else found
    return [number < round(limit * 2**bits) for number, limit in zip(numbers, limits, strict=True)] if count else []


def draws_to(d: Dice) -> None:
    """The dtype of the result, said by the attribute or, where that is left out, by the descriptor."""
    codes = [code for code in d.prototype.outputs[0].dtypes if dtypes.has_arrays(code)]
    code = d.choose(*codes)
    if d.wants("attributes default") and d.generation.attrs["dtype"].default in codes:
        code = int(d.generation.attrs["dtype"].default)
        d.attrs["dtype"] = ("data_type", code)
    elif not d.wants("attributes absent"):
        d.wants("attributes varied")
        d.attrs["dtype"] = ("data_type", code)
    d.output("y", code)


@shapes("StatelessBernoulli")
def bernoulli_call(d: Dice) -> None:
    drawn_shape(d)
    chance(d)
    seed(d, "seed")
    seed(d, "offset")
    draws_to(d)


@oracle("StatelessBernoulli")
def bernoulli(shape: Any, prob: Any, seed: Any, offset: Any, dice: Dice) -> Any:
    wide = dice.inputs["prob"][0].spec.dtype == dtypes.DOUBLE
    found = below(count_of(shape), prob, integer(seed), integer(offset), wide)
    return np.array(found, np.float64).reshape(dims_of(shape))


@shapes("StatelessBernoulliV2")
def bernoulli_v2_call(d: Dice) -> None:
    chance(d, "x", d.shape())
    seed(d, "seed")
    seed(d, "offset")
    draws_to(d)


@oracle("StatelessBernoulliV2")
def bernoulli_v2(x: Any, seed: Any, offset: Any, dice: Dice) -> Any:
    if not x.size:
        return np.zeros(x.shape)
    found = below(x.size, x, integer(seed), integer(offset), dice.inputs["x"][0].spec.dtype == dtypes.DOUBLE)
    return np.array(found, np.float64).reshape(x.shape)


@shapes("StatelessRandperm")
def permutation_call(d: Dice) -> None:
    size = 0 if d.wants("empty") else 1 if d.wants("one element") else d.int(40, 120) if d.wants("long") else d.int(0, 30)
    d.value("n", np.array([size]))
    seed(d, "seed")
    seed(d, "offset")
    draws_to(d)
    d.attr("layout", 0)


@oracle("StatelessRandperm")
def permutation(n: Any, seed: Any, offset: Any) -> Any:
    found = words(2 * integer(n), integer(seed), integer(offset))
    rank = {place: found[2 * place] | found[2 * place + 1] << 32 for place in range(integer(n))}
    return np.array(sorted(rank, key=lambda place: rank[place]), np.float64)


# --- choices ---


@shapes("RandomChoiceWithMask")
def choice_call(d: Dice) -> None:
    shape = d.shape(1, 5)
    d.tensor("x", shape)
    d.attr("count", 3, 50)
    d.attr("seed", 7)
    d.attr("seed2", 9)
    most = d.values["count"] or math.prod(shape)
    d.output("y", dtypes.INT32, (most, len(shape)))
    d.output("mask", dtypes.BOOL, (most,))


@oracle("RandomChoiceWithMask")
def choice(x: Any, count: int) -> Any:
    true = {tuple(map(int, place)) for place in np.argwhere(x)}
    rows = count or len(true)

    def places(got: Any) -> bool:
        listed = [tuple(map(int, row)) for row in got[: min(rows, len(true))]]
        return len(set(listed)) == len(listed) and set(listed) <= true and not got[len(true) :].any()

    return Any_((rows, x.ndim), places), np.arange(rows) < len(true)


@shapes("MultinomialWithReplacement")
def weighted_call(d: Dice) -> None:
    shape = d.shape(1, 2, empty=False)
    d.tensor("x", d.rng.uniform(0.01, 4, shape))
    seed(d, "seed")
    seed(d, "offset")
    replacement = d.attr("replacement", True)
    d.attr("numsamples", *((0, 1, 5) if replacement or "replacement" not in d.attrs else (1,)))


@oracle("MultinomialWithReplacement")
def weighted(x: Any, seed: Any, offset: Any, numsamples: int, dice: Dice) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    count = len(rows) * numsamples
    if dice.attrs.get("replacement", ("bool", True))[1] is False:
        return Any_((*x.shape[:-1], numsamples), lambda got: bool((got >= 0).all() and (got < x.shape[-1]).all()))
    pairs = words(2 * count, integer(seed), integer(offset))
    found = []
    for i in range(count):
        share = Fraction((pairs[2 * i] & 0xFFFFF) << 32 | pairs[2 * i + 1], 2**52)
        weights = [Fraction(float(one)) for one in rows[i // numsamples]]
        total, category = sum(weights), 0
        while sum(weights[: category + 1]) <= share * total:
            category += 1
        found.append(category)
    return np.array(found, np.float64).reshape(*x.shape[:-1], numsamples)


@shapes("Multinomial")
def logits_call(d: Dice) -> None:
    shape = d.shape(2, 2, empty=False)
    d.tensor("logits", np.asarray(d.rng.uniform(-3, 3, shape)))
    d.value("num_samples", np.array(d.int(0, 6)))
    code = d.choose(dtypes.INT32, dtypes.INT64)
    d.attrs["dtype"] = ("data_type", code)
    d.attr("seed", 3)
    d.attr("seed2", 4)
    d.output("y", code)


@oracle("Multinomial")
def logits_categories(logits: Any, num_samples: Any) -> Any:
    shape = (logits.shape[0], integer(num_samples))
    return Any_(shape, lambda got: bool((got >= 0).all() and (got < logits.shape[1]).all()))


# --- masks ---


@shapes("StatelessDropOutGenMask")
def stateless_mask(d: Dice) -> None:
    drawn_shape(d)
    chance(d)
    seed(d, "seed")
    seed(d, "seed1")
    if d.optional("offset"):
        seed(d, "offset", (2,))


def bit_bytes(bits: list[bool]) -> Any:
    size = -(-len(bits) // 128) * 16
    return np.array([sum(bit << i for i, bit in enumerate(bits[8 * at : 8 * at + 8])) for at in range(size)], np.float64)


@oracle("StatelessDropOutGenMask")
def stateless_bits(shape: Any, prob: Any, seed: Any, seed1: Any, offset: Any) -> Any:
    key = (integer(seed) + (integer(seed1) << 32)) % 2**64
    start = 0 if offset is None else integer(offset) + (integer(offset, 1) << 64)
    return bit_bytes(below(count_of(shape), prob, key, start, False))


@shapes("DropOutGenMask", "DropOutGenMaskV3", "DropOutGenMaskV4")
def mask_call(d: Dice) -> None:
    drawn_shape(d)
    chance(d)
    d.attr("seed", 11)
    d.attr("seed2", 12)
    if d.prototype.op_type == "DropOutGenMaskV4":
        code = d.attr("dtype", dtypes.BOOL, dtypes.UINT1)
        d.output("y", code)


def certain(got: Any, prob: Any) -> bool:
    """What probabilities 0 and 1 leave no choice about."""
    sure = float(np.ravel(prob)[0])
    return bool((got == sure).all()) if sure in (0, 1) else bool(((got == 0) | (got == 1)).all())


@oracle("DropOutGenMask")
def mask_bits(shape: Any, prob: Any) -> Any:
    count = count_of(shape)
    size = -(-count // 128) * 16

    def holds(got: Any) -> bool:
        bits = np.unpackbits(got, bitorder="little")
        return certain(bits[:count], prob) and not bits[count:].any()

    return Any_((size,), holds)


@oracle("DropOutGenMaskV3")
def mask_bytes(shape: Any, prob: Any) -> Any:
    count = count_of(shape)
    return Any_((-(-count // 16) * 16,), lambda got: certain(got[:count], prob) and not got[count:].any())


@oracle("DropOutGenMaskV4")
def mask_elements(shape: Any, prob: Any) -> Any:
    return Any_(dims_of(shape), lambda got: certain(got.ravel(), prob) if got.size else True)


@shapes("DropOutDoMask", "DropOutDoMaskV3", "DropOutDoMaskV3D")
def masked(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    count = math.prod(shape)
    code = d.dtype_of("mask")
    bits = d.prototype.op_type == "DropOutDoMask" and code == dtypes.UINT8
    size = (-(-count // 128) * 16 if bits else count) + (0 if d.chance() else 16)
    data = d.rng.integers(0, 256 if bits else 2, size)
    d.tensor("mask", data, dtype=code)
    share = d.choose(0.5, 0.25, 0.9)
    if "keep_prob" in d.prototype.attrs:
        d.attrs["keep_prob"] = ("float", share)
        d.values["keep_prob"] = share
    else:
        d.tensor("keep_prob", np.array([share]) if d.chance() else np.array(share), dtype=d.dtype_of("keep_prob"))


@oracle("DropOutDoMask")
def by_bits(x: Any, mask: Any, keep_prob: Any, dice: Dice) -> Any:
    flat = [int(one) for one in mask.ravel()]
    if dice.inputs["mask"][0].spec.dtype == dtypes.UINT8:
        flat = [flat[i // 8] >> i % 8 & 1 for i in range(x.size)]
    return by_elements(x, np.array(flat), keep_prob)


@oracle("DropOutDoMaskV3", "DropOutDoMaskV3D")
def by_elements(x: Any, mask: Any, keep_prob: Any) -> Any:
    share = np.float64(np.float32(float(np.ravel(keep_prob)[0])))
    kept = np.array([bool(one) for one in mask.ravel()[: x.size]], bool).reshape(x.shape)
    return np.where(kept, x / share, 0.0)


@shapes("Dropout")
def caffe(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("dropout_ratio", 0.25, 0.0)
    d.attr("scale_train", False)


@oracle("Dropout")
def caffe_dropout(x: Any, dropout_ratio: float, scale_train: bool) -> Any:
    return x if scale_train else x * np.float64(np.float32(1 - dropout_ratio))
