"""The search for a scale and an offset: what torch-npu publishes, ends of ranges, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

USUAL = {"min_percentile": 0.999999, "max_percentile": 0.999999, "search_range": [0.7, 1.3], "search_step": 0.01}
PUBLISHED = np.array([
    0.4508, 0.6513, 0.4734, 0.1924, 0.0402, 0.5502, 0.0694, 0.9032, 0.4844, 0.5361, 0.9369, 0.7874,
    0.5157, 0.1863, 0.4574, 0.8033, 0.5986, 0.8090, 0.7605, 0.8252, 0.4264, 0.8952, 0.2279, 0.9746,
    0.0803, 0.7114, 0.8773, 0.2341, 0.6497, 0.0423, 0.8407, 0.9515, 0.1821, 0.5931, 0.7160, 0.4968,
    0.7977, 0.0899, 0.9572, 0.0146, 0.2804, 0.8569, 0.2292, 0.1118, 0.5747, 0.4064, 0.8370, 0.1611,
], np.float32).reshape(2, 2, 3, 4)  # fmt: skip
"""The data of torch-npu's page about npu_ifmr, which found the scale 0.0080 and the offset 0."""


def searched(data, bins=128, **attrs):
    low, high = data.min().reshape(1), data.max().reshape(1)
    cumsum = np.cumsum(np.histogram(data.astype(np.float64), bins)[0]).astype(np.int32)
    return [float(one[0]) for one in run("IFMR", data, low, high, cumsum, **{**USUAL, **attrs})]


def test_the_published_example():
    scale, offset = searched(PUBLISHED, with_offset=False)
    assert f"{scale:.4f}" == "0.0080"
    assert offset == 0


def loss(data, scale, offset, bits=8):
    """The squared difference of what a scale and an offset make of the data."""
    half = 1 << (bits - 1)
    return sum((min(max(round(x / scale) + offset, -half), half - 1) - offset - x / scale) ** 2 * scale**2 for x in data)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("with_offset", [True, False])
def test_no_candidate_is_better(dtype, with_offset):
    data = np.random.default_rng(3).uniform(-1, 1, (5, 5)).astype(dtype)
    scale, offset = searched(data, with_offset=with_offset)
    flat = data.ravel().astype(float).tolist()
    low, high = min(flat), max(flat)
    last = low + 127 / 128 * (high - low)  # the first of 128 bins reaches 0.000001, the last one alone 0.999999
    steps = [0.7 + 0.01 * place for place in range(61)]
    scales = [(last * one - low) / 255 if with_offset else max(abs(last), abs(low)) * one / 127 for one in steps]
    found = [(loss(flat, one, -round(low / one) - 128 if with_offset else 0), one) for one in scales]
    assert scale == pytest.approx(min(found)[1], rel=1e-6)
    assert offset == (-round(low / scale) - 128 if with_offset else 0)


def test_what_is_rare_is_cut_off():
    data = np.concatenate([np.linspace(-1, 1, 999), [100]]).astype(np.float32)
    wide, _ = searched(data, 1010, with_offset=False, search_range=[1.0, 1.0])
    narrow, _ = searched(data, 1010, with_offset=False, search_range=[1.0, 1.0], max_percentile=0.99)
    assert wide > 0.7
    assert narrow < 0.01


def test_both_ends_of_the_range_are_candidates():
    data = np.full(4, 2.0, np.float32)  # bins of no width: the largest value is 2, which 127 steps of 2/127 reach
    scale, _ = run("IFMR", data, data[:1], data[:1], np.array([4], np.int32), min_percentile=1.0, max_percentile=1.0,
                   search_range=[0.7, 1.0], search_step=0.1, with_offset=False)  # fmt: skip
    assert scale[0] == np.float32(2 / 127)


def test_data_of_zeros_have_a_scale_of_one():
    zeros = np.zeros(6, np.float32)
    for with_offset, offset in ((True, -128), (False, 0)):
        scale, moved = run("IFMR", zeros, zeros[:1], zeros[:1], np.array([6], np.int32), **USUAL, with_offset=with_offset)
        assert (scale[0], moved[0]) == (1, offset)


def test_fewer_bits_have_fewer_steps():
    data = np.linspace(-1, 1, 101).astype(np.float32)
    scale, _ = searched(data, with_offset=False, search_range=[1.0, 1.0], quant_bits=4)
    assert scale == pytest.approx(1 / 7, rel=1e-6)


@pytest.mark.parametrize(("attrs", "text"), [
    ({"min_percentile": 1.5}, "HA508.*min_percentile = 1.5"),
    ({"max_percentile": -0.1}, "HA508.*max_percentile = -0.1"),
    ({"search_range": [0.7]}, r"HA508.*search_range = \[0.7\]"),
    ({"search_range": [1.3, 0.7]}, "HA508.*search_range"),
    ({"search_range": [0.0, 0.7]}, "HA508.*search_range"),
    ({"search_step": 0.0}, "HA508.*search_step = 0.0"),
    ({"search_step": 1e-9}, "HA508.*search_step = 1e-09"),
    ({"quant_bits": 1}, "HA508.*quant_bits = 1"),
])  # fmt: skip
def test_refused_attributes(attrs, text):
    one = np.ones(1, np.float32)
    with pytest.raises(Refused, match=text):
        bind("IFMR", [one, one, one, np.ones(1, np.int32)], **{**USUAL, "with_offset": True, **attrs})


@pytest.mark.parametrize(("shapes", "text"), [
    (((0,), (1,), (1,), (1,)), "HA504.*data = .0. is empty"), (((1,), (2,), (1,), (1,)), "HA504.*data_min"),
    (((1,), (1,), (2,), (1,)), "HA504.*data_max"), (((1,), (1,), (1,), (0,)), "HA504.*cumsum"),
])  # fmt: skip
def test_refused_shapes(shapes, text):
    arrays = [np.ones(shape, np.float32) for shape in shapes[:3]]
    with pytest.raises(Refused, match=text):
        bind("IFMR", [*arrays, np.ones(shapes[3], np.int32)], **USUAL, with_offset=True)
