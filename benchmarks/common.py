"""Timing helpers: a ratio of two things measured in turn, in one run, so that a noisy machine changes both."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence

ROUNDS = 7
SETTLE = 0.06  # s; ONNX Runtime's threads go on spinning for 40 ms after a run

# These slow NumPy's own BLAS where they are set; a fair comparison does without. They count before NumPy is loaded.
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def fair_environment() -> None:
    """Starts the script again without the variables that slow NumPy. Call it before importing NumPy."""
    if any(name in os.environ for name in _UNSET):
        kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
        os.execve(sys.executable, [sys.executable, *sys.argv], kept)


def seconds(function: Callable[[], object], repeat: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call, over a loop of so many, as in a program that makes one after the other.

    Threads of what ran before are let go to sleep first; a call that does not count wakes the machine up again.
    """
    time.sleep(SETTLE)
    function()
    start = clock()
    for _ in range(repeat):
        function()
    return (clock() - start) / repeat


def ratio(ours: Callable[[], object], peer: Callable[[], object], repeat: int) -> tuple[float, float, float]:
    """Medians over the rounds: our seconds, the peer's seconds, and their ratio pair by pair."""
    ours()
    peer()
    return median_ratio([(seconds(ours, repeat), seconds(peer, repeat)) for _ in range(ROUNDS)])


def median_ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Medians of our seconds, of the peer's, and of their ratio pair by pair."""
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return mine, theirs, statistics.median(a / b for a, b in pairs)


def line(name: str, result: tuple[float, float, float], limit: str) -> None:
    """Prints one figure."""
    mine, theirs, times = result
    print(f"{name:<58} {mine * 1e6:>12.2f} us  peer {theirs * 1e6:>12.2f} us  ratio {times:>6.2f}  ({limit})")
