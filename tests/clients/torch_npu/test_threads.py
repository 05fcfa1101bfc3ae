"""The queue thread, blocking launches, worker processes, two threads, garbage collection in the middle."""

from __future__ import annotations

import pytest

from tests.clients.torch_npu.support import succeeds

TRAINS = """
from tests.clients.torch_npu.trainings import train
got, want = train("cnn", "sgd", "npu", 5).losses, train("cnn", "sgd", "cpu", 5).losses
assert all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(got, want, strict=True)), (got, want)
"""


@pytest.mark.parametrize("blocking", ["0", "1"])
@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_queue_and_blocking(queue: str, blocking: str) -> None:
    succeeds(TRAINS, TASK_QUEUE_ENABLE=queue, ASCEND_LAUNCH_BLOCKING=blocking)


LOADER = """
import os
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.arange(64.0).reshape(32, 2))
x = torch.ones(2, device="npu")
total = 0.0
for (batch,) in DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context=os.environ["START"]):
    total += (batch.npu() * x).sum().item()
assert total == 63 * 32, total
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_load_data(start: str) -> None:
    succeeds(LOADER, START=start)


SPAWNED = """
import multiprocessing
import torch
from tests.clients.torch_npu.trainings import train
torch.ones(2, device="npu").sum().item()
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got = pool.apply(train, ("mlp", "adam", "npu", 5)).losses
        want = train("mlp", "adam", "cpu", 5).losses
        pool.close()
        pool.join()
    assert all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(got, want, strict=True)), (got, want)
"""


def test_a_spawned_process_trains() -> None:
    succeeds(SPAWNED)


TWO = """
import gc, threading, torch
from tests.clients.torch_npu.trainings import train
want = {seed: train("mlp", "adam", "cpu", 15, seed).losses for seed in (0, 1)}
got, stop = {}, threading.Event()
import tests.clients.torch_npu.trainings as trainings
starts = {seed: trainings.start("mlp", seed) for seed in (0, 1)}
trainings.start = lambda network, seed: starts[seed]  # seeds are for the process: drawn before the threads start

def one(seed):
    got[seed] = train("mlp", "adam", "npu", 15, seed).losses

def collect():
    while not stop.wait(0.02):
        ring = [torch.ones(100, device="npu") + 1]
        ring.append(ring)
        del ring
        gc.collect()

threads = [threading.Thread(target=one, args=(seed,)) for seed in (0, 1)]
collector = threading.Thread(target=collect)
for thread in (collector, *threads):
    thread.start()
for thread in threads:
    thread.join()
stop.set()
collector.join()
for seed in (0, 1):
    assert all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(got[seed], want[seed], strict=True)), seed
"""


@pytest.mark.parametrize(("queue", "blocking"), [("0", "0"), ("1", "0"), ("2", "0"), ("1", "1")])
def test_two_threads_train_while_garbage_is_collected(queue: str, blocking: str) -> None:
    succeeds(TWO, TASK_QUEUE_ENABLE=queue, ASCEND_LAUNCH_BLOCKING=blocking)
