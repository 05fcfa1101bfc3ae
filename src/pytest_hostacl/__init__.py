"""The pytest plugin: with ``--hostacl-check`` a test fails when the program it runs breaks a rule of use.

Without the option it only offers the fixture ``acl_device``. A package of its own: pytest loads it in every run, hostacl only
when it is needed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hostacl.testing.reports import Report


class PortabilityWarning(UserWarning):
    """What works here and may be refused by a card."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """--hostacl-check, or hostacl_check in the ini file; which rules count."""
    group = parser.getgroup("hostacl")
    group.addoption("--hostacl-check", action="store_true", help="check AscendCL's rules of use in every test")
    group.addoption("--hostacl-select", default="", metavar="CODES", help="check only these codes or prefixes (HA2,HA309)")
    group.addoption("--hostacl-ignore", default="", metavar="CODES", help="leave these rules out")
    parser.addini("hostacl_check", "check AscendCL's rules of use in every test", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Turns the checks on where they are asked for. By the environment: a hostacl.reset() reads that again."""
    select, ignore = str(config.getoption("--hostacl-select")), str(config.getoption("--hostacl-ignore"))
    if not (select or ignore or config.getoption("--hostacl-check") or config.getini("hostacl_check")):
        return
    from hostacl import _machine

    for name, option, codes in (("check", "select", select or "all"), ("ignore", "ignore", ignore)):
        if _machine.configure(name, codes):
            raise pytest.UsageError(f"--hostacl-{option}={codes}: {_machine.aclGetRecentErrMsg()}")
        os.environ[f"HOSTACL_{name.upper()}"] = codes
    config.pluginmanager.register(_Checks(), "hostacl-checks")


class _Checks:
    """Fails the test, in the phase that broke the rule."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        from hostacl.testing.reports import take

        take()
        return _judged(item, "setup", (yield from _noted(item, "setup")))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return _judged(item, "call", (yield from _noted(item, "call")))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return _judged(item, "teardown", (yield from _noted(item, "teardown")))


def _noted(item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
    """The phase's own answer; when it fails by itself, what was reported stands beside its traceback."""
    from hostacl.testing.reports import take

    try:
        return (yield)
    except BaseException:
        if found := take():
            item.add_report_section(phase, "hostacl", "\n".join(map(str, found)))
        raise


def _judged(item: pytest.Item, phase: str, answer: Any) -> Any:
    from hostacl.testing.reports import take

    found = take()
    for report in found:
        if not report.serious:
            warnings.warn(PortabilityWarning(str(report)), stacklevel=1)
    if serious := [report for report in found if report.serious]:
        _fail(serious)
    return answer


def _fail(found: list[Report]) -> None:
    text = "\n".join(map(str, found))
    pytest.fail(f"{text}\n`hostacl explain {found[0].code}` prints the rule's page", pytrace=False)


@pytest.fixture
def acl_device() -> Iterator[int]:
    """Device 0, initialised and set, on a machine as it was when the process began; what the test leaves behind fails it."""
    import acl
    import hostacl
    from hostacl import _machine
    from hostacl.testing.reports import take

    hostacl.reset()
    if not _machine.setting("check"):
        _machine.configure("check", "all")
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield 0
    before = take()
    _machine.report_leaks()
    leaks = [report for report in take() if report.severity == "leak"]
    hostacl.reset()
    if serious := [report for report in [*before, *leaks] if report.severity == "leak"]:
        _fail(serious)
