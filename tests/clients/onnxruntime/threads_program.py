"""Both providers, several sessions and several threads in one process.

`python -m …threads_program RUNS` prints what came of it.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import numpy as np
import onnxruntime

from tests.clients.onnxruntime.models import perceptron, residual, vgg
from tests.clients.onnxruntime.support import cpu_session, session, single_node

THREADS = 4
WARM = 200


def resident_kib() -> int:
    """VmRSS of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


class Job:
    """A session with what it is fed and what it gave when it ran alone."""

    def __init__(self, model: bytes, feeds: dict[str, np.ndarray], relative: float) -> None:
        self.session, self.feeds = session(model), feeds
        self.alone = self.session.run(None, feeds)
        self.cpu = cpu_session(model)
        for ours, expected in zip(self.alone, self.cpu.run(None, feeds), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=relative * np.abs(expected).max())

    def run(self, cpu_too: bool) -> bool:
        """Whether a run gives the same bits as the one alone."""
        if cpu_too:
            self.cpu.run(None, self.feeds)
        results = self.session.run(None, self.feeds)
        return all(np.array_equal(one, other) for one, other in zip(results, self.alone, strict=True))


def jobs() -> list[Job]:
    """Networks and an integer operator, each in a session of its own; one has operands that broadcast."""
    relu = single_node("Relu", [np.arange(-500, 500, dtype=np.int32)], opset=14)
    half, full = 1e-2, 1e-3
    return [Job(*residual("float32"), full), Job(*vgg("float16"), half), Job(*perceptron("float16"), half), Job(*relu, 0)]


def work(all_jobs: list[Job], runs: int, place: int, wrong: list[str]) -> None:
    """One thread's share of the runs, over all sessions in turn."""
    for turn in range(place, runs, THREADS):
        try:
            if not all_jobs[turn % len(all_jobs)].run(turn % 10 == 0):
                wrong.append(f"run {turn}: other values")
        except Exception as error:
            wrong.append(f"run {turn}: {error}")


def in_threads(all_jobs: list[Job], runs: int) -> list[str]:
    """What went wrong in so many runs, shared out to the threads."""
    wrong: list[str] = []
    threads = [threading.Thread(target=work, args=(all_jobs, runs, place, wrong)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def main(runs: int) -> None:
    """Warms up, runs, and prints the faults and the memory before and after."""
    onnxruntime.set_default_logger_severity(4)
    all_jobs = jobs()
    wrong = in_threads(all_jobs, WARM)
    before = resident_kib()
    wrong += in_threads(all_jobs, runs)
    print(json.dumps({"wrong": wrong[:20], "before": before, "after": resident_kib()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
