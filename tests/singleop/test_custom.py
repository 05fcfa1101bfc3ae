"""User operators: registered by a function and a prototype, used everywhere a built-in one is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import acl
import hostacl
from tests.calls import absent, attributes, build_and_execute, compile_op, device, execute, message

FLOATS = "float16 float32"


@pytest.fixture(autouse=True)
def custom() -> None:
    @hostacl.op("AxpyCustom", inputs={"x": FLOATS, "y?": FLOATS}, outputs={"z": FLOATS}, attrs={"alpha": 1.0}, shape="x")
    def axpy_custom(x, y, alpha):  # type: ignore[no-untyped-def]
        return x * alpha if y is None else x * alpha + y


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_it_is_compiled_matched_and_run(dtype: str) -> None:
    x, y, z = (device(np.array(v, dtype)) for v in ([1, 2], [10, 20], [0, 0]))
    assert compile_op("AxpyCustom", [x, y], [z], {"alpha": 0.5}) == 0
    assert execute("AxpyCustom", [x, y], [z], {"alpha": 0.5}) == 0
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(z.read(), np.array([10.5, 21], dtype))


def test_an_optional_input_left_out() -> None:
    x, z = device(np.array([1, 2], np.float32)), device(np.zeros(2, np.float32))
    assert build_and_execute("AxpyCustom", [x, absent()], [z], {"alpha": 3.0}) == 0
    np.testing.assert_array_equal(z.read(), [3, 6])


def test_its_prototype_is_checked() -> None:
    x, z = device(np.array([1, 2], np.int32)), device(np.zeros(2, np.int32))
    assert build_and_execute("AxpyCustom", [x, x], [z]) == 500002
    text = message()
    for part in ("AxpyCustom", "x", "DT_INT32", "DT_FLOAT16"):
        assert part in text
    y = device(np.ones(2, np.float32))
    assert build_and_execute("AxpyCustom", [y, y], [y], {"alpha": 2}) == 500002
    assert "alpha" in message()


def test_infer_shape_and_handle() -> None:
    x = device(np.ones((2, 3), np.float32))
    out = acl.create_tensor_desc(-1, [], -1)
    assert acl.op.infer_shape("AxpyCustom", [x.desc, x.desc], [x.buffer, x.buffer], 1, [out], 0) == 0
    assert acl.get_tensor_desc_num_dims(out) == 2
    assert compile_op("AxpyCustom", [x, x], [x]) == 0
    handle, ret = acl.op.create_handle("AxpyCustom", [x.desc, x.desc], [x.desc], attributes({}))
    assert ret == 0
    assert acl.op.execute_with_handle(handle, [x.buffer, x.buffer], [x.buffer], 0) == 0
    np.testing.assert_array_equal(x.read(), np.full((2, 3), 2))


def test_several_outputs_lists_and_a_shape_rule() -> None:
    @hostacl.op(
        "StackCustom", inputs={"xs*": "int64"}, outputs={"y": "int64", "count": "int32"}, attrs={"axis": int},
        shape=lambda call: [(len(call.shapes("xs")), *call.shapes("xs")[0]), ()],
    )  # fmt: skip
    def stack_custom(xs, axis):  # type: ignore[no-untyped-def]
        return np.stack(xs, axis), len(xs)

    xs = [device(np.array([i, i + 1], np.int64)) for i in range(3)]
    y, count = device(np.zeros((3, 2), np.int64)), device(np.zeros((), np.int32))
    assert build_and_execute("StackCustom", xs, [y, count], {"axis": 0}) == 0, message()
    np.testing.assert_array_equal(y.read(), [[0, 1], [1, 2], [2, 3]])
    assert count.read() == 3
    assert build_and_execute("StackCustom", xs, [y, count]) == 500002
    assert "axis" in message()


def test_mistakes_of_the_author_are_named() -> None:
    with pytest.raises(TypeError, match="flaot16"):
        hostacl.op("Wrong", inputs={"x": "flaot16"}, outputs={"y": "float16"})(lambda x: x)
    with pytest.raises(TypeError, match="zz"):
        hostacl.op("Wrong", inputs={"x": "float16"}, outputs={"y": "float16"})(lambda x, zz: x)
    with pytest.raises(TypeError, match="beta"):
        hostacl.op("Wrong", inputs={"x": "float16"}, outputs={"y": "float16"}, attrs={"beta": object()})(lambda x: x)


ADD_100 = """
import hostacl

@hostacl.op("FromFile", inputs={"x": "float32"}, outputs={"y": "float32"})
def from_file(x):
    return x + 100
