"""Settings at run time: the machine's and the operators', changed for a while and put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, cast

from hostacl import _machine, config
from hostacl.errors import AclError

OF_OPERATORS = frozenset(field.name for field in fields(config.Settings)) - {"overflow"}
"""Settings that the operator library reads; soc and cann are read by both sides."""

INVALID = 100000

OF_BOTH = frozenset({"soc", "cann"})


@contextmanager
def settings(**changes: str) -> Iterator[None]:
    """Runs a ``with`` block under other settings: ``with hostacl.settings(soc="Ascend310P", dtypes="permissive"): …``.

    Names are those of the HOSTACL_… variables in small letters: soc, dtypes, cann, engine, scheduler, devices, fill, and of the
    rules of use check, ignore and on_misuse: ``settings(check="all", on_misuse="raise")``.
    Plans made before are made anew. AclError 100000 for an unknown name or a value that is not allowed; nothing changes then.
    """
    operators = {name: value for name, value in changes.items() if name in OF_OPERATORS}
    _check(operators)
    machine = {name: value for name, value in changes.items() if name not in OF_OPERATORS or name in OF_BOTH}
    before = {name: _machine.setting(name) for name in machine}
    _configure(machine, before)
    try:
        with config.override(**operators):
            _machine.drop_plans(0)
            yield
    finally:
        _configure(before, before)
        _machine.drop_plans(0)


def _check(operators: dict[str, str]) -> None:
    """Raises AclError when the operators cannot have these settings."""
    try:
        replace(config.settings(), **cast(Any, operators))
    except ValueError as error:
        raise AclError(INVALID, "HA105", f"hostacl.settings(): {error}") from error


def _configure(values: dict[str, str], before: dict[str, str]) -> None:
    for name, value in values.items():
        code = _machine.configure(name, str(value))
        if code:
            text = (_machine.aclGetRecentErrMsg() or f"HA105: {name} = {value!r}").partition(": ")[2]
            for done, old in before.items():
                _machine.configure(done, old)
            raise AclError(code, "HA105", text)
