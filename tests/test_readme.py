"""The READMEs: the same commands, settings and links in both languages, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [(ROOT / name).read_text() for name in ("README.md", "README.zh-CN.md")]


COMMANDS, EXAMPLES = r"```sh\n(.*?)\n```", r"^    (hostacl \S+ [\w.=-]+)"
SETTINGS, LINKS, NUMBERS = r"\b(?:HOSTACL|ASCEND)_[A-Z_]+=?\w*", r"\]\(((?!README)[^)]+)\)", r"^\| (\d+) \|"


@pytest.mark.parametrize("pattern", [COMMANDS, EXAMPLES, SETTINGS, LINKS, NUMBERS])
def test_both_languages_say_the_same(pattern: str) -> None:
    english, chinese = (re.findall(pattern, text, re.MULTILINE | re.DOTALL) for text in TEXTS)
    assert english
    assert sorted(english) == sorted(chinese)


@pytest.mark.parametrize("text", TEXTS)
def test_links_lead_somewhere(text: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("text", TEXTS)
def test_every_example_is_named(text: str) -> None:
    there = {path.name.removesuffix(".py") for path in (ROOT / "examples").iterdir() if path.name[0] not in "_."}
    assert there - {"common"} <= set(re.findall(r"^\| \[(\w+)\]", text, re.MULTILINE))
