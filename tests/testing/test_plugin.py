"""The pytest plugin, by a run of pytest over tests that misuse the API, and over the same put right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = '''
import numpy as np
import pytest
import acl
from hostacl.testing import expects

def test_right(acl_device):
    ptr, ret = acl.rt.malloc(64, 0)
    assert acl.rt.free(ptr) == 0

def test_error(acl_device):
    ptr, ret = acl.rt.malloc(64, 0)
    acl.rt.free(ptr)
    acl.rt.free(ptr)

def test_undefined(acl_device):
    event, ret = acl.rt.create_event()
    acl.rt.synchronize_event(event)
    acl.rt.destroy_event(event)

def test_portability(acl_device):
    src, dst = acl.rt.malloc_host(64)[0], acl.rt.malloc(64, 0)[0]
    acl.rt.memcpy(dst, 64, src, 64, 2)
    acl.rt.free(dst), acl.rt.free_host(src)

def test_leak(acl_device):
    acl.create_data_buffer(0, 0)

def test_answer(acl_device):
    assert acl.init() == 100002

def test_own_failure(acl_device):
    acl.rt.free(0)
    assert False, "of its own"

def test_expected(acl_device):
    ptr, ret = acl.rt.malloc(64, 0)
    acl.rt.free(ptr)
    with expects("HA204") as found:
        acl.rt.free(ptr)
    (report,) = found
    assert (report.function, report.place, report.returned, report.severity) == ("acl.rt.free", "devPtr", 107000, "error")
    assert [site.split(":")[0] for site in report.made + report.freed] == ["test_misuse.py"] * 2

def test_expected_and_missing(acl_device):
    with expects("HA204"):
        pass

def test_expected_and_another(acl_device):
    with expects("HA203"):
        acl.rt.free(0)
        acl.destroy_data_buffer(0)

def test_expected_answer(acl_device):
    with expects("HA111") as found:
        assert acl.init() == 100002
    assert [report.code for report in found] == ["HA111"]

def test_raised_within(acl_device):
    acl.rt.free(0)
    with pytest.raises(ZeroDivisionError), expects("HA203"):
        1 / 0

@pytest.fixture
def careless(acl_device):
    acl.rt.free(0)

def test_setup(careless):
    pass
'''


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str]:
    """What became of each test, and all that was printed."""
    return run(tmp_path_factory.mktemp("checked"), "--hostacl-check")


def run(folder: Path, *options: str) -> tuple[dict[str, str], str]:
    (folder / "test_misuse.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "pytest_hostacl", *options, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    found: dict[str, str] = {}
    for name, word in re.findall(r"::test_(\w+) (\w+)", done.stdout):
        found[name] = word if word != "PASSED" or name not in found else found[name]
    return found, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("right", "PASSED"), ("answer", "PASSED"), ("portability", "PASSED"), ("expected", "PASSED"),
        ("error", "FAILED"), ("undefined", "FAILED"), ("own_failure", "FAILED"), ("leak", "ERROR"),
        ("expected_and_missing", "FAILED"), ("expected_and_another", "FAILED"), ("expected_answer", "PASSED"),
        ("raised_within", "FAILED"), ("setup", "ERROR"),
    ],
)  # fmt: skip
def test_a_test_fails_that_breaks_a_rule(outcome: tuple[dict[str, str], str], name: str, word: str) -> None:
    assert outcome[0][name] == word, outcome[1]


def test_the_report_names_rule_function_and_place(outcome: tuple[dict[str, str], str]) -> None:
    text = outcome[1]
    assert re.search(r"error HA204 memory already freed: acl\.rt\.free\(\): devPtr = 0x\w+.*test_misuse\.py:14", text)
    assert "undefined HA309" in text
    assert re.search(r"leak HA902 .* 1 data buffer was never given back: made at test_misuse\.py:27", text)
    assert re.search(r"PortabilityWarning: portability HA211 .*kind = 2", text)
    assert "expected HA204; reported: nothing" in text
    assert "expected only HA203; also reported: error HA401" in text


def test_what_was_reported_stands_beside_a_failure_of_the_tests_own(outcome: tuple[dict[str, str], str]) -> None:
    section = outcome[1].split("___ test_own_failure ___")[1].split("____ test_")[0]
    assert "of its own" in section
    assert "HA203" in section


def test_without_the_option_only_expectations_and_leaks_count(tmp_path: Path) -> None:
    found, text = run(tmp_path)
    failing = {name for name, word in found.items() if word != "PASSED"}
    assert failing == {"leak", "own_failure", "expected_and_missing", "expected_and_another"}, text


def test_codes_choose_what_counts(tmp_path: Path) -> None:
    found, text = run(tmp_path, "--hostacl-select=HA3")
    assert (found["error"], found["undefined"]) == ("PASSED", "FAILED"), text


def test_a_wrong_code_is_told(tmp_path: Path) -> None:
    assert "--hostacl-ignore=XX: " in run(tmp_path, "--hostacl-ignore=XX")[1]
