"""Running a drawn call at the level of operators, in guarded memory, and judging what it wrote."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.errors import HostaclError
from hostacl.ops.call import Call
from hostacl.ops.registry import find
from hostacl.tensors import dtypes
from random_calls import tolerance, values
from random_calls.draw import Drawn, Output
from random_calls.oracle import find_oracle

Array = values.Array

GUARD = 64
PATTERN = 0xA5


class Buffer:
    """Memory with guard bytes on both sides; ``array`` views it, ``intact`` says whether the guards are untouched."""

    def __init__(self, size: int) -> None:
        self.memory = np.full(size + 2 * GUARD, PATTERN, np.uint8)
        self.size = size

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int = 0) -> Array:
        """An array over the memory, ``offset`` bytes from its start."""
        size = int(np.prod(shape)) * dtype.itemsize
        return np.ndarray(shape, dtype, self.memory.data, GUARD + offset) if size else np.empty(shape, dtype)

    def intact(self, start: int = 0, stop: int | None = None) -> bool:
        """Whether all bytes outside start..stop still hold the pattern."""
        outside = (self.memory[: GUARD + start], self.memory[GUARD + (self.size if stop is None else stop) :])
        return all((part == PATTERN).all() for part in outside)


def storage(code: int, shape: tuple[int, ...]) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """NumPy type, shape and bytes of an array in memory; packed types lie flat."""
    dtype = values.logical(code) if code == dtypes.STRING else dtypes.numpy_dtype(code)
    count = int(np.prod(shape))
    if code in dtypes.PACKED:
        size = dtypes.size_in_bytes(code, count)
        return dtype, (size,), size
    return dtype, shape, count * dtype.itemsize


def bind(drawn: Drawn) -> Call:
    """The call bound: const inputs carry their bytes, host ones their values, device ones nothing."""
    operator = find(drawn.op_type)
    assert operator is not None, f"{drawn.op_type} is not registered"
    specs, known = [], {}
    for one in drawn.inputs:
        spec = one.spec
        if one.way == "const value" and one.data is not None:
            spec = spec._replace(const=values.pack(one.data, spec.dtype).tobytes())
        elif one.way == "host value" and one.data is not None:
            spec, known[one.name] = spec._replace(placement=1), one.data
        specs.append(spec)
    call = operator.bind(specs, [one.spec for one in drawn.outputs], drawn.attrs)
    return call.with_values(known) if known else call


def check(drawn: Drawn) -> None:
    """Runs a call and raises AssertionError with the call in its text when anything is not as the oracle says."""
    try:
        call = bind(drawn)
        check_inferred(drawn, call)
        _check_run(drawn, call)
    except HostaclError as error:
        raise AssertionError(f"{type(error).__name__} {error}\n  {drawn}") from error
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n  {drawn}") from error


def check_inferred(drawn: Drawn, call: Call) -> None:
    """What is inferred must hold what the oracle says: dtype, and the exact shape, or ranges around it."""
    for inferred, output in zip(call.infer(), drawn.outputs, strict=True):
        assert inferred.dtype == output.spec.dtype, (
            f"{output.name}: inferred dtype {inferred.dtype}, described {output.spec.dtype}\n  {drawn}"
        )
        if inferred.shape is None:
            assert not call.exact, f"{output.name}: exact, yet of unknown rank\n  {drawn}"
            continue
        ranges = inferred.ranges or tuple((dim, dim) for dim in inferred.shape)
        assert len(inferred.shape) == len(output.shape), (
            f"{output.name}: inferred {inferred.shape}, true {output.shape}\n  {drawn}"
        )
        for dim, true, (low, high) in zip(inferred.shape, output.shape, ranges, strict=True):
            fits = dim == true if dim >= 0 else low <= true and (high < 0 or true <= high)
            assert fits, f"{output.name}: inferred {inferred.shape} {inferred.ranges}, true {output.shape}\n  {drawn}"


def _check_run(drawn: Drawn, call: Call) -> None:
    """Writes inputs into guarded memory, runs, and compares outputs, inputs and guards."""
    buffers: list[Buffer] = []
    arrays: list[Array | None] = []
    shift = _shift(drawn)
    for place, one in enumerate(drawn.inputs):
        arrays.append(
            None
            if one.data is None
            else _filled(one.data, one.spec.dtype, abs(shift) if _is_alias(drawn, place) else 0, shift, buffers)
        )
    before = [None if array is None else array.tobytes() for array in arrays]
    outputs = [_room(drawn, place, one, buffers, arrays, shift) for place, one in enumerate(drawn.outputs)]
    with np.errstate(all="ignore"):  # as the machine runs plans
        true = call.function()(*arrays, *outputs)
    shapes = tuple(one.shape for one in drawn.outputs) if call.exact else true
    assert tuple(map(tuple, shapes or ())) == tuple(one.shape for one in drawn.outputs), (
        f"true shapes {shapes}\n  {drawn}"
    )
    for output, array in zip(drawn.outputs, outputs, strict=True):
        _compare(drawn, output, array)
    for place, output in drawn.updates():
        array = arrays[place]
        assert array is not None
        _compare(drawn, output, array)
    assert all(buffer.intact() for buffer in buffers), f"wrote outside its buffer\n  {drawn}"
    for place, (array, old) in enumerate(zip(arrays, before, strict=True)):
        free = _is_alias(drawn, place) or drawn.inputs[place].name in call.operator.updates
        assert array is None or free or array.tobytes() == old, (
            f"changed input {drawn.inputs[place].name}\n  {drawn}"
        )


def _is_alias(drawn: Drawn, place: int) -> bool:
    return drawn.alias is not None and drawn.alias[0] == place


def _shift(drawn: Drawn) -> int:
    """The distance in bytes from the shared input to the first output."""
    return 0 if drawn.alias is None else drawn.alias[1] * dtypes.numpy_dtype(drawn.outputs[0].spec.dtype).itemsize


def _filled(data: Array, code: int, extra: int, shift: int, buffers: list[Buffer]) -> Array:
    """An input in guarded memory; room for a shifted output stays beside it."""
    dtype, shape, size = storage(code, data.shape)
    buffers.append(Buffer(size + extra))
    array = buffers[-1].array(dtype, shape, extra if shift < 0 else 0)
    array[...] = values.pack(data, code)
    return array


def _room(drawn: Drawn, place: int, output: Output, buffers: list[Buffer], arrays: list[Array | None], shift: int) -> Array:
    """Memory for an output: its own, or that of the input it shares."""
    dtype, shape, size = storage(output.spec.dtype, output.spec.shape)
    if place or drawn.alias is None:
        buffers.append(Buffer(size))
        return buffers[-1].array(dtype, shape)
    owners = [index for index, array in enumerate(arrays) if array is not None]
    return buffers[owners.index(drawn.alias[0])].array(dtype, shape, max(shift, 0))


def _compare(drawn: Drawn, output: Output, array: Array) -> None:
    code, count = output.spec.dtype, int(np.prod(output.shape))
    dense = values.unpack(array, code, output.spec.shape).reshape(-1)[:count].reshape(output.shape)
    if output.holds is not None:
        assert output.holds(dense), f"{output.name} = {dense}\n  {drawn}"
        return
    entry = find_oracle(drawn.op_type)
    allowed = tolerance.ulp(drawn.op_type, entry.family if entry else "", code)
    off = tolerance.wrong(drawn.op_type, dense, output.want, code, allowed, output.slack)
    if off.any():
        first = tuple(int(one) for one in np.argwhere(off)[0])
        got, want = dense[first], output.want[first]
        told = f"{int(off.sum())} of {off.size} wrong, {allowed} ulp allowed"
        raise AssertionError(
            f"{output.name}{list(first)} = {got!r}, expected {want!r} ({told})\n  {drawn}"
        )
