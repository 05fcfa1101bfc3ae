"""torch-npu on hostacl against CPU torch, in one process; run it under `hostacl run`.

Needs an environment with torch-npu (docs/clients/torch-npu.md). With the name of a figure only that one is measured.
"""

from __future__ import annotations

import resource
import sys
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]
from common import fair_environment, line, ratio  # noqa: E402

fair_environment()
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

STEPS = 2000


def step_of(net, x, classes, device):
    """One training step of SGD with momentum, done when the function comes back."""
    torch.manual_seed(0)
    net, x = net().to(device), x.to(device)
    y = torch.randint(0, classes, (len(x),)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, foreach=False)

    def step():
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def trained(name, net, x, classes, limit, repeat):
    """Compares a step on both devices; their losses must agree first."""
    ours, peer = step_of(net, x, classes, "npu"), step_of(net, x, classes, "cpu")
    for _ in range(3):
        mine, theirs = ours(), peer()
        assert abs(mine - theirs) <= 1e-3 * abs(theirs), (mine, theirs)
    line(name, ratio(ours, peer, repeat), limit)


def small_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 64, 10),
    )  # fmt: skip


def wide_mlp():
    return nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


def cnn():
    trained("a step of a CNN, 32 of 3x32x32", small_cnn, torch.randn(32, 3, 32, 32), 10, "<= 3", 3)


def mlp():
    trained("a step of an MLP of width 1024, batch 64", wide_mlp, torch.randn(64, 1024), 10, "<= 2", 5)


def add():
    """A chain of small additions and one wait: what an operator costs beside its work."""
    count = 500

    def chain(device):
        x, one = torch.ones(4).to(device), torch.ones(4).to(device)

        def run():
            y = x
            for _ in range(count):
                y = y + one
            return y.sum().item()

        return run

    mine, theirs, times = ratio(chain("npu"), chain("cpu"), 2)
    line("an Add of 4 elements, issued and run", (mine / count, theirs / count, times), "no goal")


def memory():
    """The process's peak after a tenth of the steps and after all."""
    step = step_of(lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), torch.randn(16, 64), 10, "npu")

    def peak(steps):
        for _ in range(steps):
            step()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, torch.npu.max_memory_allocated() / 2**20

    first, last = peak(STEPS // 10), peak(STEPS - STEPS // 10)
    for name, one, other in zip(("the process", "on the device"), first, last, strict=True):
        print(f"{name}: {one:.2f} MiB after {STEPS // 10} steps, {other:.2f} after {STEPS}")


FIGURES = {function.__name__: function for function in (add, mlp, cnn, memory)}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()
