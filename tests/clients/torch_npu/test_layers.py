"""Recurrent layers, CTC, samplers and resizing on the device against CPU torch: results and gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

NEAR = 1e-5


def same(call: Callable[..., Tensor], *values: Tensor) -> None:
    """The same result, and the same gradient of its squares by every value, on both devices."""
    found = []
    for device in ("cpu", "npu"):
        given = [value.detach().to(device).requires_grad_() for value in values]
        result = call(*given)
        (result * result).sum().backward()
        found.append([result, *(value.grad for value in given)])
    for want, got in zip(*found, strict=True):
        torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=1e-4, atol=NEAR)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_layers(kind: type[nn.RNNBase], both: bool) -> None:
    torch.manual_seed(0)
    layer, x = kind(4, 6, bidirectional=both), torch.randn(5, 3, 4)
    twin = copy.deepcopy(layer).npu()
    found = []
    for one, device in ((layer, "cpu"), (twin, "npu")):
        y = one(x.to(device))[0]
        (y * y).sum().backward()
        found.append([y, *(parameter.grad for parameter in one.parameters())])
    for want, got in zip(*found, strict=True):
        torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=1e-4, atol=NEAR)


def test_ctc() -> None:
    torch.manual_seed(0)
    targets, steps, lengths = torch.randint(1, 5, (2, 3)), torch.tensor([10, 7]), torch.tensor([3, 2])

    def loss(x: Tensor) -> Tensor:
        given = [one.to(x.device) for one in (targets, steps, lengths)]
        return functional.ctc_loss(x.log_softmax(2), *given, reduction="none")

    same(loss, torch.randn(10, 2, 5))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grids(mode: str, padding: str) -> None:
    torch.manual_seed(0)

    def sampled(x: Tensor, grid: Tensor) -> Tensor:
        return functional.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=False)

    same(sampled, torch.randn(2, 3, 4, 5), torch.rand(2, 3, 4, 2) * 3 - 1.5)
    if mode != "bicubic":
        same(sampled, torch.randn(2, 3, 2, 4, 5), torch.rand(2, 2, 3, 4, 3) * 3 - 1.5)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(("mode", "old", "new"), [("bicubic", (4, 5), (7, 3)), ("linear", (5,), (7,))])
def test_resized(mode: str, old: tuple[int, ...], new: tuple[int, ...], align: bool) -> None:
    torch.manual_seed(0)
    same(lambda x: functional.interpolate(x, size=new, mode=mode, align_corners=align), torch.randn(2, 3, *old))


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
def test_distances(p: float) -> None:
    torch.manual_seed(0)
    same(lambda a, b: torch.cdist(a, b, p=p), torch.randn(3, 4), torch.randn(5, 4))
