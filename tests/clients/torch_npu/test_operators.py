"""Everyday operators of torch on the device against CPU torch, forward and backward."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import is_tensor_like

from tests.clients.torch_npu.operators import OPERATORS, Operator
from tests.clients.torch_npu.refused import REFUSED

TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
ALL_CASES = [(name, dtype) for name, operator in OPERATORS.items() for dtype in operator.dtypes]
CASES = [(name, dtype) for name, dtype in ALL_CASES if dtype not in REFUSED.get(name, ())]
REFUSALS = [(name, dtype) for name, by_dtype in REFUSED.items() for dtype in by_dtype]


def named(cases: list[tuple[str, torch.dtype]]) -> list[str]:
    return [f"{name}-{str(dtype)[6:]}" for name, dtype in cases]


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
            there = [weight.to(device) for weight in weights]
            gradients = torch.autograd.grad(differentiable, leaves, there, allow_unused=True)
            found += [gradient.cpu() for gradient in gradients if gradient is not None]
    return found


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=named(CASES))
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
            near = max(operator.near, TOLERANCE.get(dtype, 2e-5))
            torch.testing.assert_close(
                ours, theirs, rtol=near, atol=near, equal_nan=True, msg=lambda m, t=text: f"{t}: {m}"
            )


@pytest.mark.parametrize(("name", "dtype"), REFUSALS, ids=named(REFUSALS))
def test_a_dtype_that_the_prototype_lacks_is_refused_by_name(name: str, dtype: torch.dtype) -> None:
    operator = OPERATORS[name]
    torch.manual_seed(sum(map(ord, name)))

    def tried() -> None:
        for seed, sample in enumerate(operator.samples(dtype)):
            forward_and_backward(operator, sample, "npu", seed)

    with pytest.raises(RuntimeError, match=rf"HA502.*{REFUSED[name][dtype]} = DT_\w+ .*; allowed: DT_"):
        tried()
