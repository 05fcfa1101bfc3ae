"""Call sites of a C program: what stands between a public function and its guard is inlined, or the site would be our own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CAPI = Path(__file__).resolve().parents[2] / "native" / "capi"
HELPER = re.compile(r"^(.*)\(const char\* function[^{]*\{\n(?:[^}]*;\n)? +(?:return )?guarded(?:_or)?\(function", re.MULTILINE)


@pytest.mark.skipif(not CAPI.exists(), reason="the sources are not here")
def test_helpers_around_the_guard_are_inlined() -> None:
    texts = [path.read_text() for path in CAPI.glob("*.cpp")]
    found = [one for text in texts for one in HELPER.findall(text)]
    assert len(found) == sum(len(re.findall(r"guarded(?:_or)?\(function", text)) for text in texts)
    assert [one for one in found if "HACL_INLINE" not in one] == []
