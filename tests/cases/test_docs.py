"""What the documents promise: texts that help, a second init, and where each case is tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import acl
from hostacl.ops.schema import known_operators
from tests.calls import build_and_execute, device, execute, message
from tests.cases.conftest import reports
from tests.cases.driver import Run, runs
from tests.cases.messages import reported, told

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.case("B102")
@pytest.mark.parametrize("way", ["execute", "execute_v2"])
def test_an_unknown_operator_is_told_with_the_nearest_names(way: str) -> None:
    run = Run(runs("B102")[0])
    ret = getattr(acl.op, way)(*run.arguments(), 0)
    told("B102 NoSuchOp", message(), ret, f"acl.op.{way}")


@pytest.mark.case("B102")
@pytest.mark.parametrize(
    ("given", "meant"), [("Adds_", "Adds"), ("matmul", "MatMul"), ("GatherV3", "GatherV2"), ("Tranpose", "Transpose")]
)
def test_a_name_that_is_nearly_right_finds_the_right_one(given: str, meant: str) -> None:
    x = device(np.ones(2, np.float32))
    assert execute(given, [x], [x]) == 100024
    assert meant in message()
    assert build_and_execute(given, [x], [x]) == 500002
    assert meant in message()


@pytest.mark.case("B102")
@pytest.mark.parametrize("op_type", sorted(known_operators())[::12])
def test_a_known_operator_without_a_model_says_how_to_load_one(op_type: str) -> None:
    x = device(np.ones(2, np.float32))
    assert execute(op_type, [x], [x]) == 100024
    text = message()
    for name in (op_type, "float32 [2] ND", "acl.op.set_model_dir"):
        assert name in text


@pytest.mark.case("B113")
def test_another_configuration_for_a_second_init(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(json.dumps({"err_msg_mode": "0"}))
    second.write_text(json.dumps({"err_msg_mode": "1"}))
    assert acl.finalize() == 0
    reports()
    codes = [acl.init(str(first)), acl.init(str(second)), acl.finalize(), acl.init()]
    assert codes == [0, 100002, 0, 0]
    told("B113 other configuration", *reported("HA115", "acl.init"), str(second))


def test_the_table_of_cases_is_fresh() -> None:
    tool = ROOT / "tools" / "cases_table.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
