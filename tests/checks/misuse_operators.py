"""HA5xx by example. What a call cannot be built of is told when it is compiled, or when the machine infers its shapes."""

from __future__ import annotations

import numpy as np

import hostacl
from tests.checks.kit import Kit, misuse


@misuse("HA501", "op.compile", "", "Abss: no operator of this name", "Abs")
def unknown_operator(kit: Kit, wrong: bool) -> None:
    kit.compile("Abss" if wrong else "Abs", [kit.tensor([4])], [kit.tensor([4])])


@misuse("HA502", "op.compile", "x1", "DT_UINT64", "allowed: ")
def dtype_not_supported(kit: Kit, wrong: bool) -> None:
    dtype = "uint64" if wrong else "int64"
    x, y = kit.tensor([4], dtype), kit.tensor([4], dtype)
    kit.compile("Add", [x, x], [y])


@misuse("HA503", "op.compile", "x2", "Div", "DT_FLOAT")
def dtypes_differ(kit: Kit, wrong: bool) -> None:
    x, other = kit.tensor([4], "float16"), kit.tensor([4], "float32" if wrong else "float16")
    kit.compile("Div", [x, other], [kit.tensor([4], "float16")])


@misuse("HA504", "op.compile", "x1", "MatMul", "[2,3]")
def shapes_do_not_fit(kit: Kit, wrong: bool) -> None:
    x = kit.tensor([2, 3])
    kit.compile("MatMul", [x, x], [kit.tensor([2, 2])], kit.attr(transpose_x2=not wrong, transpose_x1=False))


@misuse("HA505", "op.compile", "strides", "Conv2D", "an attribute (list_int) that must be set")
def attribute_missing(kit: Kit, wrong: bool) -> None:
    x, kernel, y = (kit.desc(dims, fmt=0) for dims in ([1, 1, 2, 2], [1, 1, 1, 1], [1, 1, 2, 2]))
    attr = kit.attr(pads=[0, 0, 0, 0]) if wrong else kit.attr(pads=[0, 0, 0, 0], strides=[1, 1, 1, 1])
    kit.compile("Conv2D", [(x, 0), (kernel, 0)], [(y, 0)], attr)


@misuse("HA506", "op.compile", "keep_dims", "ReduceSum", "set as int (1); the prototype's attribute is bool")
def attribute_kind(kit: Kit, wrong: bool) -> None:
    inputs = [kit.tensor([4]), kit.const(np.array([0], np.int64))]
    kit.compile("ReduceSum", inputs, [kit.tensor([1])], kit.attr(keep_dims=1 if wrong else True))


@misuse("HA507", "op.compile", "keepdims", "Abs", "is no attribute of the prototype and was dropped")
def attribute_unknown(kit: Kit, wrong: bool) -> None:
    kit.compile("Abs", [kit.tensor([4])], [kit.tensor([4])], kit.attr(keepdims=1) if wrong else 0)


@misuse("HA508", "op.compile", "padding", "'same'; allowed: SAME, VALID")
def attribute_value(kit: Kit, wrong: bool) -> None:
    x, y = kit.desc([1, 1, 4, 4], fmt=0), kit.desc([1, 1, 2, 2], fmt=0)
    attr = kit.attr(ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], padding="same" if wrong else "SAME", data_format="NCHW")
    kit.compile("MaxPool", [(x, 0)], [(y, 0)], attr)


@misuse("HA509", "op.compile", "axes", "ReduceSum", "axis 2 not in [-2,1]")
def axis_out_of_range(kit: Kit, wrong: bool) -> None:
    axes = kit.const(np.array([2 if wrong else 1], np.int64))
    kit.compile("ReduceSum", [kit.tensor([2, 3]), axes], [kit.tensor([2])])


@misuse("HA510", "op.execute_v2", "indices[0]", "GatherV2", "9; allowed: -4 to 3", "submitted at")
def index_out_of_range(kit: Kit, wrong: bool) -> None:
    kit.gather(9 if wrong else 3)
    kit.wait()


@misuse("HA511", "op.compile", "y", "Abs", "[3]", "[4]")
def output_shape(kit: Kit, wrong: bool) -> None:
    kit.compile("Abs", [kit.tensor([4])], [kit.tensor([3 if wrong else 4])])


@misuse("HA512", "op.compile", "y", "Abs", "DT_FLOAT16", "DT_FLOAT")
def output_dtype(kit: Kit, wrong: bool) -> None:
    kit.compile("Abs", [kit.tensor([4])], [kit.tensor([4], "float16" if wrong else "float32")])


@misuse("HA513", "op.compile", "", "Add", "3")
def number_of_tensors(kit: Kit, wrong: bool) -> None:
    x = kit.tensor([4])
    kit.compile("Add", [x] * (3 if wrong else 2), [kit.tensor([4])])


@misuse("HA514", "op.execute_v2", "axes", "ReduceSum", "plain device memory")
def device_value(kit: Kit, wrong: bool) -> None:
    axes = np.array([0], np.int64)
    kit.run("ReduceSum", [kit.tensor([4]), kit.filled(axes) if wrong else kit.const(axes)], [kit.tensor([])])


@misuse("HA515", "op.compile", "x2", "Add", "its descriptor says UNDEFINED")
def required_tensor(kit: Kit, wrong: bool) -> None:
    x = kit.tensor([4])
    absent = kit.api.create_tensor_desc(-1, [], -1), 0
    kit.compile("Add", [x, absent if wrong else x], [kit.tensor([4])])


@misuse("HA516", "op.compile", "x1", "MatMul", "3 dims; allowed: 2")
def rank_not_supported(kit: Kit, wrong: bool) -> None:
    x = kit.tensor([1, 2, 2] if wrong else [2, 2])
    kit.compile("MatMul", [x, x], [x])


