"""Torch's own samples of its operators (OpInfo), each run on both devices and judged."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import isnan
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map

from hostacl import _machine
from hostacl.singleop import execute

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what torch's tests would like to have installed as well
    from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = 3
OPERATORS = [op for op in op_db if torch.float32 in op.dtypes]
NEAR = 1e-4
KINDS = ("crashed", "wrong", "refused by hostacl", "refused by torch-npu", "otherwise", "right", "no reference")

OTHERWISE = {
    "double": "float64 becomes float32",
    "float_power": "float64 becomes float32",
    "kthvalue": "it selects in float16",
    "native_batch_norm": "it keeps the variance where CPU torch keeps 1/√(variance + eps), for its own gradient",
    "_native_batch_norm_legit": "it keeps the variance where CPU torch keeps 1/√(variance + eps), for its own gradient",
    "native_layer_norm": "its mean has one dim",
    "native_dropout_backward": "it takes a mask of 0 and 1 for one of bits",
    "nn.functional.gelu": "the operator Gelu is the tanh form",
    "nn.functional.interpolate (nearest)": "it gives the operator sizes, not the scale",
    "nn.functional.upsample_nearest": "it gives the operator sizes, not the scale",
    "nn.functional.max_pool1d": "its indices are a mask for its own gradient",
    "nn.functional.max_pool2d": "its indices are a mask for its own gradient",
    "nn.functional.max_pool3d": "its indices are the input",
}
"""Where a right call gives something else than CPU torch, because torch-npu asks for something else."""

ENDLESS = {("index_fill", 0): "it does not come back from a 0-d tensor: a loop in torch-npu"}
"""Samples that are not tried: operator and number."""


@dataclass(frozen=True)
class Outcome:
    """What came of one sample, one of KINDS; what was said; which operators of AscendCL were called."""

    kind: str
    text: str = ""
    operators: tuple[str, ...] = ()


def name_of(op: Any) -> str:
    """The name of an operator and of its variant."""
    return f"{op.name} ({op.variant_test_name})" if op.variant_test_name else str(op.name)


def samples(op: Any) -> list[Any]:
    """The first samples of an operator, in float32, always the same."""
    torch.manual_seed(0)
    return list(islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), SAMPLES))


def on(device: str, value: Any) -> Any:
    """A sample's arguments on a device."""

    def moved(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return leaf.to(device, copy=True)
        return device if leaf in ("cpu", torch.device("cpu")) and isinstance(leaf, str | torch.device) else leaf

    return tree_map(moved, value)


def called(op: Any, sample: Any, device: str) -> Callable[[], list[Any]]:
    """Calls an operator on a device, with its arguments there already; gives the leaves of the result."""
    first, args, kwargs = on(device, (sample.input, sample.args, sample.kwargs))

    def call() -> list[Any]:
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            leaves: list[Any] = tree_flatten(op(first, *args, **kwargs))[0]
        return [leaf.detach().to("cpu", copy=True) if isinstance(leaf, Tensor) else leaf for leaf in leaves]

    return call


@contextmanager
def recorded() -> Iterator[list[str]]:
    """The operators of AscendCL that are called meanwhile."""
    found: list[str] = []
    prepare = execute.prepare

    def seen(via: str, op_type: str, *rest: Any) -> Any:
        found.append(op_type)
        return prepare(via, op_type, *rest)

    _machine.drop_plans(0)
    execute.prepare = seen
    try:
        yield found
    finally:
        execute.prepare = prepare


def same(one: Any, other: Any, values: bool) -> None:
    """AssertionError when two leaves differ; without ``values``, in dtype or shape."""
    if not isinstance(other, Tensor):
        assert one == other or (isinstance(one, float) and isnan(one)), f"{one}, on the CPU {other}"
        return
    assert one.dtype == other.dtype, f"{one.dtype}, on the CPU {other.dtype}"
    assert one.shape == other.shape, f"{tuple(one.shape)}, on the CPU {tuple(other.shape)}"
    if values:
        finite = other[other.isfinite()].abs() if other.is_floating_point() else other.new_zeros(0)
        largest = finite.max().item() if finite.numel() else 0
        torch.testing.assert_close(one, other, rtol=NEAR, atol=NEAR * max(1, min(largest, 1e3)), equal_nan=True)


def is_drawn(op: Any, sample: Any, want: list[Any]) -> bool:
    """Whether an operator gives random numbers, or memory as it was: other ones after another seed."""
    if "empty" in op.name:
        return True
    seeded = torch.manual_seed
    with mock.patch.object(torch, "manual_seed", lambda seed: seeded(seed + 1)):  # OpInfo sets seeds of its own, too
        again = called(op, sample, "cpu")()
    floats = [(a, b) for a, b in zip(again, want, strict=True) if isinstance(a, Tensor) and not a.is_complex()]
    return not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in floats)


def refusal(error: BaseException) -> Outcome:
    """Who refused, by the text of the exception."""
    text = str(error)
    ours = re.search(r"HA\d{3}.*", text)
    if ours and ours[0].startswith("HA526"):
        return Outcome("wrong", ours[0])
    if ours:
        return Outcome("refused by hostacl", re.sub(r"[;,]? submitted at .*", "", ours[0]))
    lines = [line for line in text.splitlines() if line.strip()] or [type(error).__name__]
    return Outcome("refused by torch-npu", lines[0])


def judged(op: Any, sample: Any) -> Outcome:
    """One sample on both devices."""
    try:
        want = called(op, sample, "cpu")()
        drawn = is_drawn(op, sample, want)
    except Exception as error:
        return Outcome("no reference", str(error))
    operators: list[str] = []
    try:
        call = called(op, sample, "npu")
        with recorded() as operators:
            got = call()
            torch.npu.synchronize()
    except Exception as error:
        refused = refusal(error)
        return Outcome(refused.kind, refused.text, tuple(operators))
    try:
        assert len(got) == len(want), f"{len(got)} results, on the CPU {len(want)}"
        for one, other in zip(got, want, strict=True):
            same(one, other, not drawn)
    except AssertionError as error:
        kind = "otherwise" if name_of(op) in OTHERWISE else "wrong"
        return Outcome(kind, " ".join(str(error).split()), tuple(operators))
    return Outcome("right", "", tuple(operators))


def healthy() -> bool:
    """Whether the device still computes: after a failure at run time torch-npu counts it as lost."""
    try:
        return bool((torch.ones(3, device="npu") + 1).sum().item() == 6)
    except RuntimeError:
        return False
