"""A node that fails reaches the user as ONNX Runtime's error, with what hostacl says about it wherever the provider asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.client
ROOT = Path(__file__).parents[3]

FAILING_KERNEL = '''
from hostacl.errors import Failed
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import same_as

@kernel("Reciprocal", shape=same_as("x"))
def reciprocal(x):
    if (x == 0).any():
        raise Failed("HA510", "Reciprocal: x[0] = 0; allowed: numbers other than 0. Look at what feeds it.")
    return 1 / x
'''
"""A user's own kernel, for none of those that the provider asks for fails on data."""

DROPOUT = """
from hostacl.ops.registry import kernel

@kernel("DropoutV2", shape=lambda call: [call.shape("x"), call.shape("x"), call.shape("seed")])
def dropout(x, seed, p):
    return x, x, seed
"""
"""A kernel, so that the refusal is about what is sent."""

PREAMBLE = """
import numpy as np
from tests.clients.onnxruntime.support import session, single_node

def attempt(made, *arrays):
    try:
        print(made.run(None, {f"x{place}": array for place, array in enumerate(arrays)})[0].tolist())
    except Exception as error:
        print(type(error).__name__, str(error).replace(chr(10), " "))

def float32(*values): return np.array(values, np.float32)
"""


def run(program: str, **environment: str) -> list[str]:
    """The lines a program prints; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + program],
        env={**os.environ, **environment}, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_node_that_fails_when_it_runs_says_why(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels.py"
    kernels.write_text(FAILING_KERNEL)
    program = """
made = session(single_node("Reciprocal", [float32(1, 2)], opset=13)[0])
for value in (2, 0, 4, 4): attempt(made, float32(value, value))
"""
    first, failed, kept, last = run(program, HOSTACL_OPS=str(kernels))
    assert first == "[0.5, 0.5]"
    assert "Non-zero status code returned while running Reciprocal node" in failed
    assert "HA510: aclopCompileAndExecute(): Reciprocal: x[0] = 0; allowed: numbers other than 0." in failed
    assert "CANN failure 507035" in kept  # the stream's failure, which the provider did not ask for after the bad node
    assert last == "[0.25, 0.25]"


def test_a_node_that_is_refused_names_the_call_and_the_log_says_why() -> None:
    program = """
made = session(single_node("MaxPool", [np.ones((1, 1, 6), np.float32)], opset=7, kernel_shape=[2])[0])
attempt(made, np.ones((1, 1, 6), np.float32))
good = session(single_node("Abs", [float32(1)], opset=13)[0])
attempt(good, float32(-3))
"""
    lines = run(program, ASCEND_SLOG_PRINT_TO_STDOUT="1")
    assert any("500002 HA" in line and "aclopCompileAndExecute(): MaxPoolV3: x" in line for line in lines), lines
    assert any('running MaxPool node' in line and 'aclopCompileAndExecute("MaxPoolV3"' in line for line in lines), lines
    assert lines[-1] == "[3.0]"


def test_a_program_that_began_ascendcl_itself_is_served() -> None:
    program = """
import acl
codes = [acl.init(), acl.rt.set_device(0)]
made = session(single_node("Abs", [float32(1)], opset=13)[0])
attempt(made, float32(-3))
codes.append(acl.init())
codes.append(acl.rt.set_device(0))
attempt(made, float32(-4))
print(codes)
"""
    assert run(program) == ["[3.0]", "[4.0]", "[0, 0, 100002, 0]"]


def test_dropout_in_training_mode_sends_what_the_operator_does_not_take(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels.py"
    kernels.write_text(DROPOUT)
    program = """
arrays = [np.ones((2, 5), np.float32), np.asarray(0.75, np.float32), np.asarray(True)]
attempt(session(single_node("Dropout", arrays, opset=13)[0]), *arrays)
"""
    lines = run(program, HOSTACL_OPS=str(kernels), ASCEND_SLOG_PRINT_TO_STDOUT="1")
    assert any("HA506: aclopCompileAndExecute(): DropoutV2: p was set as int (0)" in line for line in lines), lines
    assert any("running Dropout node" in line for line in lines), lines


def test_a_node_that_is_refused_is_explained_by_the_rules_of_use() -> None:
    program = """
made = session(single_node("MaxPool", [np.ones((1, 1, 6), np.float32)], opset=7, kernel_shape=[2])[0])
attempt(made, np.ones((1, 1, 6), np.float32))
"""
    script = Path(sys.executable).with_name("hostacl")
    done = subprocess.run(
        [script, "run", "--check", "--report", "text", sys.executable, "-c", PREAMBLE + program],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "running MaxPool node" in done.stdout
    assert "error HA516 rank not supported" in done.stderr
    assert "aclopCompileAndExecute(): MaxPoolV3: x = [1,1,6] has 3 dims; allowed: 4." in done.stderr


@pytest.mark.parametrize(
    ("op_type", "wrong", "said"),
    [("MatMul", (5, 4), "MatMul dimension mismatch"), ("Add", (4,), "cannot broadcast on dim 1")],
)
def test_shapes_that_do_not_fit_are_told_by_onnxruntime(op_type: str, wrong: tuple[int, ...], said: str) -> None:
    program = f"""
from onnx import helper
from tests.clients.onnxruntime.support import IR_VERSION
dims_of = {{"x0": "ab", "x1": "c" * {len(wrong)}, "y": None}}
values = [helper.make_tensor_value_info(name, 1, dims) for name, dims in dims_of.items()]
graph = helper.make_graph([helper.make_node("{op_type}", ["x0", "x1"], ["y"])], "graph", values[:2], values[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=IR_VERSION)
made = session(model.SerializeToString())
for dims in ({wrong}, {(3, *wrong[1:])}): attempt(made, np.ones((2, 3), np.float32), np.ones(dims, np.float32))
"""
    failed, good = run(program)
    assert f"running {op_type} node" in failed
    assert said in failed
    assert good.startswith("[[")


def test_an_index_out_of_range_is_told_by_the_provider_that_runs_the_node() -> None:
    program = """
made = session(single_node("Gather", [float32(1, 2, 3), np.array([0])], opset=13)[0])
attempt(made, float32(1, 2, 3), np.array([7]))
attempt(made, float32(1, 2, 3), np.array([2]))
"""
    failed, good = run(program)
    assert "Gather node" in failed
    assert "out of data bounds" in failed
    assert good == "[3.0]"
