"""Kernels of the user's own: compile functions and device binaries are kept and checked; binaries cannot run here."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import acl
from tests.calls import Tensor, arguments, compile_op, device, execute, message

INVALID, NOT_FOUND, NO_FUNCTION, NO_KERNEL, FUNCTION_TWICE, KERNEL_TWICE = 100000, 100024, 100028, 100029, 100030, 100031
OP = "CardKernel"
BINARY = ctypes.create_string_buffer(b"device code")
ADDRESS = ctypes.addressof(BINARY)
ARGS = ctypes.create_string_buffer(16)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    acl.init()  # in case that other tests ended with finalize
    yield
    assert acl.finalize() == 0
    assert acl.init() == 0


@pytest.fixture
def x() -> Tensor:
    return device(np.ones(4, np.float32))


def create(kernel_id: str = "k0", **changes: object) -> int:
    given = {"op": OP, "id": kernel_id, "name": "card_kernel", "data": ADDRESS, "size": len(BINARY), "engine": 1, "free": 0}
    return int(acl.op.create_kernel(*{**given, **changes}.values()))


def update(x: Tensor, op: str = OP) -> int:
    return int(acl.op.update_params(op, [x.desc, x.desc], [x.desc], 0))


def choosing(kernel_id: str, returns: int | None = 0) -> object:
    def choose(num_inputs: int, inputs: list[int], num_outputs: int, outputs: list[int], attr: int, desc: int) -> int | None:
        assert (num_inputs, num_outputs) == (len(inputs), len(outputs)) == (2, 1)
        assert acl.get_tensor_desc_dim_v2(inputs[0], 0) == (4, 0)
        assert acl.op.set_kernel_args(desc, kernel_id, 8, ctypes.addressof(ARGS), len(ARGS)) == 0
        assert acl.op.set_kernel_workspace_sizes(desc, 1, ctypes.addressof(ARGS)) == 0
        return returns

    return choose


@pytest.mark.parametrize("returns", [0, None])
def test_a_function_chooses_a_registered_kernel(x: Tensor, returns: int | None) -> None:
    assert create() == 0
    assert acl.op.register_compile_func(OP, choosing("k0", returns)) == 0
    assert update(x) == 0, message()


def test_a_type_has_one_function(x: Tensor) -> None:
    """Second for a type: 100030; after unregistering, another."""
    assert acl.op.register_compile_func(OP, choosing("k0")) == 0
    assert acl.op.register_compile_func(OP, choosing("k1")) == FUNCTION_TWICE
    assert OP in message()
    assert acl.op.unregister_compile_func(OP) == 0
    assert acl.op.unregister_compile_func(OP) == NO_FUNCTION
    assert create("k1") == 0
    assert acl.op.register_compile_func(OP, choosing("k1")) == 0
    assert update(x) == 0, message()


def test_an_id_is_given_once() -> None:
    """Same id: 100031; another operator's is another."""
    assert create() == 0
    assert create() == KERNEL_TWICE
    text = message()
    assert OP in text
    assert "k0" in text
    assert create("k1") == 0
    assert create(op="OtherKernel") == 0


@pytest.mark.parametrize("engine", [-1, 0, 3])
def test_engines_are_1_and_2(engine: int) -> None:
    assert create(engine=engine) == INVALID
    assert f"enginetype = {engine}" in message()
    assert create(engine=2) == 0


@pytest.mark.parametrize(
    ("changes", "told"), [({"data": 0}, "binData"), ({"size": 0}, "binSize"), ({"free": 64}, "deallocator")]
)
def test_other_arguments_are_checked(changes: dict[str, int], told: str) -> None:
    assert create(**changes) == INVALID
    assert told in message()


def test_no_function_and_no_kernel(x: Tensor) -> None:
    """No function 100028, its kernel unknown 100029, no kernel chosen 100029."""
    assert update(x) == NO_FUNCTION
    assert "hostacl.op" in message()
    assert acl.op.register_compile_func(OP, choosing("unknown")) == 0
    assert update(x) == NO_KERNEL
    assert "unknown" in message()
    acl.op.unregister_compile_func(OP)
    assert acl.op.register_compile_func(OP, lambda *_: 0) == 0
    assert update(x) == NO_KERNEL


