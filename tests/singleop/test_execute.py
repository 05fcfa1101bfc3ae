"""Plans, the machine's cache of them, and models that come and go."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from hostacl.singleop import library
from tests.calls import attributes, build_and_execute, compile_op, const, device, execute, message

NO_MATCH = 100024


def add(n: int, way: str = "compile_and_execute_v2") -> int:
    x = device(np.ones(n, np.float32))
    y = device(np.zeros(n, np.float32))
    runner = build_and_execute if way.startswith("compile") else execute
    return runner("Add", [x, x], [y], way=way)


def test_the_oldest_compiled_model_goes_first_and_its_plan_with_it() -> None:
    assert acl.op.set_max_op_queue_num(2) == 0
    assert add(1) == add(2) == 0
    assert add(1, "execute_v2") == 0  # a warm call: makes the first the younger
    assert add(3) == 0
    assert add(1, "execute_v2") == 0
    assert add(2, "execute_v2") == NO_MATCH
    acl.op.set_max_op_queue_num(20000)


def test_finalize_forgets_loaded_models_and_keeps_compiled_ones(tmp_path: object) -> None:
    from hostacl.singleop import modelfile
    from hostacl.singleop.models import Model
    from hostacl.tensors.spec import TensorSpec

    spec = TensorSpec(0, (7,))
    data = modelfile.to_bytes(Model("Add", (spec, spec), (spec,)))
    assert acl.op.load(acl.util.bytes_to_ptr(data), len(data)) == 0
    assert add(7, "execute_v2") == 0
    assert add(8) == 0
    assert acl.finalize() == 0
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    assert add(7, "execute_v2") == NO_MATCH
    assert add(8, "execute_v2") == 0


def test_reset_forgets_everything() -> None:
    assert add(5) == 0
    desc = device(np.ones(5, np.float32)).desc
    handle, ret = acl.op.create_handle("Add", [desc, desc], [desc], 0)
    assert ret == 0
    hostacl.reset()
    assert acl.rt.set_device(0) == 0
    assert len(library.models) == 0
    assert add(5, "execute_v2") == NO_MATCH
    assert acl.op.execute_with_handle(handle, [], [], 0) == 100000


def test_auto_compile() -> None:
    with hostacl.settings(auto_compile=True):
        assert add(6, "execute_v2") == 0


def test_plans_end_with_their_models() -> None:
    """Neither the function of a plan nor what it holds outlives the model."""

    class Marker:
        pass

    marker = Marker()
    gone = weakref.ref(marker)

    def double(x: np.ndarray, _marker: Marker = marker) -> np.ndarray:  # type: ignore[type-arg]
        return x * 2

    double.__signature__ = __import__("inspect").Signature([__import__("inspect").Parameter("x", 1)])  # type: ignore[attr-defined]
    hostacl.op("DoubleMarked", inputs={"x": "float32"}, outputs={"y": "float32"})(double)
    x = device(np.ones(3, np.float32))
    assert build_and_execute("DoubleMarked", [x], [x]) == 0
    from hostacl.ops import registry

    registry._operators.pop("DoubleMarked")
    hostacl.reset()
    del double, marker
    gc.collect()
    assert gone() is None


def test_an_array_that_a_kernel_keeps_holds_its_memory() -> None:
    kept = []

    @hostacl.op("KeepsItsInput", inputs={"x": "float32"}, outputs={"y": "float32"})
    def keeps(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        kept.append(x)
        return x

    x, y = device(np.arange(1000, dtype=np.float32)), device(np.zeros(1000, np.float32))
    assert build_and_execute("KeepsItsInput", [x], [y]) == 0
    assert acl.rt.free(x.pointer) == 0
    other = [device(np.full(1000, -1, np.float32)) for _ in range(8)]
    np.testing.assert_array_equal(kept[0], np.arange(1000))
    assert other


def test_an_error_inside_a_kernel_names_it_and_the_process_lives() -> None:
    @hostacl.op("Raises", inputs={"x": "float32"}, outputs={"y": "float32"})
    def raises(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        raise ZeroDivisionError("on purpose")

    x = device(np.ones(2, np.float32))
    assert build_and_execute("Raises", [x], [x], way="compile_and_execute") == 0
    assert acl.rt.synchronize_stream(0) == 507015
    text = message()
    for part in ("Raises", "ZeroDivisionError", "on purpose"):
        assert part in text
    assert add(2) == 0


def test_kernels_are_quiet_whatever_the_users_error_state() -> None:
    x, y = device(np.array([1.0, 0.0], np.float32)), device(np.zeros(2, np.float32))
    before = np.seterr(all="raise")
    try:
        assert build_and_execute("Div", [x, y], [y]) == 0
        assert acl.rt.synchronize_stream(0) == 0, message()
    finally:
        np.seterr(**before)
    out = y.read()
    assert out[0] == np.inf
    assert np.isnan(out[1])


@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:7"])
def test_host_placed_data_is_copied_before_the_call_returns(scheduler: str) -> None:
    from tests.calls import host

    with hostacl.settings(scheduler=scheduler):
        x, y = host(np.arange(4, dtype=np.float32)), device(np.zeros(4, np.float32))
        assert build_and_execute("Neg", [x], [y]) == 0
        x.array[:] = 99
        assert acl.rt.synchronize_stream(0) == 0
        np.testing.assert_array_equal(y.read(), [0, -1, -2, -3])


@pytest.mark.parametrize("scheduler", ["deferred", "shuffled:7"])
def test_nothing_runs_before_it_is_waited_for(scheduler: str) -> None:
    with hostacl.settings(scheduler=scheduler):
        x, y = device(np.ones(4, np.float32)), device(np.zeros(4, np.float32))
        assert build_and_execute("Neg", [x], [y]) == 0
        np.testing.assert_array_equal(y.read(), np.zeros(4))
        assert acl.rt.synchronize_stream(0) == 0
        np.testing.assert_array_equal(y.read(), -np.ones(4))


@pytest.mark.parametrize("scheduler", ["eager", "deferred"])
def test_a_synchronous_call_runs_what_is_before_it(scheduler: str) -> None:
    with hostacl.settings(scheduler=scheduler):
        x, y = device(np.array([0, 1, 2], np.float32)), device(np.zeros((3, 1), np.int64))
        assert build_and_execute("Neg", [x], [x]) == 0
        assert build_and_execute("NonZero", [x], [y]) == 0
        np.testing.assert_array_equal(y.read()[:2], [[1], [2]])
        np.testing.assert_array_equal(x.read(), [0, -1, -2])


def test_threads_with_a_stream_each() -> None:
    context, ret = acl.rt.get_context()
    assert ret == 0
    results: dict[int, np.ndarray] = {}  # type: ignore[type-arg]

    def work(number: int) -> None:
        assert acl.rt.set_context(context) == 0
        stream, _ = acl.rt.create_stream()
        total = device(np.zeros(64, np.float32))
        step = device(np.full(64, number, np.float32))
        for _ in range(200):
            assert build_and_execute("Add", [total, step], [total], stream=stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0
        results[number] = total.read()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    for number in range(1, 5):
        np.testing.assert_array_equal(results[number], np.full(64, 200 * number))


def test_two_threads_on_one_stream_lose_nothing() -> None:
    context, _ = acl.rt.get_context()
    stream, _ = acl.rt.create_stream()
    total = device(np.zeros(8, np.float32))
    one = device(np.ones(8, np.float32))
    assert build_and_execute("Add", [total, one], [total], stream=stream) == 0

    def work() -> None:
        assert acl.rt.set_context(context) == 0
        for _ in range(100):
            assert execute("Add", [total, one], [total], stream=stream) == 0

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert acl.rt.synchronize_stream(stream) == 0
    np.testing.assert_array_equal(total.read(), np.full(8, 201))


def test_a_thread_without_a_context_is_told_so() -> None:
    answers: list[object] = []
    x = device(np.ones(2, np.float32))
    attr = attributes({})
    compile_op("Abs", [x], [x])

    def work() -> None:
        answers.append(acl.op.execute_v2("Abs", [x.desc], [x.buffer], [x.desc], [x.buffer], attr, 0))
        answers.append(acl.get_recent_err_msg())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers[0] == 107002
    assert "SetDevice" in str(answers[1])


def test_the_child_of_a_fork_works_after_it_set_a_device() -> None:
    assert add(3) == 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            bad = acl.rt.malloc(8, 0)[1] != 107002
            bad = bad or acl.rt.set_device(0) != 0
            code = int(bad or add(3, "execute_v2") != 0 or acl.rt.synchronize_stream(0) != 0)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_value_input_in_device_memory_is_reported() -> None:
    _machine.take_reports()
    x, y = device(np.ones((2, 3), np.float32)), device(np.zeros(3, np.float32))
    assert build_and_execute("ReduceSum", [x, device(np.array([0], np.int32))], [y]) == 0
    reports = [text for rule, _, text, *_ in _machine.take_reports() if rule == "HA514"]
    assert len(reports) == 1
    assert "axes" in reports[0]


def test_a_const_input_of_too_few_bytes_is_refused() -> None:
    x, y = device(np.ones((2, 3), np.float32)), device(np.zeros(3, np.float32))
    axes = const(np.array([0], np.int32))
    desc = acl.create_tensor_desc(9, [4], 2)
    acl.set_tensor_const(desc, axes.array.ctypes.data, 4)
    axes.desc = desc
    assert build_and_execute("ReduceSum", [x, axes], [y]) == 500002
    assert "axes" in message()


def out_of_range_gather(stream: int = 0) -> int:
    """An operator that fails when it runs: an index beyond the axis."""
    x, indices, y = device(np.arange(4, dtype=np.float32)), device(np.array([9])), device(np.zeros(1, np.float32))
    return build_and_execute("GatherV2", [x, indices, const(np.array([0]))], [y], stream=stream)


def test_the_text_of_a_failure_is_there_at_once_and_its_code_at_the_next_synchronize() -> None:
    assert out_of_range_gather() == 0
    assert "GatherV2" in message()  # a client that looks after each operator can say which one it was
    assert acl.rt.synchronize_stream(0) == 507035
    assert "GatherV2" in message()  # and one that looks only after a bad code is told, too
    assert message() == ""


def test_a_failure_that_nobody_looked_at_is_said_once() -> None:
    assert out_of_range_gather() == 0
    assert out_of_range_gather() == 0
    assert acl.rt.synchronize_stream(0) == 507035
    assert message().count("HA510") == 2
    assert add(3) == 0
    assert acl.rt.synchronize_stream(0) == 0
    assert message() == ""
