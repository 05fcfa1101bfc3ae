"""inject: a call or an operator fails as asked, once, and nothing is done."""

from __future__ import annotations

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from hostacl.testing import inject
from tests.calls import Tensor, build_and_execute, device, message
from tests.machine import started

machine = pytest.fixture(autouse=True)(started)


def tensors() -> tuple[Tensor, Tensor]:
    return device(np.ones(4, np.float32)), device(np.zeros(4, np.float32))


@pytest.mark.parametrize("name", ["acl.rt.malloc", "aclrtMalloc"])
def test_the_next_call_fails_and_the_one_after_does_not(name: str) -> None:
    before = _machine.live_objects()
    with inject(207001, call=name) as injection:
        assert acl.rt.malloc(64, 0)[1] == 207001
        assert "injected" in (text := message())
        assert "acl.rt.malloc()" in text
        assert _machine.live_objects() == before
        pointer, ret = acl.rt.malloc(64, 0)
        assert ret == 0
    assert injection.met
    assert acl.rt.free(pointer) == 0


def test_what_was_not_met_is_forgotten() -> None:
    with inject(507008, call="acl.rt.set_device") as injection:
        pass
    assert not injection.met
    assert acl.rt.set_device(0) == 0


def test_a_function_without_a_code_gives_what_it_gives_for_a_bad_argument() -> None:
    with inject(100000, call="acl.create_tensor_desc"):
        assert acl.create_tensor_desc(0, [2], 2) == 0
        assert "injected" in message()
        assert acl.create_tensor_desc(0, [2], 2) != 0


def test_a_c_function_that_python_does_not_offer() -> None:
    with inject(507000, call="aclrtSetStreamAttribute"):
        pass


@pytest.mark.parametrize("scheduler", ["eager", "deferred", "shuffled:1"])
@pytest.mark.parametrize("nth", [1, 3])
def test_the_nth_operator_fails_when_it_runs(scheduler: str, nth: int) -> None:
    with hostacl.settings(scheduler=scheduler), inject(507035, nth_operator=nth) as injection:
        x, _ = tensors()
        outputs = [tensors()[1] for _ in range(4)]
        for y in outputs:
            assert build_and_execute("Add", [x, x], [y]) == 0
        assert acl.rt.synchronize_stream(0) == 507035
        text = message()
        assert [bool(y.read().any()) for y in outputs] == [place != nth - 1 for place in range(4)]
        assert acl.rt.synchronize_stream(0) == 0
    assert injection.met
    for name in ("injected", "Add", "float32 [4]", "submitted at"):
        assert name in text


def test_injections_are_counted_apart() -> None:
    x, y = tensors()
    with inject(507015, nth_operator=2), inject(507018, nth_operator=1):
        codes = []
        for _ in range(3):
            assert build_and_execute("Add", [x, x], [y]) == 0
            codes.append(acl.rt.synchronize_stream(0))
    assert codes == [507018, 507015, 0]


def test_reset_forgets() -> None:
    with inject(507008, call="acl.rt.get_device") as injection:
        hostacl.reset()
        assert acl.rt.get_device()[1] == 107002
    assert injection.met


@pytest.mark.parametrize(
    ("code", "given"),
    [
        (0, {"nth_operator": 1}),
        (5, {}),
        (5, {"nth_operator": 0}),
        (5, {"call": "acl.rt.no_such"}),
        (5, {"call": "acl.util.numpy_to_ptr"}),
        (5, {"call": "acl.rt.malloc", "nth_operator": 1}),
    ],
)
def test_what_cannot_be_injected_is_refused(code: int, given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"inject|allowed"), inject(code, **given):  # type: ignore[arg-type]
        pass
