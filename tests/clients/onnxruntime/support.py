"""Sessions on both providers, single-node models, and which provider ran which node."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

CANN, CPU = "CANNExecutionProvider", "CPUExecutionProvider"
PROVIDERS = [(CANN, {"enable_cann_graph": "0"}), CPU]
IR_VERSION = 8
RELATIVE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6, np.dtype(np.float16): 1e-2}
"""How far the CANN provider may be from the CPU provider, relative to the largest value of the tensor."""

Arrays = Mapping[str, np.ndarray]

onnxruntime.set_default_logger_severity(4)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Arrays,
    outputs: Iterable[str],
    *,
    opset: int,
    weights: Arrays | None = None,
) -> bytes:
    """A serialized model; the outputs' types and shapes are left to shape inference."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for name, a in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)
    return bytes(model.SerializeToString())


def single_node(
    op_type: str, arrays: Sequence[np.ndarray | None], *, opset: int, outputs: int = 1, **attributes: Any
) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of one node, and what to feed it; None is an optional input left out."""
    inputs = {f"x{place}": array for place, array in enumerate(arrays) if array is not None}
    names = ["" if array is None else f"x{place}" for place, array in enumerate(arrays)]
    results = [f"y{place}" for place in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    return model_of([node], inputs, results, opset=opset), inputs


def options(profile_in: Path | None = None, optimize: bool = True) -> onnxruntime.SessionOptions:
    """Session options; a profile is written into the folder when there is one.

    The optimizer melts BatchNormalization into Conv and MatMul with Add into Gemm, and drops Dropout.
    """
    made = onnxruntime.SessionOptions()
    if not optimize:
        made.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made.log_severity_level = 4
    if profile_in is not None:
        made.enable_profiling = True
        made.profile_file_prefix = str(profile_in / "profile")
    return made


def session(model: bytes | str, profile_in: Path | None = None, optimize: bool = True) -> onnxruntime.InferenceSession:
    """A session with the CANN provider first."""
    return onnxruntime.InferenceSession(model, options(profile_in, optimize), providers=PROVIDERS)


def cpu_session(model: bytes | str) -> onnxruntime.InferenceSession:
    """A session with the CPU provider alone: the reference."""
    return onnxruntime.InferenceSession(model, options(), providers=[CPU])


def nodes_by_provider(profiled: onnxruntime.InferenceSession) -> dict[str, list[str]]:
    """The operator types that each provider ran, copies between them included; ends the profile and removes its file."""
    path = Path(profiled.end_profiling())
    events = json.loads(path.read_text())
    path.unlink()
    found: dict[str, list[str]] = {}
    for event in events:
        args = event.get("args", {})
        if event["name"].endswith("_kernel_time"):
            found.setdefault(args["provider"], []).append(args["op_name"])
    return found


def assert_close(ours: np.ndarray, reference: np.ndarray, relative: float | None = None) -> None:
    """Same type, shape, infinities and NaN; floats within the tolerance of their type, everything else exactly."""
    assert (ours.dtype, ours.shape) == (reference.dtype, reference.shape)
    if ours.dtype not in RELATIVE:
        np.testing.assert_array_equal(ours, reference)
        return
    finite = np.isfinite(reference)
    np.testing.assert_array_equal(ours[~finite], reference[~finite])
    result, expected = ours[finite].astype(np.float64), reference[finite].astype(np.float64)
    relative = RELATIVE[ours.dtype] if relative is None else relative
    np.testing.assert_allclose(result, expected, rtol=0, atol=relative * np.abs(expected).max(initial=0))
