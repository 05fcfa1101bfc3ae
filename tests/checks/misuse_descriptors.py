"""HA4xx by example."""

from __future__ import annotations

import numpy as np

from tests.checks.kit import Kit, misuse


@misuse("HA401", "set_tensor_format", "desc", "NULL")
def null_argument(kit: Kit, wrong: bool) -> None:
    kit.api.set_tensor_format(0 if wrong else kit.desc([4]), 2)


@misuse("HA402", "destroy_data_buffer", "dataBuffer", "a destroyed data buffer made at", "destroyed at")
def dead_handle(kit: Kit, wrong: bool) -> None:
    buffer, other = (kit.api.create_data_buffer(0, 0) for _ in range(2))
    kit.api.destroy_data_buffer(buffer)
    kit.api.destroy_data_buffer(buffer if wrong else other)


@misuse("HA403", "op.execute_v2", "inputDesc[0]", "a data buffer made at", "allowed: a live tensor descriptor")
def wrong_kind(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    kit.execute("Abs", [(x[1] if wrong else x[0], x[1])], [y])


@misuse("HA404", "op.execute_v2", "inputDesc[0]", "unknown (host) memory")
def foreign_handle(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    kit.execute("Abs", [(kit.host([0]) if wrong else x[0], x[1])], [y])


@misuse("HA405", "set_tensor_shape", "numDims", "-1; allowed: 0 or more", faces=("c",))
def bad_dims(kit: Kit, wrong: bool) -> None:
    kit.api.set_tensor_shape(kit.desc([4]), -1 if wrong else 1, kit.host(np.array([4], np.int64)))


@misuse("HA405", "create_tensor_desc", "num_dims", "3 with a list of 2 dims; allowed: the list's length", faces=("python",))
def other_number_of_dims(kit: Kit, wrong: bool) -> None:
    kit.api.create_tensor_desc(0, 3 if wrong else 2, [2, 4], 2)


@misuse("HA406", "get_tensor_desc_dim_v2", "index", "2; allowed: below 2")
def dim_index(kit: Kit, wrong: bool) -> None:
    kit.api.get_tensor_desc_dim_v2(kit.desc([2, 3]), 2 if wrong else 1)


@misuse("HA407", "op.execute_v2", "inputs", "has 2 data buffers, but input_desc has 1", faces=("python",))
def different_numbers(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    kit.api.op.execute_v2("Abs", [x[0]], [x[1]] * (2 if wrong else 1), [y[0]], [y[1]], 0, kit.stream)


@misuse("HA408", "op.execute_v2", "inputs[1]", "NULL; allowed: a data buffer")
def null_element(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Add", [x, x], [y])
    kit.execute("Add", [x, (x[0], 0 if wrong else x[1])], [y])


@misuse("HA409", "op.execute_v2", "inputs[0]", "data NULL and size 16")
def null_data(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    kit.execute("Abs", [(x[0], kit.api.create_data_buffer(0 if wrong else kit.device(), 16))], [y])


@misuse("HA410", "op.execute_v2", "outputs[0]", "32 bytes; its descriptor needs 64")
def small_buffer(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([16]), kit.tensor([16])
    kit.compile("Abs", [x], [y])
    kit.execute("Abs", [x], [(y[0], kit.api.create_data_buffer(kit.device(), 32 if wrong else 64))])


@misuse("HA411", "op.execute_v2", "outputs[0]", "16 bytes; its descriptor needs 20 (within the same 32-byte block)")
def short_buffer(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([5]), kit.tensor([5])
    kit.compile("Abs", [x], [y])
    kit.execute("Abs", [x], [(y[0], kit.api.create_data_buffer(kit.device(), 16 if wrong else 20))])


def _convolve(kit: Kit, bias: tuple[int, int]) -> None:
    kernel = kit.desc([1, 1, 1, 1], fmt=0), kit.tensor([1])[1]
    x, y = (kit.desc([1, 1, 2, 2], fmt=0), kit.tensor([4])[1]), (kit.desc([1, 1, 2, 2], fmt=0), kit.tensor([4])[1])
    kit.run("Conv2D", [x, kernel, bias], [y], kit.attr(strides=[1, 1, 1, 1], pads=[0, 0, 0, 0]))


@misuse("HA412", "op.execute_v2", "inputs[2]", "a buffer of 64 bytes", "left out; allowed: an empty buffer")
def given_though_absent(kit: Kit, wrong: bool) -> None:
    ptr, size = (kit.device(), 64) if wrong else (0, 0)
    _convolve(kit, (kit.api.create_tensor_desc(-1, [], -1), kit.api.create_data_buffer(ptr, size)))


@misuse("HA413", "trans_tensor_desc_format", "srcDesc", "format 0 and 4 dims, dstFormat = 77; allowed: among NCHW")
def unknown_format(kit: Kit, wrong: bool) -> None:
    kit.api.trans_tensor_desc_format(kit.desc([1, 2, 3, 4], fmt=0), 77 if wrong else 1)


@misuse("HA414", "set_tensor_const", "dataBuffer", "length = 0; allowed: the address and size")
def empty_const(kit: Kit, wrong: bool) -> None:
    kit.api.set_tensor_const(kit.desc([4]), kit.host(np.zeros(4, np.float32)), 0 if wrong else 16)


@misuse("HA415", "op.execute_v2", "inputs[1]", "byte 0 of the buffer is 0x01", "const data has 0x00")
def const_changed(kit: Kit, wrong: bool) -> None:
    axes = np.zeros(1, np.int64)
    x, y = kit.tensor([4]), kit.tensor([])
    desc = kit.desc([1], "int64")
    kit.api.set_tensor_const(desc, kit.host(axes), 8)
    kit.kept[-1][0] = 1 if wrong else 0
    buffer = kit.api.create_data_buffer(kit.kept[-1].ctypes.data, 8)
    kit.run("ReduceSum", [x, (desc, buffer)], [y])


@misuse("HA417", "op.set_attr_int", "attrName", "NULL", faces=("c",))
def bad_attribute(kit: Kit, wrong: bool) -> None:
    kit.api.op.set_attr_int(kit.attr(), None if wrong else "axis", 1)


@misuse("HA420", "set_tensor_shape_range", "dimsRange[0]", "(8, 1); allowed: 0 <= min <= max")
def bad_range(kit: Kit, wrong: bool) -> None:
    kit.api.set_tensor_shape_range(kit.desc([-1]), [[8, 1] if wrong else [1, 8]])


@misuse("HA421", "op.execute_v2", "", "storage [1, 1, 2, 2, 8] is too small", "TransData", "submitted at")
def cannot_be_converted(kit: Kit, wrong: bool) -> None:
    src, dst = kit.desc([1, 16, 2, 2], "float16", 0), kit.desc([1, 16, 2, 2], "float16", 0)
    kit.api.set_tensor_format(dst, 3)
    kit.api.set_tensor_shape(dst, [1, 1, 2, 2, 8 if wrong else 16])
    buffers = kit.tensor([64], "float16")[1], kit.tensor([64], "float16")[1]
    kit.run("TransData", [(src, buffers[0])], [(dst, buffers[1])], kit.attr(src_format="NCHW", dst_format="NC1HWC0"))
    kit.wait()


@misuse("HA422", "op.execute_v2", "opType", '""; allowed: the name of an operator')
def argument_value(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    kit.execute("" if wrong else "Abs", [x], [y])
