"""A rule of use: its code, what breaking it returns, and its page. Each rule is a class whose docstring is the page."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import ClassVar, Literal

Severity = Literal["error", "undefined", "portability", "leak"]
"""What a card does.

error: returns a code. undefined: may crash, pass, or give wrong values. portability: may refuse what works here.
leak: nothing, but something was never given back.
"""

PAGES = ("lifecycle", "memory", "streams", "descriptors", "operators", "models", "leaks")
"""The modules that hold the pages, by the hundreds of their codes."""

_RULES: dict[str, type[Rule]] = {}


class Rule:
    """Base of all rules. A subclass names code, severity and what the call returns; its docstring is the page.

    The page's first line says what is wrong; then why it matters, an example, the same put right, and where the rule
    comes from.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    severity: ClassVar[Severity]
    returns: ClassVar[str]
    answer: ClassVar[bool]
    """A code that programs ask for, such as a timeout: it is no misuse, and checks do not report it."""

    def __init_subclass__(
        cls, code: str, title: str, returns: str, severity: Severity = "error", answer: bool = False
    ) -> None:
        if code in _RULES:
            raise ValueError(f"{code} is already {_RULES[code].title!r}")
        cls.code, cls.title, cls.returns, cls.severity, cls.answer = code, title, returns, severity, answer
        _RULES[code] = cls

    @classmethod
    def page(cls) -> str:
        """The page, without its indentation."""
        return inspect.getdoc(cls) or ""

    @classmethod
    def summary(cls) -> str:
        """The page's first paragraph, in one line."""
        return " ".join(cls.page().partition("\n\n")[0].split())


def rules() -> dict[str, type[Rule]]:
    """Every rule by its code, sorted."""
    for name in PAGES:
        import_module(f"hostacl.checks.{name}")
    return dict(sorted(_RULES.items()))


def rule(code: str) -> type[Rule]:
    """The rule of a code such as ``HA204``, in any case; KeyError when there is none."""
    return rules()[code.upper()]
