"""Each case of a fault in a program has a message that a test looks at, or a line that says why there is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.driver import CASES
from tests.cases.messages import BY_NAME, MESSAGES, has, told

FAULTS = {"api-misuse", "async", "memory", "threading"}


def marks(function: ast.FunctionDef) -> set[str]:
    """The cases that a test is of."""
    calls = [one for one in function.decorator_list if isinstance(one, ast.Call)]
    return {ast.literal_eval(arg) for one in calls if ast.unparse(one.func) == "pytest.mark.case" for arg in one.args}


def checked() -> Iterator[tuple[str, str]]:
    """Each case with a message that one of its tests names in a call of `told`, or among its parameters."""
    for path in Path(__file__).parent.glob("test_*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef) and "told(" in ast.unparse(function):
                words = {ast.unparse(one) for one in ast.walk(function) if isinstance(one, ast.Constant)}
                yield from ((case, name) for case in marks(function) for name in BY_NAME if repr(name) in words)


def test_every_case_of_a_fault_has_a_message_or_says_why_not() -> None:
    wanted = {name for name, case in CASES.items() if case["category"] in FAULTS}
    lines = {one["case"] for one in MESSAGES}
    assert wanted - lines == set()
    assert lines - CASES.keys() == set()
    assert not {one["case"] for one in MESSAGES if "quiet" in one} & {one["case"] for one in MESSAGES if "of" in one}


def test_every_message_is_looked_at_by_a_test_of_its_case() -> None:
    assert {(one["case"], name) for name, one in BY_NAME.items()} - set(checked()) == set()


def test_a_code_comes_with_a_rule() -> None:
    for name, one in BY_NAME.items():
        assert isinstance(one["code"], str) != ("rule" in one), name


@pytest.mark.parametrize(
    ("text", "name", "there"),
    [
        ("axes was set as int", "int", True), ("it is list_int.", "int", False), ("N was set", "N", True),
        ("None was set", "N", False), ("DT_FLOAT16", "DT_FLOAT", False), ("32 bytes", "2", False),
        ("x = [1,3]", "[1,3]", True), ("x = -4 to 3;", "-4 to 3", True),
    ],
)  # fmt: skip
def test_names_are_whole_words(text: str, name: str, there: bool) -> None:
    assert has(text, name) == there


GOOD = "HA511: acl.op.compile(): Neg: y is described as [3]; the operator gives [4,3]. Describe it so."


@pytest.mark.parametrize(
    ("text", "code", "function"),
    [
        (GOOD, 0, "acl.op.compile"),
        (GOOD, 500002, "acl.op.execute"),
        (GOOD.replace("HA511", "HA512"), 500002, "acl.op.compile"),
        (GOOD.replace("[4,3]", "[4]"), 500002, "acl.op.compile"),
    ],
    ids=["code", "function", "rule", "value"],
)
def test_a_message_that_lacks_one_thing_is_refused(text: str, code: int, function: str) -> None:
    told("B029 y as [3]", GOOD, 500002, "acl.op.compile")
    with pytest.raises(AssertionError, match="B029 y as"):
        told("B029 y as [3]", text, code, function)
