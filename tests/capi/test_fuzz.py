"""Bad input at every exported function: a code and a text, and the process lives.

``HOSTACL_FUZZ_SEED`` and ``HOSTACL_FUZZ_CALLS`` (150 of each function) look elsewhere and longer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

SEED = os.environ.get("HOSTACL_FUZZ_SEED", "1")
CALLS = int(os.environ.get("HOSTACL_FUZZ_CALLS", "150"))
SHARDS = 4


@pytest.mark.parametrize("scheduler", ["eager", "deferred"])
@pytest.mark.parametrize("shard", range(SHARDS))
def test_any_argument_gives_a_code_and_a_text(toolkit: Path, tmp_path: Path, shard: int, scheduler: str) -> None:
    trace = tmp_path / "trace"
    command = [sys.executable, "-m", "tests.capi.fuzz", SEED, str(CALLS), str(shard), str(SHARDS), str(trace)]
    env = {**os.environ, "HOSTACL_SCHEDULER": scheduler, "PYTHONPATH": os.pathsep.join([str(toolkit.parent.parent), str(ROOT)])}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60 + CALLS / 10, check=False)
    last = trace.read_text(errors="replace").splitlines()[0] if trace.exists() else "nothing"
    assert (done.returncode, last) == (0, "done"), f"the last call was {last}\n{done.stdout}{done.stderr}"
