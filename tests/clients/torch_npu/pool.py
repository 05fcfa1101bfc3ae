"""One process after the other that judges samples: a crash, a hang or a lost device costs one sample, not the run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import torch

from tests.clients.torch_npu.samples import ENDLESS, OPERATORS, Outcome, healthy, judged, samples

SECONDS = 60
Place = tuple[int, int]


def worker(pipe: Connection, places: Sequence[int], start: Place) -> None:
    """Tells of each sample that it begins and what came of it; ends early when the device is lost."""
    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for index in places:
        try:
            found = samples(OPERATORS[index])
        except Exception as error:
            pipe.send(((index, 0), Outcome("no reference", str(error))))
            continue
        for number, sample in enumerate(found):
            if (index, number) < start:
                continue
            if (OPERATORS[index].name, number) in ENDLESS:
                pipe.send(((index, number), Outcome("refused by torch-npu", ENDLESS[OPERATORS[index].name, number])))
                continue
            pipe.send(((index, number), None))
            outcome = judged(OPERATORS[index], sample)
            pipe.send(((index, number), outcome))
            if outcome.kind.startswith("refused") and not healthy():
                os._exit(0)
    pipe.send((None, None))
    os._exit(0)


def begun(places: Sequence[int], start: Place) -> tuple[Any, Connection]:
    """A new process that goes on from a place."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=worker, args=(theirs, [one for one in places if one >= start[0]], start), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def outcomes(places: Sequence[int]) -> Iterator[tuple[Place, Outcome]]:
    """The outcome of each sample of these operators, in order."""
    start: Place = (places[0], 0)
    while True:
        process, pipe = begun(places, start)
        current: Place | None = start
        answered = True
        try:
            while pipe.poll(SECONDS):
                current, outcome = pipe.recv()
                if current is None:
                    process.join()
                    return
                answered = outcome is not None
                if outcome is not None:
                    yield current, outcome
            ended = f"no answer in {SECONDS} s"
        except EOFError:
            process.join()
            ended = f"ended with code {process.exitcode}"
        process.kill()
        assert current is not None
        if not answered:
            yield current, Outcome("crashed", ended)
        start = (current[0], current[1] + 1)
