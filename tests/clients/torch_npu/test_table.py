"""A part of the wide table: every third operator that OpInfo has samples for."""

from __future__ import annotations

from tests.clients.torch_npu.samples import OPERATORS
from tests.clients.torch_npu.table import by_kind, rows_of, share_right, worst


def test_no_sample_is_wrong_or_crashes() -> None:
    rows = rows_of(range(0, len(OPERATORS), 3))
    kinds = by_kind(rows)
    bad = {name: worst(rows[name]) for name in (*kinds["wrong"], *kinds["crashed"])}
    assert not bad
    assert share_right(rows) >= 0.94, {name: worst(rows[name]) for name in kinds["refused by hostacl"]}
    assert len(kinds["right"]) >= 180
