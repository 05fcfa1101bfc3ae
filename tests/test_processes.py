"""Processes: run again in one, Ctrl-C out of a wait, children by fork and by spawn, workers side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import acl
import hostacl
from hostacl import _machine
from hostacl.cli.atc import atc
from tests.calls import build_and_execute, const, device, execute

NO_MATCH = 100024


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    hostacl.reset()
    yield
    hostacl.reset()


def run_python(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environ}
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


# ---- a notebook that is run again ------------------------------------------------------------------------------------


def cell(folder: Path, number: float) -> None:
    """What a notebook does from top to bottom: init, a model folder, streams, operators, finalize."""
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    assert acl.op.set_model_dir(str(folder)) == 0
    stream, ret = acl.rt.create_stream()
    assert ret == 0
    x, y = device(np.full(4, number, np.float32)), device(np.zeros(4, np.float32))
    assert execute("Add", [x, x], [y], stream=stream) == 0
    indices = device(np.array([3, 0], np.int64))
    taken = device(np.zeros(2, np.float32))
    assert build_and_execute("GatherV2", [y, indices, const(np.array([0], np.int64))], [taken], stream=stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(taken.read(), [2 * number] * 2)
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.reset_device(0) == 0
    assert acl.finalize() == 0


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    tensor = '{"format": "ND", "shape": [4], "type": "float32"}'
    described = tmp_path / "add.json"
    described.write_text(f'[{{"op": "Add", "input_desc": [{tensor}, {tensor}], "output_desc": [{tensor}], "attr": []}}]')
    done = CliRunner().invoke(atc, [f"--singleop={described}", f"--output={tmp_path / 'models'}", "--soc_version=Ascend910B1"])
    assert done.exit_code == 0, done.output
    return tmp_path / "models"


def test_a_notebook_runs_twice_and_more(model_folder: Path) -> None:
    for number in range(1, 6):
        cell(model_folder, number)


def test_what_was_loaded_is_forgotten_at_finalize(model_folder: Path) -> None:
    for _ in range(2):
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        x, y = device(np.ones(4, np.float32)), device(np.zeros(4, np.float32))
        assert execute("Add", [x, x], [y]) == NO_MATCH
        assert acl.op.set_model_dir(str(model_folder)) == 0
        assert execute("Add", [x, x], [y]) == 0
        assert acl.rt.synchronize_device() == 0
        assert acl.rt.reset_device(0) == 0
        assert acl.finalize() == 0


def test_a_cell_run_again_without_the_end_of_the_first() -> None:
    """Init, device and stream anew without finalize: harmless, and old tensors still work."""
    old = None
    for _ in range(3):
        assert acl.init() in {0, 100002}
        assert acl.rt.set_device(0) == 0
        stream = acl.rt.create_stream()[0]
        x, y = device(np.ones(3, np.float32)), device(np.zeros(3, np.float32))
        assert build_and_execute("Add", [old or x, x], [y], stream=stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0
        old = x
        np.testing.assert_array_equal(y.read(), [2] * 3)


def test_objects_of_before_are_dead_after_finalize_and_reset() -> None:
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    stream = acl.rt.create_stream()[0]
    x = device(np.ones(3, np.float32))
    assert acl.rt.reset_device(0) == 0
    assert acl.finalize() == 0
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    assert acl.rt.synchronize_stream(stream) == 107017
    assert acl.rt.free(x.pointer) == 107000
    assert _machine.live_objects()["streams"] == 0


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------

WAITS = """
import acl, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
acl.init(); acl.rt.set_device(0)
stream, event = acl.rt.create_stream()[0], acl.rt.create_event()[0]
acl.rt.stream_wait_event(stream, event)
print("waiting", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
other = acl.rt.create_stream()[0]
acl.rt.record_event(event, other)
print(acl.rt.synchronize_stream(stream), acl.rt.synchronize_device(), acl.rt.reset_device(0), acl.finalize())
"""


@pytest.mark.parametrize(
    "wait",
    [
        "acl.rt.synchronize_stream(stream)",
        "acl.rt.synchronize_stream_with_timeout(stream, 60000)",
        "acl.rt.synchronize_device()",
        "acl.rt.destroy_stream(acl.rt.create_stream()[0]); acl.rt.synchronize_device()",
    ],
)
def test_control_c_ends_a_wait_and_the_machine_goes_on(wait: str) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", WAITS.format(wait=wait)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert out.split("\n")[:2] == ["interrupted", "0 0 0 0"], out + err
    assert child.returncode == 0


QUEUE = """
import signal, sys, threading, _thread
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import acl
from tests.calls import compile_op, device, execute
acl.init(); acl.rt.set_device(0)
x, y = device(np.zeros((1000, 1000), np.float32)), device(np.zeros((1000, 1000), np.float32))
counts = device(np.ones(4, np.float32))
found = device(np.zeros((4, 1), np.int64))
last = device(np.zeros(4, np.float32))
compile_op("Exp", [x], [y]); compile_op("NonZero", [counts], [found]); compile_op("Exp", [counts], [last])
for _ in range(3000):
    execute("Exp", [x], [y])
execute("Exp", [counts], [last])
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    {wait}
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", last.read()[0], acl.rt.synchronize_device(), last.read()[0] > 2)
print(acl.rt.reset_device(0), acl.finalize())
"""


@pytest.mark.parametrize("wait", ["acl.rt.synchronize_device()", "execute('NonZero', [counts], [found])"])
def test_control_c_ends_a_wait_that_runs_the_queue_itself(wait: str) -> None:
    done = run_python(QUEUE.format(wait=wait), HOSTACL_SCHEDULER="deferred", PYTHONPATH=os.pathsep.join(sys.path))
    assert done.stdout.split("\n")[:2] == ["interrupted 0.0 0 True", "0 0"], done.stdout + done.stderr


def test_control_c_in_a_loop_of_waits() -> None:
    code = """
import acl, signal, _thread, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
acl.init(); acl.rt.set_device(0)
threading.Timer(0.5, _thread.interrupt_main).start()
try:
    while True:
        acl.rt.synchronize_device()
except KeyboardInterrupt:
    print("interrupted", acl.finalize())
"""
    done = run_python(code)
    assert done.stdout == "interrupted 0\n", done.stderr


# ---- children --------------------------------------------------------------------------------------------------------


def sum_in_child(number: float) -> tuple[list[float], int]:
    """Init, device, two operators and the end, in a process of its own."""
    acl.init()
    assert acl.rt.set_device(0) == 0
    x, y, z = device(np.full(8, number, np.float32)), device(np.zeros(8, np.float32)), device(np.zeros(8, np.float16))
    assert build_and_execute("Add", [x, x], [y]) == 0
    assert build_and_execute("Cast", [y], [z], {"dst_type": 1}) == 0
    code = acl.rt.synchronize_device()
    values = [float(one) for one in z.read()]
    assert acl.rt.reset_device(0) == 0
    return values, int(code)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_operators_in_children(method: str, started: bool) -> None:
    if started:  # the parent has used the machine before
        assert sum_in_child(1.0)[1] == 0
    context: Any = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        results = pool.map(sum_in_child, [1.0, 2.0, 3.0])
    assert results == [([2 * number] * 8, 0) for number in (1.0, 2.0, 3.0)]
    assert sum_in_child(4.0) == ([8.0] * 8, 0)


def test_a_forked_child_ends_cleanly_and_quietly() -> None:
    code = f"""
import acl, os, sys, numpy as np
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from tests.test_processes import sum_in_child
sum_in_child(1.0)
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        right = sum_in_child(float(number)) == ([2.0 * number] * 8, 0)
        sys.exit(0 if right else 7)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""
    done = run_python(code)
    assert (done.stdout, done.returncode) == ("[0, 0, 0, 0]\n", 0), done.stderr


def test_processes_side_by_side_share_nothing() -> None:
    """As pytest-xdist's workers: each has its devices, its memory and its models."""
    code = """
import acl, sys
acl.init(); acl.rt.set_device(0)
free = acl.rt.get_mem_info(1)[0]
pointer = acl.rt.malloc(1 << 20, 0)[0]
print(free - acl.rt.get_mem_info(1)[0] >= 1 << 20, acl.rt.free(pointer), acl.finalize())
"""
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [child.communicate(timeout=60)[0] for child in children] == ["True 0 0\n"] * 3


def test_these_tests_pass_under_xdist(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    test = tmp_path / "test_add.py"
    test.write_text(
        "import pytest\nfrom tests.test_processes import sum_in_child\n"
        "@pytest.mark.parametrize('number', range(8))\n"
        "def test_add(number): assert sum_in_child(float(number)) == ([2.0 * number] * 8, 0)\n"
    )
    root = str(Path(__file__).resolve().parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "8 passed" in done.stdout, done.stdout + done.stderr
