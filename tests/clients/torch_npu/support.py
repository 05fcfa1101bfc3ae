"""Programs of their own for what one process cannot show: environments, exits, errors that stay."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import hostacl

ROOT = Path(__file__).parents[3]
TOOLKIT = str(Path(hostacl.__file__).parent / "toolkit" / "lib64")

SAID = (  # all that torch-npu writes to stderr when nothing is wrong
    r"\[W\d{4} .* NPUCachingAllocator\.cpp:\d+\] Warning: .* require processing for 32 padding size, .*",
    r"\[W\d{4} .* AmpForeachNonFiniteCheckAndUnscaleKernelNpu\.cpp:\d+\] Warning: Non finite check and unscale .*",
    r"\[W\d{4} .* TensorFactories\.cpp:\d+\] Warning: Cannot create tensor with internal format .*",
    r"\[W\d{4} .* ToKernelNpu\.cpp:\d+\] Warning: Device do not support double dtype now, .*",
)


def run(code: str, *, under_run: bool = True, library_path: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a Python of its own: under `hostacl run`, with LD_LIBRARY_PATH alone, or with neither."""
    env = {name: value for name, value in os.environ.items() if name not in BLANK} | {"PYTHONPATH": str(ROOT)} | environ
    if library_path and not under_run:
        env["LD_LIBRARY_PATH"] = TOOLKIT
    command = [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", code]
    if under_run:
        command = [str(Path(sys.executable).parent / "hostacl"), "run", *command]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


BLANK = {"LD_LIBRARY_PATH", "LD_PRELOAD", "ASCEND_LAUNCH_BLOCKING", "TASK_QUEUE_ENABLE", "PYTHONPATH"}


def unexpected(stderr: str) -> list[str]:
    """The lines of stderr that torch-npu does not write in a run where all is well."""
    return [line for line in stderr.splitlines() if line.strip() and not any(re.fullmatch(one, line) for one in SAID)]


def succeeds(code: str, **options: str | bool) -> str:
    """Runs a program that must end well and quietly; gives its output."""
    done = run(code, **options)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    assert not unexpected(done.stderr), done.stderr
    return done.stdout