@misuse("HA518", "op.compile", "", "its prototype is known, but")
def operator_not_here(kit: Kit, wrong: bool) -> None:
    from hostacl.ops import refusals, registry, schema

    missing = min(set(schema.known_operators()) - set(registry.implemented()) - set(refusals.refused()))
    kit.compile(missing if wrong else "Abs", [kit.tensor([4])], [kit.tensor([4])])


@misuse("HA519", "op.compile", "offsets[0]", "Slice", "5; allowed: 0 to 4")
def value_not_allowed(kit: Kit, wrong: bool) -> None:
    offset, size = (kit.const(np.array([value], np.int64)) for value in (5 if wrong else 1, 2))
    kit.compile("Slice", [kit.tensor([4]), offset, size], [kit.tensor([2])])


@misuse("HA520", "op.execute_v2", "outputs[0]", "lie over those of inputs[0]", "MatMul does not work in place")
def output_over_input(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([2, 2]), kit.tensor([2, 2])
    kit.run("MatMul", [x, x], [x if wrong else y])


@misuse("HA521", "op.execute_v2", "y", "NonZero", "is described as [1,2], its true shape is [1,4]")
def larger_than_described(kit: Kit, wrong: bool) -> None:
    x, y = kit.filled(np.ones(4, np.float32)), kit.tensor([1, 2 if wrong else 4], "int64")
    kit.run("NonZero", [x], [y], kit.attr(transpose=True))


@misuse("HA522", "op.execute", "", "NonZero: the size of an output depends on the data")
def depends_on_data(kit: Kit, wrong: bool) -> None:
    x, y, attr = kit.filled(np.ones(4, np.float32)), kit.tensor([1, 4], "int64"), kit.attr(transpose=True)
    kit.compile("NonZero", [x], [y], attr)
    kit.execute("NonZero", [x], [y], attr, way="execute" if wrong else "execute_v2")


def _infer(kit: Kit, op: str, inputs: list[tuple[int, int]], outputs: list[int]) -> None:
    kit.api.op.infer_shape(op, [one for one, _ in inputs], [one for _, one in inputs], outputs, 0) if kit.face.is_c else (
        kit.api.op.infer_shape(op, [one for one, _ in inputs], [one for _, one in inputs], len(outputs), outputs, 0)
    )  # fmt: skip


def _on_host(kit: Kit, value: np.ndarray[tuple[int], np.dtype[np.float32]]) -> tuple[int, int]:
    return kit.desc(list(value.shape)), kit.api.create_data_buffer(kit.host(value), value.nbytes)


@misuse("HA524", "op.infer_shape", "inputDesc[0]", "AddN", "no name")
def name_missing(kit: Kit, wrong: bool) -> None:
    pair = [_on_host(kit, np.ones(4, np.float32)) for _ in range(2)]
    y = kit.api.create_tensor_desc(-1, [], -1)
    if not wrong:
        for desc, name in zip((pair[0][0], pair[1][0], y), ("x0", "x1", "y"), strict=True):
            kit.api.set_tensor_desc_name(desc, name)
    attr = kit.attr(N=2)
    given = [one for one, _ in pair], [one for _, one in pair]
    kit.api.op.infer_shape("AddN", *given, *([] if kit.face.is_c else [1]), [y], attr)


@misuse("HA526", "op.execute_v2", "", "MisuseCustom", "ZeroDivisionError", "submitted at")
def failed_inside(kit: Kit, wrong: bool) -> None:
    @hostacl.op("MisuseCustom", inputs={"x": "float32"}, outputs={"y": "float32"})
    def custom(x: np.ndarray[tuple[int], np.dtype[np.float32]]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """x itself, or a division by zero."""
        return x * (1 // (0 if wrong else 1))

    kit.run("MisuseCustom", [kit.tensor([4])], [kit.tensor([4])])
    kit.wait()


@misuse("HA113", "op.execute_v2", "", "HungryCustom", "out of host memory")
def out_of_memory(kit: Kit, wrong: bool) -> None:
    @hostacl.op("HungryCustom", inputs={"x": "float32"}, outputs={"y": "float32"})
    def custom(x: np.ndarray[tuple[int], np.dtype[np.float32]]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """x itself, or more than there is."""
        return np.empty(1 << 60, np.float32) if wrong else x

    kit.run("HungryCustom", [kit.tensor([4])], [kit.tensor([4])])
    kit.wait()


@misuse("HA527", "op.compile", "y", "ArgMaxV2", "attribute dtype = 9 (DT_INT64)")
def dtype_attribute(kit: Kit, wrong: bool) -> None:
    x, axis = kit.tensor([4]), kit.const(np.array([0], np.int64))
    kit.compile("ArgMaxV2", [x, axis], [kit.tensor([], "int32")], kit.attr(dtype=9 if wrong else 3))


@misuse("HA528", "op.infer_shape", "inputs[0]", "Abs", "no data for DT_FLOAT [4]")
def data_missing(kit: Kit, wrong: bool) -> None:
    x = _on_host(kit, np.ones(4, np.float32))
    buffer = kit.api.create_data_buffer(0, 0) if wrong else x[1]
    _infer(kit, "Abs", [(x[0], buffer)], [kit.api.create_tensor_desc(-1, [], -1)])


@misuse("HA531", "op.execute_v2", "x[1]", "Cast", "= 4294967296 became 0", "1 of 2 values")
def integers_cut(kit: Kit, wrong: bool) -> None:
    x = kit.filled(np.array([1, 1 << (32 if wrong else 30)], np.int64))
    kit.run("Cast", [x], [kit.tensor([2], "int32")], kit.attr(dst_type=3))
