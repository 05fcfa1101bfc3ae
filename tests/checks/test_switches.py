"""Which rules are on, and what a misuse does: by settings, in a Python program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acl
import hostacl
from hostacl import _machine
from hostacl.errors import AclError, Misuse
from hostacl.testing.reports import take


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    hostacl.reset()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    take()
    yield
    hostacl.reset()


def free_twice() -> int:
    ptr, _ = acl.rt.malloc(64, 0)
    assert acl.rt.free(ptr) == 0
    return int(acl.rt.free(ptr))


@pytest.mark.parametrize(
    ("check", "ignore", "found"),
    [("", "", True), ("all", "", True), ("HA204", "", True), ("ha2,HA3", "", True), ("HA20", "", True), ("HA205", "", False),
     ("", "HA204", False), ("all", "HA2", False), ("HA204", "HA204", False), ("all", "all", False)],
)  # fmt: skip
def test_codes_and_prefixes(check: str, ignore: str, found: bool) -> None:
    with hostacl.settings(check=check, ignore=ignore):
        assert free_twice() == 107000
        assert [report.code for report in take()] == ["HA204"] * found
    assert "HA204" in acl.get_recent_err_msg()


@pytest.mark.parametrize(
    ("name", "value"),
    [("check", "HA"), ("check", "HA2045"), ("check", "HA204,"), ("check", "HA299"), ("ignore", "freed"), ("on_misuse", "crash"),
     ("report", "xml")],
)  # fmt: skip
def test_a_wrong_choice_is_refused(name: str, value: str) -> None:
    with pytest.raises(AclError, match=f"HA105.*{name}.*{value}.*allowed"), hostacl.settings(**{name: value}):
        pass


def test_misuse_raises_in_the_call_that_it_is() -> None:
    with hostacl.settings(on_misuse="raise"):
        ptr, _ = acl.rt.malloc(64, 0)
        assert acl.rt.free(ptr) == 0
        with pytest.raises(Misuse, match=r"HA204: acl\.rt\.free\(\): devPtr = 0x.*at .*test_switches\.py:\d+") as caught:
            acl.rt.free(ptr)
        assert caught.value.rule == "HA204"
        assert acl.init() == 100002  # an answer, no misuse
    assert free_twice() == 107000


def test_portability_and_what_is_ignored_do_not_raise() -> None:
    with hostacl.settings(on_misuse="raise", ignore="HA204"):
        assert free_twice() == 107000
        src, dst = acl.rt.malloc_host(64)[0], acl.rt.malloc(64, 0)[0]
        assert acl.rt.memcpy(dst, 64, src, 64, 2) == 0
    assert [report.code for report in take()] == ["HA211"]


def test_off_reports_nothing_and_changes_no_code() -> None:
    with hostacl.settings(check="all", on_misuse="off"):
        assert free_twice() == 107000
        assert take() == []


def test_settings_are_put_back() -> None:
    names = ("check", "ignore", "on_misuse", "report")
    before = [_machine.setting(name) for name in names]
    with hostacl.settings(check="HA2", ignore="HA3", on_misuse="off", report="none"):
        assert _machine.setting("check") == "HA2"
    assert [_machine.setting(name) for name in names] == before


def test_a_report_holds_each_part() -> None:
    with hostacl.settings(check="all"):
        free_twice()
        (report,) = take()
    assert (report.severity, report.function, report.place, report.returned) == ("error", "acl.rt.free", "devPtr", 107000)
    files = [site.rpartition(":")[0] for site in (report.at, *report.made, *report.freed)]
    assert files == ["tests/checks/test_switches.py"] * 3
    assert report.right == "acl.rt.free(ptr); ptr = 0"


def test_sites_in_files_with_odd_names(tmp_path: Path) -> None:
    """The file's name is in the texts, out of which the JSON takes the sites."""
    file = tmp_path / "my programs, all" / "free; twice.py"
    with hostacl.settings(check="all"):
        exec(compile("free_twice()", str(file), "exec"), {"free_twice": compile_free_twice(str(file))})
        (report,) = take()
    assert [report.at, *report.made, *report.freed] == [f"{file}:{line}" for line in (4, 2, 3)]


def compile_free_twice(file: str) -> object:
    source = "def free_twice():\n    ptr, _ = acl.rt.malloc(64, 0)\n    acl.rt.free(ptr)\n    acl.rt.free(ptr)\n"
    names: dict[str, object] = {"acl": acl}
    exec(compile(source, file, "exec"), names)
    return names["free_twice"]


PROGRAM = """
import os, acl
acl.init(); acl.rt.set_device(0)
ptr, ret = acl.rt.malloc(64, 0)
acl.rt.free(ptr)
if os.fork() == 0:
    os._exit(0)
os.wait()
for _ in range(100): acl.rt.free(ptr)
acl.rt.reset_device(0); acl.finalize()
"""


def test_repeats_are_counted_and_a_child_tells_nothing_of_its_parent() -> None:
    env = {**os.environ, "HOSTACL_CHECK": "all", "HOSTACL_REPORT": "text"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert done.stderr.count("hostacl: error HA204") == 1
    assert "hostacl: HA204 at <string>:9: 100 times" in done.stderr
    assert done.stderr.count("hostacl: found") == 1