def test_what_the_function_returns_and_raises(x: Tensor) -> None:
    assert create() == 0
    assert acl.op.register_compile_func(OP, choosing("k0", 4711)) == 0
    assert update(x) == 4711
    acl.op.unregister_compile_func(OP)

    def fails(*_: object) -> int:
        raise ValueError("no kernel for these shapes")

    assert acl.op.register_compile_func(OP, fails) == 0
    with pytest.raises(ValueError, match="no kernel for these shapes"):
        update(x)
    with pytest.raises(TypeError, match="func"):
        acl.op.register_compile_func("Other", 5)


def test_a_kernel_descriptor_lives_as_long_as_the_function(x: Tensor) -> None:
    kept = []
    assert acl.op.register_compile_func(OP, lambda *given: kept.append(given[-1])) == 0
    assert update(x) == NO_KERNEL
    for dead in (*kept, 0, x.desc, 12345):
        assert acl.op.set_kernel_args(dead, "k0", 1, ctypes.addressof(ARGS), 16) == INVALID
        assert "kernelDesc" in message()
        assert acl.op.set_kernel_workspace_sizes(dead, 1, ctypes.addressof(ARGS)) == INVALID


def test_arguments_inside_the_function(x: Tensor) -> None:
    codes = []

    def choose(*given: object) -> None:
        desc = given[-1]
        codes.append(acl.op.set_kernel_args(desc, "k0", 1, 0, 16))
        codes.append(acl.op.set_kernel_args(desc, "k0", 1, ctypes.addressof(ARGS), 0))
        codes.append(acl.op.set_kernel_workspace_sizes(desc, -1, 0))
        codes.append(acl.op.set_kernel_workspace_sizes(desc, 1, 0))
        codes.append(acl.op.set_kernel_workspace_sizes(desc, 0, 0))

    assert acl.op.register_compile_func(OP, choose) == 0
    assert update(x) == NO_KERNEL
    assert codes == [INVALID] * 4 + [0]


def test_update_checks_its_descriptors(x: Tensor) -> None:
    assert acl.op.register_compile_func(OP, choosing("k0")) == 0
    assert acl.op.update_params(OP, [x.desc, 0], [x.desc], 0) == INVALID
    assert "inputDesc[1]" in message()
    assert acl.op.update_params(OP, [x.desc], [x.buffer], 0) == INVALID
    assert acl.op.update_params(OP, [x.desc], [x.desc], 99) == INVALID


def test_a_binary_does_not_run_and_the_text_says_what_does(x: Tensor) -> None:
    """Device binaries cannot run: execute finds no model, and the text names hostacl.op."""
    assert create() == 0
    assert execute(OP, [x, x], [x]) == NOT_FOUND
    text = message()
    for part in (OP, "k0", "hostacl.op"):
        assert part in text
    assert compile_op(OP, [x, x], [x]) == 500002
    assert "hostacl.op" in message()
    given = arguments(OP, [x], [x], 0)
    assert acl.op.compile(given[0], given[1], given[3], 0, 0, 1, None) == 200001
    assert "hostacl.op" in message()


def test_finalize_gives_binaries_back() -> None:
    """The deallocator is called with the data and its size; functions and kernels are forgotten."""
    assert acl.op.register_compile_func(OP, choosing("k0")) == 0
    calls = []
    deallocator = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(lambda data, size: calls.append((data, size)))
    assert create(free=ctypes.cast(deallocator, ctypes.c_void_p).value) == 0
    assert create(free=ctypes.cast(deallocator, ctypes.c_void_p).value) == KERNEL_TWICE
    assert acl.finalize() == 0
    assert calls == [(ADDRESS, len(BINARY))]
    assert acl.init() == 0
    assert create() == 0
    assert acl.op.unregister_compile_func(OP) == NO_FUNCTION
