"""Makes ``random_calls`` importable by one name, for these tests and for tools/random_call_table.py alike; tiny pieces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hostacl.ops import batches, run

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tensors of more than 64 bytes are large, also for native loops; the list gets the number of each cut's places."""
    seen: list[int] = []
    for name in ("divided", "summed"):
        original = getattr(batches, name)

        def spy(call: Any, cut: Any, *rest: Any, original: Any = original) -> Any:
            seen.append(cut.size)
            return original(call, cut, *rest)

        monkeypatch.setattr(batches, name, spy)
    monkeypatch.setattr(run, "is_simple", lambda call: False)
    monkeypatch.setattr(batches, "LARGE_BYTES", 64)
    monkeypatch.setattr(batches, "PART_BYTES", 16)
    return seen
