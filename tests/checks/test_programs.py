"""Misuses in processes of their own: reported by code, function, place and value; put right, nothing is.

The tests are made of the table: ``test_ha529_one_add[c-wrong]`` and so on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hostacl.checks.rule import rule
from tests.capi.conftest import PROGRAMS as ADD_H
from tests.checks.programs import PROGRAMS, SOURCES, Program

SHARED = bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))


def command(one: Program, compile_c: Callable[..., Path]) -> list[str]:
    source = SOURCES / one.source
    if one.face == "python":
        return [sys.executable, str(source)]
    flags = [f"-I{ADD_H}", "-lascendcl", "-lacl_op_compiler"]
    return [str(compile_c(source.read_text(), *flags, compiler="g++" if source.suffix == ".cpp" else "gcc", name=source.stem))]


def environment(one: Program, c_env: dict[str, str], folder: Path, wrong: bool) -> dict[str, str]:
    """A C program's, or this process's, with all rules but for what is left alive."""
    env = dict(os.environ if one.face == "python" else c_env)
    added = one.environment(folder, wrong)
    if "PYTHONPATH" in added:
        added["PYTHONPATH"] = os.pathsep.join(filter(None, [added["PYTHONPATH"], env.get("PYTHONPATH", "")]))
    checks = {"HOSTACL_CHECK": "all", "HOSTACL_IGNORE": "HA9", "HOSTACL_REPORT_FILE": str(folder / "report.json")}
    return {**env, **checks, **added}


def check(one: Program, wrong: bool, compile_c: Callable[..., Path], c_env: dict[str, str], folder: Path) -> None:
    parts = [*command(one, compile_c), "wrong" if wrong else "right"]
    env = environment(one, c_env, folder, wrong)
    done = subprocess.run(parts, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    reports: list[dict[str, Any]] = json.loads((folder / "report.json").read_text())["reports"]
    assert [report["code"] for report in reports] == ([one.code] if wrong else []), reports
    for report in reports:
        page = rule(one.code)
        assert (report["function"], report["place"]) == (one.function, one.place)
        assert (report["name"], report["severity"]) == (page.title, page.severity)
        assert str(report["returned"]) in page.returns
        assert Path(one.source).stem in report["at"]
        assert one.says
        for part in one.says:
            assert part in report["message"]


def made(ones: list[Program]) -> Any:
    """The test of a rule, for each face, wrong and right."""

    @pytest.mark.parametrize("wrong", [True, False], ids=["wrong", "right"])
    @pytest.mark.parametrize("one", ones, ids=[one.face for one in ones])
    def test(one: Program, wrong: bool, compile_c: Callable[..., Path], c_env: dict[str, str], tmp_path: Path) -> None:
        if one.face == "c" and not SHARED:
            pytest.skip("this Python has no shared libpython")
        check(one, wrong, compile_c, c_env, tmp_path)

    return test


for _code in sorted({code for code, _ in PROGRAMS}):
    globals()[f"test_{_code.lower()}"] = made([one for (code, _), one in PROGRAMS.items() if code == _code])
