"""Large calls made of tiny tensors: all that tests of divided calls change in ops/batches.py."""

from __future__ import annotations

from typing import Any

import pytest

from hostacl.ops import batches


def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tensors of more than 64 bytes are large from here on; the list gets the length of what each cut divides."""
    seen: list[int] = []
    for name in ("divided", "summed"):
        original = getattr(batches, name)

        def spy(call: Any, cut: Any, *rest: Any, original: Any = original) -> Any:
            seen.append(cut.size)
            return original(call, cut, *rest)

        monkeypatch.setattr(batches, name, spy)
    monkeypatch.setattr(batches, "LARGE_BYTES", 64)
    monkeypatch.setattr(batches, "PART_BYTES", 16)
    return seen
