"""``hostacl explain``: the page of a rule, or the meaning of a return code."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

import click

from hostacl import status
from hostacl.checks.meanings import MEANINGS
from hostacl.checks.rule import Rule, rules


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Prints what CODE means: a rule (HA502), a return code (100024) or its name (ACL_ERROR_OP_NOT_FOUND).

    Without CODE: every rule in a line.
    """
    if code is None:
        click.echo("\n".join(map(_rule_line, rules().values())))
        return
    text = page(code)
    if text is None:
        click.echo(f"hostacl explain: {code} is no rule and no return code{_nearest(code)}", err=True)
        raise SystemExit(1)
    click.echo(text)


def page(code: str) -> str | None:
    """The text about a rule code, a return code or a return code's name; None when there is no such thing."""
    known = rules()
    if code.upper() in known:
        return _rule_page(known[code.upper()])
    numbers = {name: number for name, number in names().items() if name in {code.upper(), f"ACL_{code.upper()}"}}
    if code.isdecimal():
        numbers = {name: number for name, number in names().items() if number == int(code)}
    return "\n\n".join(_code_page(name, number, known) for name, number in numbers.items()) or None


def names() -> Mapping[str, int]:
    """Every return code by its name."""
    return {name: value for name, value in vars(status).items() if name.startswith("ACL_") and isinstance(value, int)}


def _rule_line(rule: type[Rule]) -> str:
    return f"{rule.code}  {rule.title}: {rule.returns}"


def _rule_page(rule: type[Rule]) -> str:
    return f"{rule.code} {rule.title} ({rule.severity}; returns {rule.returns})\n\n{rule.page()}"


def _code_page(name: str, number: int, known: Mapping[str, type[Rule]]) -> str:
    meaning = [f"  {MEANINGS[number]}"] if number in MEANINGS else []
    return "\n".join([f"{number} {name}", *meaning, *_raised_by(number, known)])


def _raised_by(number: int, known: Mapping[str, type[Rule]]) -> Iterator[str]:
    given = [rule for rule in known.values() if str(number) in rule.returns]
    if given:
        yield "Returned when:"
    for rule in given:
        yield f"  {rule.code} {rule.title}: {rule.summary()}"
    if number:
        yield "acl.get_recent_err_msg() says what was wrong in the call that returned it."


def _nearest(code: str) -> str:
    close = difflib.get_close_matches(code.upper(), [*rules(), *names()], n=3)
    return f"; nearest: {', '.join(close)}" if close else ""
