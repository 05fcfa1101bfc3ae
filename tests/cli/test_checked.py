"""``hostacl run --check``: which arguments are its own, what the program is given, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hostacl.cli import checked
from hostacl.cli.run import _with_values

PRINT = "import os; print({k: v for k, v in os.environ.items() if k in ('HOSTACL_CHECK', 'HOSTACL_IGNORE', 'HOSTACL_REPORT')})"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (["--check", "prog"], ["--check=all", "prog"]),
        (["--check=HA2", "prog", "--check"], ["--check=HA2", "prog", "--check"]),
        (["prog", "--check"], ["prog", "--check"]),
        (["--", "--check"], ["--", "--check"]),
        (["--report", "json", "--check", "prog"], ["--report", "json", "--check=all", "prog"]),
        (["--ignore", "HA9", "--check", "prog", "--check"], ["--ignore", "HA9", "--check=all", "prog", "--check"]),
        (["--report-file", "f", "prog", "--check"], ["--report-file", "f", "prog", "--check"]),
        (["--report=json", "--check", "prog"], ["--report=json", "--check=all", "prog"]),
    ],
)  # fmt: skip
def test_what_stands_behind_check_is_the_command(given: list[str], taken: list[str]) -> None:
    assert list(_with_values(given)) == taken


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hostacl.cli.main", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        (["--check"], {"HOSTACL_CHECK": "all", "HOSTACL_REPORT": "text"}),
        (["--check=HA2", "--ignore=HA204"], {"HOSTACL_CHECK": "HA2", "HOSTACL_IGNORE": "HA204", "HOSTACL_REPORT": "text"}),
        (["--report", "json"], {"HOSTACL_CHECK": "all", "HOSTACL_REPORT": "json"}),
        ([], {}),
    ],
)
def test_the_program_finds_the_settings_in_its_environment(options: list[str], environ: dict[str, str]) -> None:
    done = run(*options, sys.executable, "-c", PRINT)
    assert (done.returncode, eval(done.stdout)) == (0, environ)


@pytest.mark.parametrize(("code", "ends"), [("", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_strict_ends_as_the_program_does(code: str, ends: int) -> None:
    assert run("--strict", sys.executable, "-c", code).returncode == ends


def test_strict_puts_the_reports_of_all_processes_into_one_file(tmp_path: Path) -> None:
    misuse = "import acl; acl.init(); acl.rt.set_device(0); acl.rt.free(0)"
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {misuse!r}]); {misuse}"
    file = tmp_path / "report.json"
    assert run("--strict", "--report-file", file, sys.executable, "-c", both).returncode == 1
    assert [report["code"] for report in json.loads(file.read_text())["reports"]] == ["HA203", "HA203"]


def test_a_program_that_is_not_there() -> None:
    done = run("--check", "--strict", "no_such_program")
    assert (done.returncode, done.stdout) == (127, "")
    assert "no_such_program" in done.stderr


def test_serious_is_more_than_portability() -> None:
    assert {"error", "undefined", "leak"} == checked.SERIOUS
