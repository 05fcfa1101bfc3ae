"""All node tests of the onnx wheel: whatever the CANN provider runs equals its golden, and the process ends well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.onnxruntime.node_tests import COPIES

pytestmark = pytest.mark.client
ROOT = Path(__file__).parents[3]
KNOWN = 319
"""Node tests of onnx 1.17 that put a node on the CANN provider of 1.24.4."""
DO_NOT_LOAD = {"test_batchnorm_example_training_mode", "test_batchnorm_epsilon_training_mode"}
"""The provider claims these nodes, then has no kernel for them: no session is made, nothing was asked of hostacl."""


def run_all(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    out = folder / "results.json"
    command = [sys.executable, "-m", "tests.clients.onnxruntime.node_tests", str(out)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Traceback" not in done.stderr
    return dict(json.loads(out.read_text()))


def library_path_alone() -> dict[str, str]:
    """An environment in which nothing but LD_LIBRARY_PATH leads to hostacl."""
    from hostacl.toolkit_path import library_folder

    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "PATH", "TMPDIR")}
    return {**kept, "LD_LIBRARY_PATH": str(library_folder())}


@pytest.fixture(scope="module", params=["hostacl run", "LD_LIBRARY_PATH alone"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    environment = dict(os.environ) if request.param == "hostacl run" else library_path_alone()
    return run_all(tmp_path_factory.mktemp("nodes"), environment)


def test_as_many_as_known_run_on_the_cann_provider(results: dict[str, Any]) -> None:
    on_cann = [name for name, result in results.items() if result["cann"]]
    print(f"{len(on_cann)} of {len(results)} node tests put a node on the CANN provider")
    assert len(on_cann) >= KNOWN
    assert sum(1 for name in on_cann if set(results[name]["cann"]) - COPIES) >= KNOWN - 4


def test_every_node_test_equals_its_golden(results: dict[str, Any]) -> None:
    wrong = {name: result["wrong"] for name, result in results.items() if result["wrong"] and not result["cpu"]}
    assert not set(wrong) - DO_NOT_LOAD, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_few_fail_because_onnxruntime_itself_cannot_run_them(results: dict[str, Any]) -> None:
    alike = {name: result["cpu"] for name, result in results.items() if result["cpu"]}
    assert len(alike) <= 140, "\n".join(f"{name}: {text}" for name, text in alike.items())
