"""The overflow status: whether an operator's result was not finite since it was last cleared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hostacl.ops.call import Call
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec


class Status(NamedTuple):
    """The process' status, which the machine keeps: ``seen`` an overflow, ``clear`` it, ``watch`` results of any size."""

    seen: Callable[[], bool]
    clear: Callable[[], None]
    watch: Callable[[], None]


_status = Status(lambda: False, lambda: None, lambda: None)


def link(machine: Status) -> None:
    """Says who keeps the status: the machine, which looks at what the operators that it runs have written."""
    global _status  # noqa: PLW0603 - one status for the process
    _status = machine


def status() -> Status:
    """The status; of operators run without the machine it sees nothing."""
    return _status


def updated(call: Call) -> tuple[int, ...]:
    """The places of the inputs that are written, too, though no output stands for them."""
    return tuple(call.inputs[name].positions[0] for name in call.operator.updates if call.has(name))


def watched(call: Call, outputs: Sequence[TensorSpec]) -> tuple[int, ...]:
    """For each output, then each updated input, its dtype's code when it holds floats, else -1.

    Nothing for an operator that only moves elements.
    """
    written = (*outputs, *(call.spec(name) for name in call.operator.updates if call.has(name)))
    codes = tuple(spec.dtype if not spec.absent and spec.dtype in dtypes.FLOATS | dtypes.COMPLEXES else -1 for spec in written)
    return () if call.operator.bits or set(codes) <= {-1} else codes
