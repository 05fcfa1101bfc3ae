"""Philox 4x32-10: random words that depend on a key and a counter only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Words = NDArray[np.uint32]

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)

BLOCK = 1 << 16
"""Counters of a block: its temporaries stay in the cache."""


def philox(counter: Array, key: int) -> Words:
    """Four words for each counter: uint64 (4, n) with 32 bits each, in and out; the key has 64 bits."""
    c0, c1, c2, c3 = counter
    low, high = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c2 = (second >> HALF) ^ c1 ^ np.uint64(low), (first >> HALF) ^ c3 ^ np.uint64(high)
        c1, c3 = second & LOW, first & LOW
        low, high = (low + WEYL[0]) & 0xFFFFFFFF, (high + WEYL[1]) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3)).astype(np.uint32)


def blocks(count: int, key: int, counter: int) -> Iterator[tuple[slice, Words]]:
    """The first ``count`` words that a key and a 128-bit counter give, four a counter, in blocks with their places."""
    groups = -(-count // 4)
    for start in range(0, groups, BLOCK):
        size = min(BLOCK, groups - start)
        words = philox(_counters((counter + start) % (1 << 128), size), key).T.reshape(-1)
        stop = min(count, 4 * (start + size))
        yield slice(4 * start, stop), words[: stop - 4 * start]


def words(count: int, key: int, counter: int) -> Words:
    """The first ``count`` words that a key and a 128-bit counter give."""
    result = np.empty(count, np.uint32)
    for place, part in blocks(count, key, counter):
        result[place] = part
    return result


def _counters(first: int, size: int) -> Array:
    """``size`` counters from the first on, as four words each."""
    low = (np.arange(size, dtype=np.uint64) + np.uint64(first & 0xFFFFFFFFFFFFFFFF)).astype(np.uint64)
    carry = low < np.uint64(first & 0xFFFFFFFFFFFFFFFF)
    high = np.full(size, first >> 64, np.uint64) + carry.astype(np.uint64)
    return np.stack((low & LOW, low >> HALF, high & LOW, high >> HALF))


def uniform(random: Words, bits: int) -> Array:
    """Numbers in [0, 1), as TensorFlow makes them: the low 7, 10 or 23 bits of a word, or 52 of two words, as the fraction."""
    if bits <= 23:
        return (random & np.uint32((1 << bits) - 1)).astype(np.float64) * 2.0**-bits
    pairs = random.reshape(-1, 2).astype(np.uint64)
    whole = ((pairs[:, 0] & np.uint64(0xFFFFF)) << HALF) | pairs[:, 1]
    return whole.astype(np.float64) * 2.0**-52


def normal(one: Array, other: Array, least: float) -> tuple[Array, Array]:
    """Two normal numbers from two uniform ones by Box and Muller; ``least`` keeps the logarithm finite."""
    radius = np.sqrt(-2 * np.log(np.maximum(one, least)))
    angle = 2 * np.pi * other
    return np.sin(angle) * radius, np.cos(angle) * radius


def key_of(*seeds: int) -> int:
    """One 64-bit key of one seed or two: the second counts in the upper half."""
    first, second = (*seeds, 0)[:2]
    return (first + (second << 32)) % (1 << 64)


def counter_of(*parts: int) -> int:
    """A 128-bit counter of one or two 64-bit numbers, the low one first."""
    low, high = (*parts, 0)[:2]
    return low % (1 << 64) | (high % (1 << 64)) << 64
