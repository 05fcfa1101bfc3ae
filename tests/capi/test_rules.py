"""The rules for entering Python, each by a client that would hang or crash without it.

``HOSTACL_STRESS_SECONDS`` says how long each lasts (1); a hang is ended by the watchdog after 60 s more.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROGRAMS, run

SECONDS = float(os.environ.get("HOSTACL_STRESS_SECONDS", "1"))

HEAD = f"""
import ctypes, gc, os, sys, threading, time
free, held = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])  # the second keeps Python's lock during a call
assert free.begin() == 0
SECONDS = {SECONDS}
over = time.monotonic() + SECONDS
"""
TAIL = "\nassert free.end() == 0\nprint('right')\n"


@pytest.fixture
def client(toolkit: Path, tmp_path: Path) -> Path:
    library = tmp_path / "rules.so"
    run(["gcc", "-shared", "-fPIC", PROGRAMS / "rules.c", "-o", library, f"-I{toolkit}/include", f"-L{toolkit}/lib64",
         "-lascendcl", "-lacl_op_compiler", "-lpthread"])  # fmt: skip
    return library


@pytest.fixture
def stress(client: Path, c_env: dict[str, str]) -> Callable[..., None]:
    def runs(script: str, **env: str) -> None:
        done = subprocess.run([sys.executable, "-c", HEAD + script + TAIL, str(client)], env={**c_env, **env},
                              capture_output=True, text=True, timeout=SECONDS + 60, check=False)  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr

    return runs


def test_rule_1_all_but_operators_answer_while_pythons_lock_is_held(stress: Callable[..., None]) -> None:
    stress(
        "held.wait_while_holding_the_lock.argtypes = [ctypes.c_double]\n"
        "assert held.wait_while_holding_the_lock(SECONDS) == 0\n"
    )


def test_rule_3_a_mutex_of_the_client_and_pythons_lock_do_not_cross(stress: Callable[..., None]) -> None:
    stress(
        "free.start_operators()\n"
        "while time.monotonic() < over: assert held.allocate_while_holding_the_lock() == 0\n"
        "assert free.stop_operators() == 0\n"
    )


def test_rule_3_os_fork_while_a_clients_thread_runs_operators(stress: Callable[..., None]) -> None:
    stress(
        """
free.start_operators()
while time.monotonic() < over:
    pid = os.fork()
    if pid == 0: os._exit(0 if free.aclrtGetDeviceCount(ctypes.byref(ctypes.c_uint32())) == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert free.stop_operators() == 0
"""
    )


def test_rule_4_many_short_threads_leave_no_thread_states_behind(stress: Callable[..., None]) -> None:
    stress(
        """
api = ctypes.pythonapi
for name in ("PyInterpreterState_Main", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
    getattr(api, name).restype, getattr(api, name).argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def thread_states():
    found, state = 0, api.PyInterpreterState_ThreadHead(api.PyInterpreterState_Main(None))
    while state: found, state = found + 1, api.PyThreadState_Next(state)
    return found
count = 0
while time.monotonic() < over or count < 20:
    free.start_operators(); time.sleep(0.002); assert free.stop_operators() == 0
    count += 1
assert thread_states() < 20, thread_states()
"""
    )


def test_rule_5_no_collection_runs_on_a_clients_thread(stress: Callable[..., None]) -> None:
    """A finalizer of the client's would wait there for the very thread that it runs on."""
    stress(
        """
places = set()
class Cycle:
    def __init__(self): self.me = self
    def __del__(self): places.add(threading.get_ident())
gc.set_threshold(1, 1, 1)
free.start_operators()
while time.monotonic() < over:
    made = [Cycle() for _ in range(3)]; del made
    time.sleep(0)
assert free.stop_operators() == 0
assert places == {threading.get_ident()}, places
"""
    )


def test_rule_6_threads_that_run_operators_when_the_interpreter_ends(client: Path, c_env: dict[str, str]) -> None:
    over = time.monotonic() + SECONDS
    for delay in itertools.cycle((0.0, 0.01, 0.05, 0.1, 0.2)):
        script = HEAD + f"free.start_operators(); time.sleep({delay}); print('right')"
        assert run([sys.executable, "-c", script, client], env=c_env).stdout == "right\n"
        if delay == 0.2 and time.monotonic() > over:
            break


def test_rule_6_every_order_of_ending(compile_c: Callable[..., Path], c_env: dict[str, str]) -> None:
    source = (PROGRAMS / "orders.cpp").read_text()
    built = compile_c(source, f"-I{PROGRAMS}", "-lascendcl", "-lacl_op_compiler", compiler="g++", name="orders")
    over = time.monotonic() + SECONDS
    while True:
        assert run([built], env=c_env).stdout == "right\n"
        if time.monotonic() > over:
            break


@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:7"])
def test_rule_7_a_client_that_lets_go_of_the_lock_never_waits_for_ever(stress: Callable[..., None], scheduler: str) -> None:
    stress(
        "free.start_operators()\n"
        "while time.monotonic() < over: assert free.aclrtSynchronizeDevice() == 0\n"
        "assert free.stop_operators() == 0\n",
        HOSTACL_SCHEDULER=scheduler,
    )


def test_rule_7_the_python_face_lets_others_run_while_it_waits(stress: Callable[..., None]) -> None:
    """Another thread of Python records what it waits for, while threads of the client run operators."""
    stress(
        """
import acl
waiting, other = acl.rt.create_stream()[0], acl.rt.create_stream()[0]
context, _ = acl.rt.get_context()
def record(event):
    assert acl.rt.set_context(context) == 0
    time.sleep(0.001)
    assert acl.rt.record_event(event, other) == 0
free.start_operators()
while time.monotonic() < over:
    event, _ = acl.rt.create_event()
    assert acl.rt.stream_wait_event(waiting, event) == 0
    thread = threading.Thread(target=record, args=(event,))
    thread.start()
    assert acl.rt.synchronize_stream(waiting) == 0
    thread.join()
    assert acl.rt.destroy_event(event) == 0
assert free.stop_operators() == 0
"""
    )
