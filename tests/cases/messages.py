"""What the message of each case must name: messages.jsonl, and the check of a text against it.

A line is one message of a case: the code that the call returns (0: it goes on, and is reported) or the exception's name, the
rule, the names that must stand in the text as whole words, and the places of a program that it must give ("submitted at" a
line of a file). A case that is no fault has a line that says why it is quiet. The names are those that the report wants, and
what any message must have: the operator or argument, the value given, what is allowed, what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hostacl import _machine
from tests.calls import message

MESSAGES = [json.loads(line) for line in (Path(__file__).parent / "messages.jsonl").read_text("utf-8").splitlines()]
BY_NAME: dict[str, dict[str, Any]] = {f"{one['case']} {one['of']}": one for one in MESSAGES if "of" in one}


def told(name: str, text: str, code: int | str, function: str, *values: str) -> None:
    """The text of this message, from this call, must have its code, rule, function, names, places, and this run's values."""
    wanted = BY_NAME[name]
    assert code == wanted["code"], f"{name}: {code} {text}"
    lacking = [one for one in [*wanted["names"], f"{function}()", *values] if not has(text, one)]
    lacking += [place for place in wanted.get("sites", []) if not re.search(rf"\b{place} \S+\.py:\d", text)]
    if "rule" in wanted and not text.startswith(f"{wanted['rule']}: "):
        lacking.append(wanted["rule"])
    assert not lacking, f"{name}: {lacking} not in: {text}"


def has(text: str, name: str) -> bool:
    """Whether a text has a name as a whole word: "int" is not in "list_int", nor "2" in "32"."""
    before, after = (r"(?<!\w)" if name[0].isalnum() else ""), (r"(?!\w)" if name[-1].isalnum() else "")
    return bool(re.search(before + re.escape(name) + after, text))


def reported(rule: str, function: str) -> tuple[str, int, str]:
    """The newest report of a rule since the last time, as `told` takes it: its text with its place, 0, the function."""
    found = [one for one in _machine.take_reports() if one[0] == rule]
    assert found, f"no report of {rule}"
    _, caller, text, at, code, _ = found[-1]
    return f"{rule}: {caller}(): {text}; called at {at}", code, function


def last(code: int) -> tuple[str, int]:
    """The newest text beside a call's code."""
    return message(), code


def type_error(call: Callable[[], object]) -> tuple[str, str]:
    """The text of the TypeError that a call raises."""
    with pytest.raises(TypeError) as raised:
        call()
    return str(raised.value), "TypeError"
