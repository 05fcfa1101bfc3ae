"""Nothing is collected where ONNX Runtime's CANN build is not installed: these tests have an environment of their own."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import pytest


def client_installed() -> bool:
    """Whether this Python has onnxruntime-cann."""
    try:
        return bool(distribution("onnxruntime-cann"))
    except PackageNotFoundError:
        return False


collect_ignore_glob = [] if client_installed() else ["test_*.py"]


@dataclass(frozen=True)
class Sent:
    """An operator as the provider asks for it."""

    op_type: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """What the provider asks for during the test, as far as no call of the same kind was made before."""
    from hostacl.ops.operator import Operator

    seen: list[Sent] = []
    bind = Operator.bind

    def noted(self: Operator, inputs: Any, outputs: Any, attrs: Any) -> Any:
        seen.append(Sent(self.op_type, tuple(inputs), {name: value for name, (_, value) in attrs.items()}))
        return bind(self, inputs, outputs, attrs)

    monkeypatch.setattr(Operator, "bind", noted)
    return seen
