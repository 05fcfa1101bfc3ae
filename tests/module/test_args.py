"""The binding: what it takes, what it says, and how it lives with threads, signals and the interpreter's end."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hostacl import _machine

STUB = (Path(_machine.__file__).parent / "_machine.pyi").read_text()


@pytest.fixture(autouse=True)
def _machine_of_its_own() -> Iterator[None]:
    _machine.reset()
    _machine.aclrtSetDevice(0)
    yield
    _machine.reset()


def run(source: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A program of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=60, check=False, **options  # type: ignore[call-overload]
    )


def test_the_stub_and_the_module_have_the_same_names() -> None:
    there = {name for name in dir(_machine) if not name.startswith("_")}
    assert set(re.findall(r"^(?:def|class) (\w+)", STUB, re.MULTILINE)) == there


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_arguments_lists_their_names(count: int) -> None:
    with pytest.raises(TypeError, match=rf"acl.rt.malloc\(\) takes 2 arguments \(size, policy\), {count} given"):
        _machine.aclrtMalloc(*[1] * count)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "must be int, not NoneType"),
        ("4", "must be int, not str"),
        (4.0, "must be int, not float"),
        (np.float64(4), "must be int, not numpy.float64"),
        (np.array([4]), "must be int, not numpy.ndarray"),
        (-1, r"must be in 0 .. 18446744073709551615, not -1"),
        (2**64, r"must be in 0 .. 18446744073709551615, not 18446744073709551616"),
    ],
)
def test_a_bad_number_is_named(value: object, text: str) -> None:
    with pytest.raises(TypeError, match=rf"acl.rt.malloc\(\): argument 'size' {text}"):
        _machine.aclrtMalloc(value, 0)  # type: ignore[arg-type]


def test_an_element_of_a_list_is_named() -> None:
    with pytest.raises(TypeError, match=r"argument 'inputs'\[2\] must be int, not str"):
        _machine.aclopExecuteV2("Add", [0, 0, 0], [0, 0, "0"], [], [], 0, 0)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"argument 'dims'\[0\] must be in -9223372036854775808 .. 9223372036854775807"):
        _machine.aclCreateTensorDesc(0, [2**63], 2)


def test_long_lists_pass() -> None:
    dims = list(range(1, 41))
    desc = _machine.aclCreateTensorDesc(0, dims, 2)
    assert [_machine.aclGetTensorDescDim(desc, i) for i in range(40)] == dims


def test_a_list_that_shrinks_while_it_is_read() -> None:
    values: list[object] = [1, 2, 3]

    class Shrinks:
        def __index__(self) -> int:
            values.clear()
            return 0

    values[0] = Shrinks()
    attr = _machine.aclopCreateAttr()
    with pytest.raises(TypeError, match="while it was read"):
        _machine.aclopSetAttrListInt(attr, "axes", values)  # type: ignore[arg-type]


def test_an_exception_in_index_is_the_callers() -> None:
    class Fails:
        def __index__(self) -> int:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _machine.aclrtMalloc(Fails(), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_texts_that_c_cannot_hold(text: str) -> None:
    with pytest.raises(TypeError, match="argument 'name' must be text"):
        _machine.aclopSetAttrInt(_machine.aclopCreateAttr(), text, 1)


def test_live_objects_are_counted_by_kind() -> None:
    before = _machine.live_objects()
    descs = [_machine.aclCreateTensorDesc(0, [1], 2) for _ in range(3)]
    buffers = [_machine.aclCreateDataBuffer(0, 0) for _ in range(2)]
    _machine.aclopCreateAttr()
    pointer, _ = _machine.aclrtMalloc(64, 0)
    after = _machine.live_objects()
    grown = {kind: after[kind] - before[kind] for kind in after if after[kind] != before[kind]}
    assert grown == {"descs": 3, "buffers": 2, "attrs": 1, "device_blocks": 1}
    for desc in descs:
        _machine.aclDestroyTensorDesc(desc)
    for buffer in buffers:
        _machine.aclDestroyDataBuffer(buffer)
    assert _machine.aclrtFree(pointer) == 0
    assert _machine.live_objects()["descs"] == before["descs"]


def test_find_block_says_where_memory_came_from() -> None:
    pointer, _ = _machine.aclrtMalloc(100, 0)
    block = _machine.find_block(pointer + 99)
    assert block is not None
    assert (block["start"], block["size"], block["space"], block["freed"]) == (pointer, 100, "device", False)
    assert "test_args.py" in block["site"]
    assert _machine.find_block(id(block)) is None


def test_an_array_keeps_its_block() -> None:
    pointer, _ = _machine.aclrtMalloc(64, 0)
    view = _machine.array(pointer, [4, 4], np.dtype(np.float32), True, None)
    assert isinstance(view.base, _machine.Block)
    view[:] = 2
    assert _machine.aclrtFree(pointer) == 0
    assert view.sum() == 32
    assert view.flags.aligned


def test_an_array_of_an_odd_address_knows_that_it_is_not_aligned() -> None:
    raw = np.zeros(33, np.uint8)
    view = _machine.array(raw.ctypes.data + 1, [2, 2], np.dtype(np.float64), False, raw)
    assert view.base is raw
    assert not view.flags.writeable
    assert view.flags.c_contiguous
    assert view.flags.aligned == ((raw.ctypes.data + 1) % 8 == 0)


def test_arrays_without_elements_or_dims() -> None:
    assert _machine.array(0, [0, 3], np.dtype(np.int8), True, None).shape == (0, 3)
    one = np.array([7], np.int64)
    assert _machine.array(one.ctypes.data, [], np.dtype(np.int64), False, one)[()] == 7


def test_reports_are_given_once() -> None:
    _machine.take_reports()
    _machine.aclUpdateDataBuffer(0, 0, 0)
    rules = [(rule, function, code) for rule, function, _, _, code, _ in _machine.take_reports()]
    assert rules == [("HA401", "acl.update_data_buffer", 100000)]
    assert _machine.take_reports() == []


def test_configure_and_setting() -> None:
    assert _machine.configure("scheduler", "deferred") == 0
    assert _machine.setting("scheduler") == "deferred"
    assert _machine.configure("scheduler", "sometimes") == 100000
    assert _machine.configure("scheduler", "eager") == 0


def waiting_stream() -> tuple[int, int]:
    """A stream with a callback that nobody runs: waiting for it takes until the time is over."""
    stream, _ = _machine.aclrtCreateStream()
    assert _machine.aclrtSubscribeReport(threading.get_ident(), stream) == 0
    assert _machine.aclrtLaunchCallback(lambda data: None, None, 1, stream) == 0
    return stream, threading.get_ident()


def test_other_threads_run_while_one_synchronizes() -> None:
    stream, _ = waiting_stream()
    counted = [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    assert _machine.aclrtSynchronizeStreamWithTimeout(stream, 100) == 507046
    grown = counted[0] - before
    done.set()
    thread.join()
    assert grown > 5
    assert _machine.aclrtProcessReport(0) == 0


def test_what_a_callback_raises_is_printed() -> None:
    stream, _ = _machine.aclrtCreateStream()
    _machine.aclrtSubscribeReport(threading.get_ident(), stream)

    def fails(data: object) -> None:
        raise ZeroDivisionError(data)

    seen: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda args: seen.append(args.exc_type)
    try:
        assert _machine.aclrtLaunchCallback(fails, "data", 1, stream) == 0
        assert _machine.aclrtProcessReport(100) == 0
    finally:
        sys.unraisablehook = hook
    assert seen == [ZeroDivisionError]


def test_ctrl_c_ends_a_wait() -> None:
    done = run("""
        import os, signal, threading, acl
        signal.signal(signal.SIGINT, signal.default_int_handler)
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        acl.rt.subscribe_report(threading.get_ident(), stream)
        acl.rt.launch_callback(print, None, 1, stream)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            acl.rt.synchronize_stream(stream)
        except KeyboardInterrupt:
            print("interrupted")
            os._exit(0)
    """)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_daemon_thread_that_waits_does_not_spoil_the_end() -> None:
    done = run("""
        import threading, time, acl
        acl.init(); acl.rt.set_device(0)
        def loop():
            acl.rt.set_device(0)
            while True:
                acl.rt.process_report(5)
        for _ in range(4):
            threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.1)
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_calls_at_exit_are_answered() -> None:
    done = run("""
        import atexit
        atexit.register(lambda: print(acl.rt.get_device(), acl.finalize(), acl.rt.malloc(0, 0)[1]))
        import acl
        acl.init(); acl.rt.set_device(0)
    """)
    assert (done.returncode, done.stdout) == (0, "(0, 0) 0 100000\n"), done.stderr


def test_sub_interpreters_are_refused() -> None:
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    done = run(f"""
        import sys
        import {module} as interpreters
        text = "import sys; sys.path[:] = " + repr(sys.path) + "; import hostacl._machine"
        try:
            failed = interpreters.run_string(interpreters.create(), text)
            print(getattr(failed, "formatted", failed))
        except Exception as error:
            print(error)
    """)
    said = done.stdout + done.stderr
    assert "sub-interpreter" in said or "does not support loading in subinterpreters" in said


def test_the_import_is_cheap() -> None:
    heavy = {"click", "rich", "json", "onnxruntime", "ml_dtypes", "hostacl.ops", "hostacl.singleop"}
    done = run(f"import numpy, sys; o = set(sys.modules); import acl; print(sorted({heavy!r} & (set(sys.modules) - o)))")
    assert done.stdout == "[]\n", done.stderr
