"""Block layouts against plain index loops, written from the table of layouts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import formats
from hostacl.tensors.spec import TensorSpec

F16 = 1


def ceil(size: int, block: int) -> int:
    return -(-size // block)


def expected(x, axes, shape, place):
    """The blocks of x by an index loop: ``place(**index)`` gives where an element goes."""
    out = np.zeros(shape, x.dtype)
    for index in itertools.product(*map(range, x.shape)):
        out[place(**dict(zip(axes, index, strict=True)))] = x[index]
    return out


def counting(*shape: int) -> np.ndarray:
    return (np.arange(math.prod(shape)) + 1).reshape(shape).astype(np.float16)


def nc1hwc0(sizes, c0=16):
    return (sizes["n"], ceil(sizes["c"], c0), sizes["h"], sizes["w"], c0), lambda n, c, h, w: (n, c // c0, h, w, c % c0)


def fractal_z(sizes, c0=16):
    h_size, w_size = sizes["h"], sizes["w"]
    shape = (ceil(sizes["c"], c0) * h_size * w_size, ceil(sizes["n"], 16), 16, c0)
    return shape, lambda n, c, h, w: ((c // c0) * h_size * w_size + h * w_size + w, n // 16, n % 16, c % c0)


def fractal_z_c04(sizes, c0=16):
    shape = (ceil(4 * sizes["h"] * sizes["w"], c0), ceil(sizes["n"], 16), 16, c0)

    def place(n, c, h, w):
        f = (h * sizes["w"] + w) * 4 + c
        return f // 16, n // 16, n % 16, f % 16

    return shape, place


CASES = [
    ("nchw", formats.NCHW, formats.NC1HWC0, (2, 19, 3, 2), nc1hwc0),
    ("nhwc", formats.NHWC, formats.NC1HWC0, (2, 3, 2, 5), nc1hwc0),
    ("nchw", formats.NCHW, formats.FRACTAL_Z, (18, 17, 2, 3), fractal_z),
    ("hwcn", formats.HWCN, formats.FRACTAL_Z, (2, 3, 5, 17), fractal_z),
    ("nchw", formats.NCHW, formats.FRACTAL_Z_C04, (17, 3, 2, 3), fractal_z_c04),
]


@pytest.mark.parametrize(("axes", "origin", "private", "shape", "layout"), CASES)
def test_pack_and_unpack_are_the_index_formula(axes, origin, private, shape, layout):
    x = counting(*shape)
    block_shape, place = layout(dict(zip(axes, shape, strict=True)))
    spec = TensorSpec(F16, shape, origin, private)
    blocks = expected(x, axes, block_shape, place)
    assert formats.storage_shape(spec) == block_shape
    out = np.full(block_shape, 7, np.float16)
    formats.pack(x, spec, out)
    np.testing.assert_array_equal(out, blocks)
    np.testing.assert_array_equal(formats.unpack(blocks, spec), x)


@pytest.mark.parametrize("shape", [(5, 33), (2, 3, 17, 16), (7,), ()])
def test_fractal_nz(shape):
    x = counting(*shape)
    wide = x.reshape(shape if len(shape) > 1 else (1, -1))
    *lead, m, n = wide.shape
    blocks = np.zeros((*lead, ceil(n, 16), ceil(m, 16), 16, 16), np.float16)
    for index in itertools.product(*map(range, wide.shape)):
        *front, i, j = index
        blocks[(*front, j // 16, i // 16, i % 16, j % 16)] = wide[index]
    spec = TensorSpec(F16, shape, formats.ND, formats.FRACTAL_NZ)
    out = np.full(blocks.shape, 7, np.float16)
    formats.pack(x, spec, out)
    np.testing.assert_array_equal(out, blocks)
    np.testing.assert_array_equal(formats.unpack(blocks, spec), x)


@pytest.mark.parametrize(("groups", "filters", "channels"), [(2, 32, 16), (4, 12, 3), (3, 6, 5), (8, 8, 1)])
def test_fractal_z_with_groups(groups, filters, channels):
    h = w = 2
    x = counting(filters, channels, h, w)
    co, c0 = filters // groups, 16
    merged = min(math.lcm(math.lcm(channels, c0) // channels, math.lcm(co, 16) // co), groups)
    cin, cout = ceil(merged * channels, c0) * c0, ceil(merged * co, 16) * 16
    blocks = np.zeros((ceil(groups, merged), 1, cin // c0, h, w, cout, c0), np.float16)
    for n, c, i, j in itertools.product(range(filters), range(channels), range(h), range(w)):
        group, inner = divmod(n, co)
        dci, dco = (group % merged) * channels + c, (group % merged) * co + inner
        blocks[group // merged, 0, dci // c0, i, j, dco, dci % c0] = x[n, c, i, j]
    spec = TensorSpec(F16, x.shape, formats.NCHW, formats.FRACTAL_Z | groups << 8)
    out = np.zeros(formats.storage_shape(spec), np.float16)
    formats.pack(x, spec, out)
    np.testing.assert_array_equal(out.ravel(), blocks.ravel())
    np.testing.assert_array_equal(formats.unpack(out, spec), x)


def test_storage_in_another_plain_order_is_a_transposition():
    x = counting(2, 3, 4, 5)
    spec = TensorSpec(F16, x.shape, formats.NCHW, formats.NHWC)
    stored = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(formats.unpack(stored, spec), x)
    out = np.empty_like(stored)
    formats.pack(x, spec, out)
    np.testing.assert_array_equal(out, stored)


def test_c0_comes_from_the_storage_shape_then_the_format_code_then_the_dtype():
    assert formats.blocks_of(TensorSpec(0, (1, 3, 2, 2), 0, 3, (1, 1, 2, 2, 8))).c0 == 8
    assert formats.blocks_of(TensorSpec(0, (1, 3, 2, 2), 0, 3 | 4 << 24)).c0 == 8
    assert formats.blocks_of(TensorSpec(2, (1, 3, 2, 2), 0, 3)).c0 == 32
    assert formats.block_size(0, "Ascend950") == 8


def test_storage_that_is_too_small_is_refused_with_both_shapes():
    with pytest.raises(Refused, match=r"HA421.*\[2, 2\].*takes \[1, 1, 2, 2, 16\]"):
        formats.unpack(np.zeros((2, 2), np.float16), TensorSpec(F16, (1, 3, 2, 2), 0, 3))