"""

PROGRAM = """
import numpy as np
import acl
assert acl.init() == 0 and acl.rt.set_device(0) == 0
x = np.array([1, 2], np.float32)
desc, buffer = acl.create_tensor_desc(0, [2], 2), acl.create_data_buffer(x.ctypes.data, x.nbytes)
ret = acl.op.compile_and_execute_v2("FromFile", [desc], [buffer], [desc], [buffer], 0, 0, 0, None, 0)
print(ret, x.tolist(), acl.get_recent_err_msg())
"""


def run(**env: str) -> str:
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env={**os.environ, **env}, check=True, capture_output=True, text=True).stdout


def run_with(ops_file: Path) -> str:
    return run(HOSTACL_OPS=str(ops_file))


def test_a_file_named_by_hostacl_ops(tmp_path: Path) -> None:
    ops = tmp_path / "my_ops.py"
    ops.write_text(ADD_100)
    assert run_with(ops).startswith("0 [101.0, 102.0] None")


def test_a_file_that_fails_is_named(tmp_path: Path) -> None:
    ops = tmp_path / "broken_ops.py"
    ops.write_text("1 / 0\n")
    answer = run_with(ops)
    assert answer.startswith("500002")
    for part in ("broken_ops.py", "ZeroDivisionError"):
        assert part in answer


def test_an_entry_point_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "their_ops.py").write_text(ADD_100)
    folder = tmp_path / "their_ops-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: their_ops\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[hostacl.ops]\ntheirs = their_ops\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("0 [101.0, 102.0] None")


def test_it_is_built_from_json(tmp_path: Path) -> None:
    ops = tmp_path / "ops_file.py"
    ops.write_text(ADD_100)
    tensor = {"format": "ND", "shape": [2], "type": "float32"}
    (tmp_path / "op.json").write_text(json.dumps([{"op": "FromFile", "input_desc": [tensor], "output_desc": [tensor]}]))
    atc = [sys.executable, "-m", "hostacl.cli.main", "atc"]
    command = [*atc, f"--singleop={tmp_path / 'op.json'}", f"--output={tmp_path / 'out'}"]
    done = subprocess.run(command, env={**os.environ, "HOSTACL_OPS": str(ops)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["0_FromFile_0_2_2_0_2_2.om"]


def test_an_installed_package_brings_operators(tmp_path: Path) -> None:
    """An entry point of the group hostacl.ops: found by its .dist-info in any folder of sys.path."""
    (tmp_path / "their_ops.py").write_text(ADD_100)
    info = tmp_path / "their_ops-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-ops\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hostacl.ops]\ntheirs = their_ops\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert run(PYTHONPATH=path).startswith("0 [101.0, 102.0] None")
    (info / "entry_points.txt").write_text("[hostacl.ops]\ntheirs = no_such_module_of_theirs\n")
    answer = run(PYTHONPATH=path)
    assert answer.startswith("500002")
    for part in ("entry point theirs", "no_such_module_of_theirs"):
        assert part in answer


def test_infer_shape_and_json_know_it_from_a_file(tmp_path: Path) -> None:
    """A program that never imports the file: infer_shape, then a model that atc made, then a handle of it."""
    ops, models = tmp_path / "ops_file.py", tmp_path / "models"
    ops.write_text(ADD_100)
    tensor = {"format": "ND", "shape": [2], "type": "float32"}
    (tmp_path / "op.json").write_text(json.dumps([{"op": "FromFile", "input_desc": [tensor], "output_desc": [tensor]}]))
    env = {**os.environ, "HOSTACL_OPS": str(ops)}
    atc = [sys.executable, "-m", "hostacl.cli.main", "atc", f"--singleop={tmp_path / 'op.json'}", f"--output={models}"]
    subprocess.run(atc, env=env, check=True, capture_output=True)
    done = subprocess.run([sys.executable, "-c", HANDLE, models], env=env, check=True, capture_output=True, text=True)
    assert done.stdout == "0 [2] 0 0 0 [101.0, 102.0]\n"


HANDLE = """
import sys
import numpy as np
import acl
assert acl.init() == 0 and acl.rt.set_device(0) == 0 and acl.op.set_model_dir(sys.argv[1]) == 0
x = np.array([1, 2], np.float32)
desc, buffer = acl.create_tensor_desc(0, [2], 2), acl.create_data_buffer(x.ctypes.data, x.nbytes)
out = acl.create_tensor_desc(-1, [], -1)
inferred = acl.op.infer_shape("FromFile", [desc], [buffer], 1, [out], 0)
dims = [acl.get_tensor_desc_dim_v2(out, i)[0] for i in range(acl.get_tensor_desc_num_dims(out))]
handle, made = acl.op.create_handle("FromFile", [desc], [desc], 0)
ran = acl.op.execute_with_handle(handle, [buffer], [buffer], 0)
print(inferred, dims, made, ran, acl.rt.synchronize_stream(0), x.tolist())
"""


def test_results_that_are_inputs_are_kept_from_outputs_that_are_the_same_memory() -> None:
    @hostacl.op("SwapCustom", inputs={"x": "int8", "y": "int8"}, outputs={"a": "int8", "b": "int8"})
    def swap_custom(x, y):  # type: ignore[no-untyped-def]
        return y, x

    x, y = device(np.array([1, 2, 3], np.int8)), device(np.array([4, 5, 6], np.int8))
    assert build_and_execute("SwapCustom", [x, y], [x, y]) == 0, message()
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(x.read(), [4, 5, 6])
    np.testing.assert_array_equal(y.read(), [1, 2, 3])
