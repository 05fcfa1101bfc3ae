"""Training on the device gives the losses and parameters that training on CPU torch gives."""

from __future__ import annotations

import pytest
import torch

from tests.clients.torch_npu.support import run, succeeds
from tests.clients.torch_npu.trainings import NETWORKS, OPTIMIZERS, train

NEAR = 1e-4


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_losses_and_parameters_are_those_of_cpu_torch(network: str, optimizer: str) -> None:
    got, want = train(network, optimizer, "npu"), train(network, optimizer, "cpu")
    assert got.losses == pytest.approx(want.losses, rel=NEAR)
    assert want.losses[-1] < want.losses[0]
    for name, value in want.parameters.items():
        near = NEAR * max(value.abs().max().item(), 1e-3)
        torch.testing.assert_close(got.parameters[name], value, rtol=NEAR, atol=near, msg=name)


QUEUED = """
from tests.clients.torch_npu.trainings import train
for network in ("mlp", "cnn", "encoder"):
    got, want = train(network, "adam", "npu").losses, train(network, "adam", "cpu").losses
    assert all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(got, want, strict=True)), (network, got, want)
"""


def test_training_by_the_queue_thread() -> None:
    succeeds(QUEUED)


SCALED = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1).npu()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.npu.amp.GradScaler(init_scale=2.0**10)  # torch.amp.GradScaler updates its scale by aclnn
before = net.weight.detach().cpu().clone()
for factor, overflows in ((1.0, False), (float("inf"), True), (1.0, False)):
    optimizer.zero_grad()
    with torch.autocast("npu", dtype=torch.float16):
        loss = net(torch.ones(2, 4).npu()).sum()
    scaler.scale(loss * factor).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    after = net.weight.detach().cpu().clone()
    assert torch.equal(before, after) == overflows, factor
    assert (scaler.get_scale() < scale) == overflows, factor
    before = after
"""


def test_loss_scaling_sees_an_overflow_and_leaves_that_step_out() -> None:
    succeeds(SCALED)


FITS = """
import os
import torch
from torch import nn
net = nn.Linear(4, 1).npu()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.npu.amp.GradScaler(init_scale=2.0**17)
moved = []
for _ in range(5):
    optimizer.zero_grad()
    with torch.autocast("npu", dtype=torch.float16):
        loss = net(torch.ones(2, 4).npu()).sum()
    scale, before = scaler.get_scale(), net.weight.detach().cpu().clone()
    scaler.scale(loss).backward()
    largest = net.weight.grad.max().item()
    fits = 2 * scale <= 65504  # the gradient, a sum over two rows, as float16
    assert largest == (2 * scale if fits else float(os.environ["LARGEST"])), (scale, largest)
    scaler.step(optimizer)
    scaler.update()
    moved.append(not torch.equal(before, net.weight.detach().cpu()))
    assert moved[-1] == fits
assert moved == [False, False, False, True, True] and scaler.get_scale() == 2.0**14
"""


@pytest.mark.parametrize(("environ", "largest"), [({}, "inf"), ({"INF_NAN_MODE_FORCE_DISABLE": "1"}, "65504")])
def test_the_scale_shrinks_until_gradients_fit_whether_they_overflow_to_infinity_or_saturate(
    environ: dict[str, str], largest: str
) -> None:
    done = run(FITS, LARGEST=largest, **environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Gradient overflow. Skipping step") == 3
