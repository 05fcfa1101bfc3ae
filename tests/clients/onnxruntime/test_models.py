"""Whole models: the CANN provider equals the CPU provider, in float32 and in float16."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.clients.onnxruntime.models import MODELS
from tests.clients.onnxruntime.support import CANN, assert_close, cpu_session, nodes_by_provider, session

pytestmark = pytest.mark.client

ON_CANN = {
    "residual": {"Conv", "BatchNormalization", "Relu", "MaxPool", "Add", "GlobalAveragePool", "Flatten"},
    "vgg": {"Conv", "Relu", "MaxPool", "Flatten", "Dropout"},
    "mobilenet": {"Conv", "BatchNormalization", "Relu", "AveragePool", "GlobalMaxPool", "Flatten"},
    "perceptron": {"MatMul", "Add", "Mul", "Sqrt", "Reciprocal", "Relu"},
}
"""What must have run on the CANN provider, so that the comparison says something; the optimizer takes some of it away."""

FUSED = {"BatchNormalization", "Dropout", "MatMul"}


@pytest.mark.parametrize("optimize", [True, False], ids=["optimized", "as written"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", MODELS)
def test_the_cann_provider_equals_the_cpu_provider(name: str, dtype: str, optimize: bool, tmp_path: Path) -> None:
    model, feeds = MODELS[name](dtype)
    made, reference = session(model, tmp_path, optimize), cpu_session(model)
    for scale in (1, -0.5, 2):
        fed = {key: (value * np.asarray(scale, value.dtype)) for key, value in feeds.items()}
        for ours, expected in zip(made.run(None, fed), reference.run(None, fed), strict=True):
            assert ours.size
            assert_close(ours, expected)
    ran = set(nodes_by_provider(made)[CANN])
    wanted = (ON_CANN[name] - (FUSED if optimize else set())) | ({"Gemm"} if dtype == "float16" else set())
    assert wanted <= ran, f"not on the CANN provider: {sorted(wanted - ran)}"
