"""Both engines against ONNX Runtime called directly, with constant weights: python benchmarks/bench_engine.py [name …]

Each line: milliseconds of the peer, and the ratios of the native engine and of HOSTACL_ENGINE=onnxruntime to it (medians).
HOSTACL_THREADS=1 compares one thread each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from common import fair_environment, ratio

fair_environment()

import numpy as np  # noqa: E402

from hostacl import _kernels  # noqa: E402
from hostacl.config import override  # noqa: E402
from hostacl.ops import find  # noqa: E402
from hostacl.tensors import dtypes, formats  # noqa: E402
from hostacl.tensors.spec import TensorSpec  # noqa: E402

RNG = np.random.default_rng(0)
KINDS = {bool: "bool", int: "int", float: "float", str: "string", list: "list_int"}
POOL = {"ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 2], "padding_mode": "CALCULATED", "pads": [1, 1, 1, 1]}


class Case(NamedTuple):
    """A call of ours and ONNX's node for it; the first input varies, the others are constants of the peer's model."""

    name: str
    op_type: str
    inputs: Sequence[Any]
    attrs: Mapping[str, Any]
    node: str
    attributes: Mapping[str, Any]
    results: int = 1
    constants: Sequence[Any] = ()


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def conv(name: str, x: Any, weight: Any, stride: int, pad: int) -> Case:
    """A convolution with square filters."""
    attrs = {"strides": [1, 1, stride, stride], "pads": [pad] * 4}
    return Case(name, "Conv2D", [x, weight], attrs, "Conv", {"strides": [stride] * 2, "pads": [pad] * 4})


def cases() -> list[Case]:
    """What is measured."""
    image, rows = floats(1, 64, 112, 112), floats(1024, 1000)
    size, filters = np.array([112, 112], np.int32), floats(1, 64, 3, 3)
    return [
        conv("Conv 3x3 64 to 64, 56x56", floats(1, 64, 56, 56), floats(64, 64, 3, 3), 1, 1),
        conv("Conv 1x1 64 to 256, 56x56", floats(1, 64, 56, 56), floats(256, 64, 1, 1), 1, 0),
        conv("Conv 7x7 3 to 64, 224x224", floats(1, 3, 224, 224), floats(64, 3, 7, 7), 2, 3),
        conv("Conv 3x3 20 to 30, 56x56", floats(1, 20, 56, 56), floats(30, 20, 3, 3), 1, 1),
        conv("Conv 3x3 128 to 128, 28x28", floats(1, 128, 28, 28), floats(128, 128, 3, 3), 1, 1),
        conv("Conv 3x3 stride 2, 64 to 128, 56x56", floats(1, 64, 56, 56), floats(128, 64, 3, 3), 2, 1),
        Case("Conv 3x3 in 4 groups, 64, 56x56", "Conv2D", [floats(1, 64, 56, 56), floats(64, 16, 3, 3)],
             {"strides": [1] * 4, "pads": [1] * 4, "groups": 4}, "Conv", {"pads": [1] * 4, "group": 4}),
        Case("Conv3D 3x3x3 16 to 32, 16x32x32", "Conv3D", [floats(1, 16, 16, 32, 32), floats(32, 16, 3, 3, 3)],
             {"strides": [1] * 5, "pads": [1] * 6, "data_format": "NCDHW"}, "Conv", {"pads": [1] * 6}),
        Case("Depthwise 3x3 64, 112x112", "DepthwiseConv2D", [image, filters],
             {"strides": [1] * 4, "pads": [1] * 4}, "Conv", {"pads": [1] * 4, "group": 64}, 1, (filters.reshape(64, 1, 3, 3),)),
        Case("Transposed 3x3 64 to 64, 56x56", "Conv2DTransposeD", [floats(1, 64, 56, 56), floats(64, 64, 3, 3)],
             {"input_size": [1, 64, 112, 112], "strides": [1, 1, 2, 2], "pads": [0, 1, 0, 1]}, "ConvTranspose",
             {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
        Case("MaxPool 3x3, 64x112x112", "MaxPoolV3", [image], POOL, "MaxPool",
             {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        Case("AvgPool 3x3, 64x112x112", "AvgPoolV2", [image], POOL, "AveragePool",
             {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        Case("MatMul 512", "MatMul", [floats(512, 512), floats(512, 512)], {}, "MatMul", {}),
        Case("LayerNorm 1024x1000", "LayerNormV3", [rows, floats(1000), floats(1000)],
             {"begin_norm_axis": -1, "begin_params_axis": -1}, "LayerNormalization", {"axis": -1}, 3),
        Case("RmsNorm 1024x1000", "RmsNorm", [rows, floats(1000)], {}, "SimplifiedLayerNormalization", {"axis": -1}, 2),
        Case("Softmax 1024x1000", "SoftmaxV2", [rows], {}, "Softmax", {"axis": -1}),
        Case("Bilinear x2, 64x56x56", "ResizeBilinearV2", [floats(1, 64, 56, 56), size], {"half_pixel_centers": True}, "Resize",
             {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, 1,
             (None, None, np.array([1, 64, 112, 112], np.int64))),
    ]  # fmt: skip


def ours(case: Case, engine: str, half: bool = False) -> Callable[[], Any]:
    """The call, ready to run under an engine."""
    operator = find(case.op_type)
    assert operator is not None
    inputs = [one.astype(np.float16) if half and one.dtype == np.float32 else one for one in case.inputs]
    specs = [
        TensorSpec(dtypes.code_of(one.dtype.name), one.shape, formats.NCHW if one.ndim == 4 else formats.ND,
                   const=one.tobytes() if one.dtype == np.int32 else None)
        for one in inputs
    ]  # fmt: skip
    attrs = {name: (KINDS[type(value)], value) for name, value in case.attrs.items()}
    with override(engine=engine, dtypes="permissive"):
        found = operator.bind(specs, (), attrs).infer()
        outputs = [TensorSpec(one.dtype, one.shape or (), one.format) for one in found]
        run = operator.bind(specs, outputs, attrs).function()
    results = [np.empty(one.shape, dtypes.numpy_dtype(one.dtype)) for one in outputs]
    return lambda: run(*inputs, *results)


def peer(case: Case) -> Callable[[], Any]:
    """A session made for just this case, all optimizations on."""
    import onnxruntime
    from onnx import helper, numpy_helper

    constants = case.constants or case.inputs[1:]
    names = ["" if one is None else f"c{place}" for place, one in enumerate(constants)]
    outputs = [f"y{place}" for place in range(case.results)]
    node = helper.make_node(case.node, ["x", *names], outputs, **case.attributes)
    x = helper.make_tensor_value_info("x", 1, case.inputs[0].shape)
    kept = [numpy_helper.from_array(one, name) for one, name in zip(constants, names, strict=True) if name]
    graph = helper.make_graph([node], "g", [x], [helper.make_tensor_value_info(one, 1, None) for one in outputs], kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = _kernels.threads(), 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": case.inputs[0]})


def main() -> None:
    print(f"{'':34}{'direct ms':>10}{'native':>9}{'engine':>9}{'native f16':>12}{'engine f16':>12}   ratios to direct float32")
    for case in cases():
        if sys.argv[1:] and not any(name.lower() in case.name.lower() for name in sys.argv[1:]):
            continue
        other = peer(case)
        found = [ratio(ours(case, engine, half), other, 5) for half in (False, True) for engine in ("native", "onnxruntime")]
        print(f"{case.name:34}{found[0][1] * 1e3:10.3f}" + "".join(f"{one[2]:{9 if place < 2 else 12}.2f}"
                                                                     for place, one in enumerate(found)))  # fmt: skip


if __name__ == "__main__":
    main()
