"""TransData between every pair of formats that there is, both ways, element by element by the formulas of the layouts."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from hostacl.ops import batches, find
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from random_calls.oracles.format_transform import block_shape, position

PLAIN = list(permutations(("NCHW", "NHWC", "HWCN", "CHWN"), 2))
BLOCKED = [
    *(("NC1HWC0", plain) for plain in ("NCHW", "NHWC")),
    *(("FRACTAL_NZ", plain) for plain in ("ND", "NCHW", "NHWC")),
    *(("FRACTAL_Z", plain) for plain in ("NCHW", "HWCN", "NHWC", "ND")),
    *(("NDC1HWC0", plain) for plain in ("NCDHW", "NDHWC")),
    *(("FRACTAL_Z_3D", plain) for plain in ("NCDHW", "DHWCN", "NDHWC")),
    *(("FRACTAL_Z_C04", plain) for plain in ("NCHW", "HWCN")),
]
TYPES = (dtypes.FLOAT16, dtypes.BF16, dtypes.FLOAT, dtypes.INT8, dtypes.INT32)
SIZES = {"N": 18, "C": 19, "D": 2, "H": 2, "W": 3}


@pytest.fixture(params=["whole", "in pieces"], autouse=True)
def size(request, monkeypatch):
    """Everything twice, the second time divided into tiny pieces."""
    if request.param != "whole":
        monkeypatch.setattr(batches, "LARGE_BYTES", 64)
        monkeypatch.setattr(batches, "PART_BYTES", 16)


def run(src: Any, code: int, source: str, target: str, shape: tuple[int, ...], groups: int) -> Any:
    operator = find("TransData")
    assert operator is not None
    attrs = {"src_format": ("string", source), "dst_format": ("string", target), "groups": ("int", groups)}
    specs = TensorSpec(code, src.shape, formats.CODES[source]), TensorSpec(code, shape, formats.CODES[target])
    out = np.full(shape, 77).astype(src.dtype)
    operator.bind(specs[:1], specs[1:], attrs).function()(src, out)
    return out


def numbered(code: int, shape: tuple[int, ...]) -> Any:
    """Elements that can be told apart, as far as the type has so many values."""
    return (np.arange(np.prod(shape)) % 127 + 1).reshape(shape).astype(dtypes.numpy_dtype(code))


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize(("source", "target"), PLAIN)
def test_plain_formats(source, target, code):
    src = numbered(code, tuple(SIZES[letter] for letter in source))
    shape = tuple(SIZES[letter] for letter in target)
    np.testing.assert_array_equal(
        run(src, code, source, target, shape, 1).astype(float), np.einsum(f"{source}->{target}", src.astype(float))
    )


CASES = [
    (block, plain, groups)
    for block, plain in BLOCKED
    for groups in ((1, 2, 3) if block in ("FRACTAL_Z", "FRACTAL_Z_3D") and plain != "ND" else (1,))
]


def block_sizes(block: str, code: int) -> tuple[int, ...]:
    """The C0 to try."""
    if block == "FRACTAL_Z_C04":
        return (16,)
    return {dtypes.INT8: (32,), dtypes.FLOAT: (16, 8), dtypes.INT32: (16, 8)}.get(code, (16,))


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize(("block", "plain", "groups"), CASES)
def test_into_blocks_and_back(block, plain, groups, code):
    sizes = {**SIZES, "C": 3} if block == "FRACTAL_Z_C04" or groups > 1 else SIZES
    shape = (19, 35) if plain == "ND" else tuple(sizes[letter] for letter in plain)
    for c0 in block_sizes(block, code):
        src = numbered(code, shape)
        blocks = block_shape(block, shape, plain, c0, groups)
        wanted = np.zeros(blocks, src.dtype)
        for place in np.ndindex(shape):
            wanted[position(block, place, shape, plain, c0, groups)] = src[place]
        found = run(src, code, plain, block, blocks, groups)
        np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))
        np.testing.assert_array_equal(run(found, code, block, plain, shape, groups).view(np.uint8), src.view(np.uint8))
