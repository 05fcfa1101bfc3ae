"""Makes ``random_calls`` importable by one name, for these tests and for tools/random_call_table.py alike; tiny pieces."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hostacl.ops import run
from tests.pieces import tiny_pieces

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tensors of more than 64 bytes are large, also for native loops; the list gets the number of each cut's places."""
    monkeypatch.setattr(run, "is_simple", lambda call: False)
    return tiny_pieces(monkeypatch)
