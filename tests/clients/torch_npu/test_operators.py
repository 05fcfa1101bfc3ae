"""Everyday operators of torch on the device against CPU torch, forward and backward."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import is_tensor_like

from tests.clients.torch_npu.operators import OPERATORS, Operator

TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
CASES = [(name, dtype) for name, operator in OPERATORS.items() for dtype in operator.dtypes]


def tensors(result: Any) -> list[Tensor]:
    """The tensors of a result, be it one or many."""
    return [result] if is_tensor_like(result) else list(result)


def moved(value: Any, device: str, grad: bool) -> Any:
    """A value on a device, with the strides it had."""
    if not is_tensor_like(value):
        return value
    there = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device).copy_(value)
    return there.requires_grad_(grad and value.dtype.is_floating_point)


def forward_and_backward(operator: Operator, sample: tuple[Any, ...], device: str, seed: int) -> list[Tensor]:
    """Results and, where asked for, the gradients of all inputs."""
    values = [moved(value, device, operator.backward) for value in sample]
    results = tensors(operator.call(*values))
    found = [result.detach().cpu() for result in results]
    if operator.backward:
        torch.manual_seed(seed)
        differentiable = [result for result in results if result.requires_grad]
        leaves = [value for value in values if is_tensor_like(value) and value.requires_grad]
        weights = [torch.randn(result.shape).to(result.dtype) for result in differentiable]
        if differentiable:
            gradients = torch.autograd.grad(differentiable, leaves, [weight.to(device) for weight in weights], allow_unused=True)
            found += [gradient.cpu() for gradient in gradients if gradient is not None]
    return found


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=[f"{name}-{str(dtype)[6:]}" for name, dtype in CASES])
def test_an_operator_gives_what_cpu_torch_gives(name: str, dtype: torch.dtype) -> None:
    operator = OPERATORS[name]
    torch.manual_seed(sum(map(ord, name)))
    for seed, sample in enumerate(operator.samples(dtype)):
        want = forward_and_backward(operator, sample, "cpu", seed)
        got = forward_and_backward(operator, sample, "npu", seed)
        for index, (ours, theirs) in enumerate(itertools.zip_longest(got, want)):
            shapes = [tuple(value.shape) for value in sample if is_tensor_like(value)]
            text = f"sample {seed} of shapes {shapes}, tensor {index}"
            assert ours.dtype == theirs.dtype, text
            near = TOLERANCE.get(dtype, 2e-5)
            torch.testing.assert_close(ours, theirs, rtol=near, atol=near, equal_nan=True, msg=lambda m, t=text: f"{t}: {m}")
