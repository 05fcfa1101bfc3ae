"""A convolution of one huge image needs little memory beside its tensors; a matrix of all columns would take 680 MB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import resource, sys
import numpy as np
from hostacl.config import change
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind

op, code, size, channels = sys.argv[1], int(sys.argv[2]), 1536, 8
change(dtypes="permissive")
dtype = dtypes.numpy_dtype(code)
out = dtypes.INT32 if code == dtypes.INT8 else code
attrs = {"strides": [1] * 4, "pads": [1] * 4}
filters, results = {"Conv2D": ((4, channels, 3, 3), 4), "DepthwiseConv2D": ((1, channels, 3, 3), channels),
                    "Conv2DTransposeD": ((channels, 4, 3, 3), 4)}[op]
if op == "Conv2DTransposeD":
    attrs["input_size"] = [1, results, size, size]
x, w = np.ones((1, channels, size, size), dtype), np.ones(filters, dtype)
y = np.ones((1, results, size, size), dtypes.numpy_dtype(out))
run = bind(op, [x, w], [TensorSpec(out, y.shape, 0)], layout=0, **attrs).function()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run(x, w, y)
assert y[0, 0, 5, 5] == 9 * (1 if op == "DepthwiseConv2D" else channels)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is told in KiB on Linux")
@pytest.mark.parametrize(
    ("op", "code"), [("Conv2D", 0), ("Conv2D", 1), ("Conv2D", 2), ("DepthwiseConv2D", 1), ("Conv2DTransposeD", 0)]
)
def test_one_huge_image(op, code):
    program = [sys.executable, "-c", PROGRAM, op, str(code)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 256 << 10
