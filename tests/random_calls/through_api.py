"""Running a drawn call as a program does: memory, descriptors, buffers, compile_and_execute_v2, synchronize, copy back."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np

import acl
from hostacl.tensors import dtypes
from random_calls import tolerance, values
from random_calls.dice import Tensor
from random_calls.draw import Drawn, Output
from random_calls.jpegs import place_of
from random_calls.oracle import find_oracle
from random_calls.run import storage

Array = values.Array

TO_DEVICE, TO_HOST, IN_HOST = 1, 2, 1


def ok(ret: int, what: str) -> None:
    """Raises with the machine's own text when a call did not return 0."""
    assert ret == 0, f"{what} = {ret}: {acl.get_recent_err_msg()}"


class Device:
    """Memory, descriptors and buffers of one call, given back at the end."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack

    def memory(self, size: int) -> int:
        """Device memory of so many bytes."""
        address, ret = acl.rt.malloc(max(size, 1), 0)
        ok(ret, "malloc")
        self.stack.callback(acl.rt.free, address)
        return int(address)

    def upload(self, array: Array) -> int:
        """Device memory with an array's bytes in it."""
        address = self.memory(array.nbytes)
        if array.nbytes:
            ok(acl.rt.memcpy(address, array.nbytes, array.ctypes.data, array.nbytes, TO_DEVICE), "memcpy")
        return address

    def desc(self, dtype: int, shape: tuple[int, ...], layout: int, name: str = "") -> int:
        """A tensor descriptor."""
        desc = int(acl.create_tensor_desc(dtype, list(shape), layout))
        self.stack.callback(acl.destroy_tensor_desc, desc)
        if name:
            acl.set_tensor_desc_name(desc, name)
        return desc

    def buffer(self, address: int, size: int) -> int:
        """A data buffer."""
        buffer = int(acl.create_data_buffer(address, size))
        self.stack.callback(acl.destroy_data_buffer, buffer)
        return buffer

    def attrs(self, given: dict[str, tuple[str, Any]]) -> int:
        """An attribute object."""
        attr = int(acl.op.create_attr())
        self.stack.callback(acl.op.destroy_attr, attr)
        for name, (kind, value) in given.items():
            ret = getattr(acl.op, f"set_attr_{kind}")(attr, name, value)
            ok(ret[1] if isinstance(ret, tuple) else ret, f"set_attr_{kind}({name})")
        return attr


def check(drawn: Drawn, stream: int) -> None:
    """Runs a call through the whole API and compares what comes back; the stream is synchronized."""
    with ExitStack() as stack:
        device = Device(stack)
        keep: list[Any] = []
        tensors = [_input(device, one, keep) for one in drawn.inputs]
        outputs = [_output(device, drawn, place, one, tensors) for place, one in enumerate(drawn.outputs)]
        ret = acl.op.compile_and_execute_v2(
            drawn.op_type, [one[0] for one in tensors], [one[1] for one in tensors], [one[0] for one in outputs],
            [one[1] for one in outputs], device.attrs(drawn.attrs), 0, 0, None, stream,
        )  # fmt: skip
        ok(ret, f"compile_and_execute_v2\n  {drawn}\n  ")
        ok(acl.rt.synchronize_stream(stream), f"synchronize_stream\n  {drawn}\n  ")
        for output, (desc, _, address) in zip(drawn.outputs, outputs, strict=True):
            _compare(drawn, output, desc, address)
        for place, output in drawn.updates():
            _compare(drawn, output, tensors[place][0], tensors[place][2])


def _input(device: Device, one: Tensor, keep: list[Any]) -> tuple[int, int, int]:
    """Descriptor, buffer and address of an input: absent, const, in host or in device memory."""
    if one.data is None:
        return device.desc(-1, (), -1, one.spec.name), device.buffer(0, 0), 0
    stored = np.ascontiguousarray(values.pack(one.data, one.spec.dtype))
    if one.spec.dtype == dtypes.STRING:
        stored = np.frombuffer(place_of(stored.tobytes()), np.uint8)
    keep.append(stored)
    desc = device.desc(one.spec.dtype, one.spec.shape, one.spec.format, one.spec.name)
    if one.way == "const value" and stored.nbytes:
        ok(acl.set_tensor_const(desc, stored.ctypes.data, stored.nbytes), "set_tensor_const")
    if one.way == "host value":
        ok(acl.set_tensor_place_ment(desc, IN_HOST), "set_tensor_place_ment")
        return desc, device.buffer(stored.ctypes.data if stored.nbytes else 0, stored.nbytes), 0
    address = device.upload(stored)
    return desc, device.buffer(address, stored.nbytes), address


def _output(
    device: Device, drawn: Drawn, place: int, output: Output, tensors: list[tuple[int, int, int]]
) -> tuple[int, int, int]:
    """Descriptor, buffer and address of an output; in place where the call was drawn so."""
    _, _, size = storage(output.spec.dtype, output.spec.shape)
    desc = device.desc(output.spec.dtype, output.spec.shape, output.spec.format)
    in_place = place == 0 and drawn.alias is not None and drawn.alias[1] == 0
    address = tensors[drawn.alias[0]][2] if in_place and drawn.alias is not None else device.memory(size)
    return desc, device.buffer(address, size), address


def _compare(drawn: Drawn, output: Output, desc: int, address: int) -> None:
    rank = acl.get_tensor_desc_num_dims(desc)
    shape = tuple(acl.get_tensor_desc_dim_v2(desc, place)[0] for place in range(rank))
    empty = all(0 in one.spec.shape for one in drawn.outputs)  # nothing runs, so nothing is written back
    assert empty or shape == output.shape, f"{output.name}: written back {list(shape)}, true {list(output.shape)}\n  {drawn}"
    code = output.spec.dtype
    dtype, flat, size = storage(code, output.shape)
    stored = np.empty(flat, dtype)
    if size:
        ok(acl.rt.memcpy(stored.ctypes.data, size, address, size, TO_HOST), "memcpy back")
    got = values.unpack(stored, code, output.shape)
    if output.holds is not None:
        assert output.holds(got), f"{output.name} = {got}\n  {drawn}"
        return
    entry = find_oracle(drawn.op_type)
    allowed = tolerance.ulp(drawn.op_type, entry.family if entry else "", code)
    off = tolerance.wrong(drawn.op_type, got, output.want, code, allowed, output.slack)
    assert not off.any(), f"{output.name} = {got}, expected {output.want}\n  {drawn}"


def dtypes_through_api(codes: tuple[int, ...]) -> tuple[int, ...]:
    """The dtypes of aclDataType; prototypes know more."""
    return tuple(code for code in codes if not 17 < code < 23 and code in dtypes.BY_CODE)
