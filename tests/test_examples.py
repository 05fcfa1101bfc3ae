"""Every example runs as a user would run it, and says itself whether its values are right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.rglob("*.py") if '__name__ == "__main__"' in path.read_text())


def test_there_are_examples() -> None:
    assert {"main.py", "slice_handle.py", "matmul_softmax.py", "conv2d.py", "reduce_sum.py", "gather_bad_index.py",
            "nonzero_infer_shape.py", "gemm_blas.py", "two_profiles.py"} <= {script.name for script in SCRIPTS}  # fmt: skip
    assert {"add", "custom_operator"} <= {script.parent.name for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_example_runs(script: Path, tmp_path: Path) -> None:
    copied = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copied, ignore=shutil.ignore_patterns("op_models", "__pycache__"))
    command = [sys.executable, "-m", "hostacl.cli.main", "run", sys.executable, copied / script.relative_to(EXAMPLES)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


TELLS = {"gather_bad_index.py": 1, "custom_operator/main.py": 1}
"""Examples that show what a misuse is told."""


@pytest.mark.parametrize("scheduler", ["eager", "deferred"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_example_breaks_no_rule(script: Path, scheduler: str, tmp_path: Path) -> None:
    copied = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copied, ignore=shutil.ignore_patterns("op_models", "__pycache__"))
    checked = ["run", "--check", "--strict", sys.executable, copied / script.relative_to(EXAMPLES)]
    done = subprocess.run([sys.executable, "-m", "hostacl.cli.main", *checked], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120, check=False, env={**os.environ, "HOSTACL_SCHEDULER": scheduler})  # fmt: skip
    assert done.returncode == TELLS.get(str(script.relative_to(EXAMPLES)), 0), done.stdout + done.stderr
