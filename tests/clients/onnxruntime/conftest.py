"""Nothing is collected where ONNX Runtime's CANN build is not installed: these tests have an environment of their own."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """What the provider asks for in the test: operator types with their attributes, as far as they were not asked for before."""
    from hostacl.ops.operator import Operator

    seen: list[tuple[str, dict[str, Any]]] = []
    bind = Operator.bind

    def noted(self: Operator, inputs: Any, outputs: Any, attrs: Any) -> Any:
        seen.append((self.op_type, {name: value for name, (_, value) in attrs.items()}))
        return bind(self, inputs, outputs, attrs)

    monkeypatch.setattr(Operator, "bind", noted)
    yield seen
