"""Every code that is raised has a page, every page's code is raised, and every page says what a page must."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hostacl.checks.rule import Rule, rule, rules

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\bHA[1-9]\d\d\b")


def raised() -> set[str]:
    """The codes in the sources, but for the pages and their table."""
    files = [path for top in ("src/hostacl", "native") for path in (ROOT / top).rglob("*")]
    written = [path for path in files if path.suffix in {".py", ".cpp", ".hpp", ".inc"} and path.name != "rules.inc"]
    sources = [path for path in written if path.parent.name != "checks"]
    return {code for path in sources for code in CODE.findall(_without_examples(path.read_text()))}


def _without_examples(text: str) -> str:
    """Without the codes that help texts show as examples."""
    return re.sub(r"explain HA\d{3}|\(HA\d{3}\)|rule HA…|code such as ``HA\d{3}``", "", text)


@pytest.mark.skipif(not (ROOT / "native").exists(), reason="the sources are not here")
def test_every_raised_code_has_a_page() -> None:
    assert raised() - set(rules()) == set()


@pytest.mark.skipif(not (ROOT / "native").exists(), reason="the sources are not here")
def test_every_page_is_of_a_code_that_is_raised() -> None:
    assert set(rules()) - raised() == set()


@pytest.mark.parametrize("one", rules().values(), ids=list(rules()))
def test_page_says_what_and_where_from(one: type[Rule]) -> None:
    page = one.page()
    assert page.split("\n\n")[0].endswith((".", ":"))
    assert "\nFrom: " in page
    assert one.severity in {"error", "undefined", "portability", "leak"}
    assert re.search(r"\d", one.returns) or "atc" in one.returns or "NULL" in one.returns
    assert re.search(r"\nWrong:  .*\nRight:  .*\n\nFrom: ", page, re.DOTALL)


def test_rule_is_found_in_any_case() -> None:
    assert rule("ha502").title == "dtype not supported"
    with pytest.raises(KeyError):
        rule("HA999")


def test_a_code_is_given_once() -> None:
    with pytest.raises(ValueError, match="HA502"):
        type("Again", (Rule,), {}, code="HA502", title="again", returns="0")
