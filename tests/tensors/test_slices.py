"""Parts of tensors in every storage: the part of what lies in memory is what the part alone would lie as."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hostacl.tensors import dtypes, formats, slices
from hostacl.tensors.spec import TensorSpec

NCHW, NHWC, HWCN, ND, NCDHW, NDHWC = 0, 1, 16, 2, 30, 27
CASES = {
    "plain": TensorSpec(1, (3, 5, 4), ND), "permuted": TensorSpec(1, (2, 5, 4, 3), NCHW, NHWC),
    "permuted to HWCN": TensorSpec(1, (2, 5, 4, 3), NCHW, HWCN),
    "images": TensorSpec(1, (3, 37, 4, 5), NCHW, formats.NC1HWC0),
    "images, channels last": TensorSpec(1, (3, 4, 5, 37), NHWC, 3),
    "images in fours": TensorSpec(1, (2, 7, 3, 4), NCHW, formats.NC1HWC0_C04), "int8": TensorSpec(2, (2, 70, 3, 2), NCHW, 3),
    "given C0": TensorSpec(0, (2, 11, 3, 2), NCHW, 3 | 4 << 24), "two dims as images": TensorSpec(1, (37, 5), ND, 3),
    "volumes": TensorSpec(1, (2, 20, 3, 4, 5), NCDHW, 32), "volumes, channels last": TensorSpec(1, (2, 3, 4, 5, 20), NDHWC, 32),
    "filters": TensorSpec(1, (40, 5, 3, 2), NCHW, formats.FRACTAL_Z), "filters last": TensorSpec(1, (3, 2, 5, 40), HWCN, 4),
    "filters of volumes": TensorSpec(1, (40, 5, 2, 3, 2), NCDHW, formats.FRACTAL_Z_3D),
    "weights": TensorSpec(1, (37, 40), ND, 4),
    "matrix": TensorSpec(1, (37, 40), ND, 29), "matrices": TensorSpec(1, (3, 2, 37, 40), ND, 29),
    "line": TensorSpec(1, (40,), ND, 29), "matrix in twos": TensorSpec(1, (37, 11), ND, 52),
    "zz": TensorSpec(1, (2, 37, 40), ND, formats.FRACTAL_ZZ), "int8 matrix": TensorSpec(2, (37, 70), ND, 29),
}  # fmt: skip


def stored(array: np.ndarray, spec: TensorSpec) -> np.ndarray:
    out = np.full(formats.storage_shape(spec), 77, array.dtype)
    formats.pack(array, spec, out)
    return out


def cuts(axis: slices.Axis, size: int) -> list[slice]:
    """All parts along an axis that begin and end between blocks, and those within one."""
    edges = [*range(0, size, axis.unit), size]
    found = [slice(one, other) for at, one in enumerate(edges) for other in edges[at + 1 :]]
    if axis.inner is not None:
        for low, high in pairwise(edges):
            found += [slice(start, stop) for start in range(low, high) for stop in range(start + 1, high + 1)]
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_part_lies_in_the_part_of_the_storage(case):
    whole = CASES[case]
    array = np.arange(1, 1 + int(np.prod(whole.shape))).reshape(whole.shape).astype(dtypes.numpy_dtype(whole.dtype))
    held, axes = stored(array, whole), slices.axes(whole)
    assert axes
    for place, axis in axes.items():
        for part in cuts(axis, whole.shape[place]):
            spec, index = slices.part_of(whole, {place: part})
            own = array[(slice(None),) * place + (part,)]
            assert spec.shape == own.shape
            np.testing.assert_array_equal(formats.unpack(held[index], spec), own)
            target = np.full_like(held, 77)
            formats.pack(own, spec, target[index])
            np.testing.assert_array_equal(target[index], held[index])


def test_parts_along_all_axes_at_once():
    whole = CASES["images"]
    array = np.arange(3 * 37 * 4 * 5).reshape(whole.shape).astype(np.float16)
    spec, index = slices.part_of(whole, {0: slice(1, 3), 1: slice(16, 37), 3: slice(2, 3)})
    np.testing.assert_array_equal(formats.unpack(stored(array, whole)[index], spec), array[1:3, 16:37, :, 2:3])


def test_the_parts_of_an_axis_cover_all_of_the_storage():
    for whole in CASES.values():
        for place, axis in slices.axes(whole).items():
            size = whole.shape[place]
            seen = np.zeros(formats.storage_shape(whole), int)
            for start in range(0, size, axis.unit):
                seen[slices.part_of(whole, {place: slice(start, start + axis.unit)})[1]] += 1
            assert (seen == 1).all()


@pytest.mark.parametrize(("shape", "unit", "part", "bytes_"), [
    ((6, 5), 2, slice(2, 6), slice(5, 15)), ((1, 7, 3), 2, slice(2, 7), slice(3, 11)), ((4, 2), 1, slice(1, 3), slice(1, 3)),
])  # fmt: skip
def test_elements_of_half_a_byte_are_cut_between_bytes(shape, unit, part, bytes_):
    whole = TensorSpec(dtypes.INT4, shape, ND)
    ((place, axis),) = slices.axes(whole).items()
    assert (axis.unit, shape[place] > 1) == (unit, True)
    held = np.arange((int(np.prod(shape)) + 1) // 2)
    np.testing.assert_array_equal(held[slices.part_of(whole, {place: part})[1]], held[bytes_])


def test_what_cannot_be_cut():
    assert not slices.axes(TensorSpec(1, (2, 20, 3, 3), NCHW, 3, (2, 2, 9, 16)))
    assert 1 not in slices.axes(CASES["filters"])
    assert not slices.axes(CASES["filters"]._replace(shape=(40, 1, 3, 2), storage_format=4 | 40 << 8))
    with pytest.raises(ValueError, match="blocks of 16"):
        slices.part_of(CASES["images"], {1: slice(3, 20)})
    with pytest.raises(ValueError, match="blocks of 16"):
        slices.part_of(CASES["matrix"], {0: slice(3, 8)})
