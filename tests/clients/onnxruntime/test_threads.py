"""Several sessions on both providers, run from several threads at once: same values, flat memory, a clean end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.client
ROOT = Path(__file__).parents[3]
RUNS = 1000
MAY_GROW_KIB = 8 * 1024


def test_a_thousand_runs_from_four_threads() -> None:
    command = [sys.executable, "-m", "tests.clients.onnxruntime.threads_program", str(RUNS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said = json.loads(done.stdout)
    print(f"VmRSS {said['before']} KiB before, {said['after']} KiB after {RUNS} runs")
    assert said["wrong"] == []
    assert said["after"] - said["before"] < MAY_GROW_KIB, said


@pytest.mark.parametrize("way", ["threads", "fork", "spawn"])
def test_sessions_come_and_go_and_fail_while_others_run(way: str) -> None:
    quiet = "ignore::DeprecationWarning"  # Python 3.12 and newer warn of a fork beside threads
    command = [sys.executable, "-W", quiet, "-m", "tests.clients.onnxruntime.crowd_program", way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == []
