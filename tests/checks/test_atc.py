"""The rules of the command ``atc``: refused by code, place and value; put right, the model is written and nothing is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hostacl.checks.rule import rule

TENSOR = {"format": "ND", "shape": [4], "type": "float"}


def atc(folder: Path, operator: object, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs ``atc`` in a folder, on a file of one operator."""
    (folder / "ops.json").write_text(json.dumps([operator]))
    command = [sys.executable, "-m", "hostacl.cli.main", "atc", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def check(done: subprocess.CompletedProcess[str], code: str, said: str) -> None:
    """A refusal under this code, or none when there is no code."""
    assert (done.returncode, rule(code).returns) == (1 if said else 0, "atc ends with 1"), done.stdout + done.stderr
    text = done.stdout + done.stderr
    assert (f"{code}: {said}" in text) if said else ("HA" not in text)


@pytest.mark.parametrize(
    ("dtype", "said"), [("int33", '[0].input_desc[0].type = "int33"; allowed: '), ("float", "")], ids=["wrong", "right"]
)
def test_ha613_unknown_type(dtype: str, said: str, tmp_path: Path) -> None:
    operator = {"op": "Abs", "input_desc": [{**TENSOR, "type": dtype}], "output_desc": [TENSOR]}
    check(atc(tmp_path, operator, "--singleop=ops.json", "--output=models"), "HA613", said)
    assert list((tmp_path / "models").glob("*.om")) != [] or said


@pytest.mark.parametrize(
    ("name", "said"), [("none.json", "--singleop=none.json: "), ("ops.json", "")], ids=["wrong", "right"]
)  # fmt: skip
def test_ha614_missing_file(name: str, said: str, tmp_path: Path) -> None:
    operator = {"op": "Abs", "input_desc": [TENSOR], "output_desc": [TENSOR]}
    check(atc(tmp_path, operator, f"--singleop={name}", "--output=models"), "HA614", said)
    assert list((tmp_path / "models").glob("*.om")) != [] or said
