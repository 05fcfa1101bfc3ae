"""Sessions that are made and dropped, and one that fails, while others run; then the same model in other processes.

`python -m …crowd_program threads|fork|spawn` prints what went wrong.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import onnxruntime

from tests.clients.onnxruntime.models import perceptron, residual
from tests.clients.onnxruntime.support import cpu_session, session, single_node

ROUNDS = 40
RELATIVE = 1e-3
SHORT = np.ones((1, 1, 6), np.float32)


def runner(wrong: list[str]) -> Callable[[], None]:
    """Runs a session that lives on."""
    model, feeds = residual("float32", size=16, width=8)
    kept = session(model)
    alone = kept.run(None, feeds)[0]

    def run() -> None:
        if not np.array_equal(kept.run(None, feeds)[0], alone):
            wrong.append("a session that lives on gave other values")

    return run


def maker(wrong: list[str]) -> Callable[[], None]:
    """Makes a session, runs it and drops it."""
    model, feeds = perceptron("float16")
    first = session(model).run(None, feeds)[0]

    def run() -> None:
        if not np.array_equal(session(model).run(None, feeds)[0], first):
            wrong.append("a new session gave other values")

    return run


def failer(wrong: list[str]) -> Callable[[], None]:
    """Runs a session whose node is refused."""
    failing = session(single_node("MaxPool", [SHORT], opset=7, kernel_shape=[2])[0])

    def run() -> None:
        try:
            failing.run(None, {"x0": SHORT})
            wrong.append("a node that is refused ran")
        except Exception as error:
            if "running MaxPool node" not in str(error):
                wrong.append(str(error))

    return run


def repeated(run: Callable[[], None], wrong: list[str]) -> None:
    for _ in range(ROUNDS):
        try:
            run()
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")


def in_threads() -> list[str]:
    """What went wrong with all of them at once."""
    wrong: list[str] = []
    runs = [made(wrong) for made in (runner, runner, maker, maker, failer)]
    threads = [threading.Thread(target=repeated, args=(run, wrong)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def one_run() -> float:
    """The first result's distance from the CPU provider, relative to its largest value."""
    model, feeds = perceptron("float32")
    ours, expected = (made(model).run(None, feeds)[0] for made in (session, cpu_session))
    return float(np.abs(ours - expected).max() / np.abs(expected).max())


def in_processes(method: str) -> list[str]:
    """What went wrong in processes that begin after this one has run a session."""
    before = one_run()
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        there = [future.result(timeout=60) for future in [pool.submit(one_run) for _ in range(4)]]
    return [f"{method}: {far}" for far in (before, *there, one_run()) if not far < RELATIVE]


if __name__ == "__main__":
    onnxruntime.set_default_logger_severity(4)
    print(json.dumps(in_threads() if sys.argv[1] == "threads" else in_processes(sys.argv[1])))
