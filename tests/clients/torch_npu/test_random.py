"""Operators whose values are drawn, and the nearest of the resizes: reproducible, of the right distribution, with one mask."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

COUNT = 40_000


@pytest.mark.parametrize(("draw", "mean", "deviation"), [(torch.rand, 0.5, 12**-0.5), (torch.randn, 0.0, 1.0)])
def test_draws_are_reproducible_and_of_their_distribution(draw: Callable[..., Tensor], mean: float, deviation: float) -> None:
    torch.manual_seed(7)
    first = draw(COUNT, device="npu").cpu()
    again = draw(COUNT, device="npu").cpu()
    torch.manual_seed(7)
    assert torch.equal(draw(COUNT, device="npu").cpu(), first)
    assert not torch.equal(first, again)
    assert abs(first.mean().item() - mean) < 5 * deviation / COUNT**0.5
    assert abs(first.std().item() - deviation) < 0.02


def test_dropout_scales_what_stays_and_its_gradient_has_the_same_mask() -> None:
    x = torch.ones(COUNT, device="npu", requires_grad=True)
    y = functional.dropout(x, 0.25)
    y.sum().backward()
    kept = y.detach().cpu()
    assert set(kept.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs((kept == 0).float().mean().item() - 0.25) < 0.02
    assert x.grad is not None
    assert torch.equal(x.grad.cpu(), kept)


@pytest.mark.parametrize("size", [(5, 7), (2, 3), (8, 4)])
def test_nearest_interpolation(size: tuple[int, int]) -> None:
    x = torch.randn(2, 3, 4, 6)
    ours = x.npu().requires_grad_()
    theirs = x.clone().requires_grad_()
    result = functional.interpolate(ours, size=size, mode="nearest")
    expected = functional.interpolate(theirs, size=size, mode="nearest")
    assert torch.equal(result.detach().cpu(), expected.detach())
    result.sum().backward()
    expected.sum().backward()
    assert ours.grad is not None
    assert theirs.grad is not None
    assert torch.allclose(ours.grad.cpu(), theirs.grad)
