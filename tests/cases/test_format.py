"""Private formats: layouts, sizes, and errors that start from the program's operator."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from tests.cases.driver import Run, refused, result, runs
from tests.cases.messages import told


@pytest.mark.case("B064")
def test_transpose_reads_a_private_format_by_its_origin(way: str) -> None:
    np.testing.assert_array_equal(result(runs("B064")[0], way=way), np.arange(64).reshape(1, 2, 2, 16))


@pytest.mark.case("B064")
def test_from_five_dims_to_nchw(way: str) -> None:
    got = result(runs("B064")[1], way=way)
    for c, h, w in np.ndindex(16, 2, 2):
        assert got[0, c, h, w] == (h * 2 + w) * 16 + c


@pytest.mark.case("B065")
def test_to_five_dims_with_zeros_and_the_size_of_what_is_stored(way: str) -> None:
    run = Run(runs("B065")[0], way=way)
    assert acl.get_tensor_desc_size(run.outputs[0].desc) == 64
    outcome = run()
    assert not outcome.failed, outcome.text
    np.testing.assert_array_equal(outcome.values().ravel(), [1, 2, 3, 4, 5, 6, *[0] * 10])


@pytest.mark.case("B067")
def test_to_fractal_blocks_and_back(way: str) -> None:
    (case,) = runs("B067")
    src = (np.arange(360 * 64) % 1024).reshape(360, 64).astype(np.float16)
    got = result(case, values={"src": src}, way=way)
    padded = np.zeros((368, 64), np.float16)
    padded[:360] = src
    np.testing.assert_array_equal(got, padded.reshape(23, 16, 4, 16).transpose(2, 0, 1, 3))
    source = {**case["outputs"][0], "name": "src"}
    target = {**case["inputs"][0], "name": "dst"}
    back = {"op": "TransData", "inputs": [source], "outputs": [target]}
    attrs = {"src_format": "FRACTAL_NZ", "dst_format": "ND", "groups": 1}
    np.testing.assert_array_equal(result({**back, "attrs": attrs}, values={"src": got}, way=way), src)


@pytest.mark.case("B067")
def test_blocks_of_int8_are_twice_as_wide(way: str) -> None:
    (case,) = runs("B067")
    src = (np.arange(20 * 40) % 100).reshape(20, 40).astype(np.int8)
    tensors = {"src": {"shape": [20, 40], "dtype": "int8"}, "dst": {"shape": [2, 2, 16, 32], "dtype": "int8"}}
    padded = np.zeros((32, 64), np.int8)
    padded[:20, :40] = src
    got = result(case, values={"src": src}, tensors=tensors, way=way)
    np.testing.assert_array_equal(got, padded.reshape(2, 16, 2, 32).transpose(2, 0, 1, 3))


@pytest.mark.case("B068")
def test_a_convolution_is_right_or_its_error_is_its_own(way: str) -> None:
    (case,) = runs("B068")
    np.testing.assert_array_equal(result(case, way=way), np.full((1, 16, 4, 4), 16))
    outcome = refused(case, tensors={"filter": {"dtype": "int32"}}, way=way)
    told("B068 filter as int32", *outcome.told)
    assert "TransData" not in outcome.text
    assert outcome.text.count("DT_FLOAT,") + outcome.text.count("DT_FLOAT.") == 1  # each type is listed once
