"""Runs all node tests of the onnx wheel on the CANN provider and writes what came of them: `python -m …node_tests OUT.json`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from tests.clients.onnxruntime.support import CANN, cpu_session, nodes_by_provider, session

ROOT = Path(__file__).parents[3]
COPIES = {"MemcpyFromHost", "MemcpyToHost"}


def data_sets(case: TestCase) -> list[tuple[list[Any], list[Any]]]:
    """The inputs and the golden outputs of a test, read as onnx's own runner reads them."""
    graph = onnx.load(str(Path(case.model_dir) / "model.onnx")).graph
    sets = []
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        values: list[list[Any]] = []
        for kind, described in (("input", graph.input), ("output", graph.output)):
            read: list[Any] = []
            for place in range(len(list(folder.glob(f"{kind}_*.pb")))):
                Runner._load_proto(None, str(folder / f"{kind}_{place}.pb"), read, described[place].type)
            values.append(read)
        sets.append((values[0], values[1]))
    return sets


def compare(made: Any, case: TestCase) -> None:
    """Runs a session on the test's data; AssertionError where it is not the golden, in the tolerance of onnx's runner."""
    for inputs, golden in data_sets(case):
        results = made.run(None, {described.name: value for described, value in zip(made.get_inputs(), inputs, strict=False)})
        for one, result in zip(golden, results, strict=True):
            pairs = (one, result) if isinstance(result, list) else ([one], [result])
            Runner.assert_similar_outputs(*pairs, rtol=case.rtol, atol=case.atol)


def attempt(model: str, case: TestCase, folder: Path | None) -> tuple[list[str], str]:
    """The operators that ran on the CANN provider, and what went wrong ("" when nothing did); no folder: the CPU provider."""
    made, wrong = None, ""
    try:
        made = cpu_session(model) if folder is None else session(model, folder)
        compare(made, case)
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return sorted(set(nodes_by_provider(made).get(CANN, []))) if made and folder else [], wrong


def outcome(case: TestCase, folder: Path) -> dict[str, Any]:
    """What came of a test; where it went wrong with nothing on the CANN provider, what the CPU provider alone says, too."""
    model = str(Path(case.model_dir) / "model.onnx")
    on_cann, wrong = attempt(model, case, folder)
    return {"cann": on_cann, "wrong": wrong, "cpu": attempt(model, case, None)[1] if wrong and not on_cann else ""}


@cache
def all_results(way: str) -> dict[str, Any]:
    """What came of all of them in a process of its own, which must end well; once for each way to start it."""
    environment = library_path_alone() if way == "LD_LIBRARY_PATH alone" else dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results.json"
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


def main(path: str) -> None:
    """Runs them all."""
    with tempfile.TemporaryDirectory() as folder:
        results = {case.name: outcome(case, Path(folder)) for case in load_model_tests(kind="node")}
    Path(path).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
