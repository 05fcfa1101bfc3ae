"""Operators on tensors that lie in blocks: the same results as on plain ones, C0 by dtype and product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Refused
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, inferred, spec

RNG = np.random.default_rng(11)
FIVE, SIX, Z, Z3, NZ = formats.NC1HWC0, formats.NDC1HWC0, formats.FRACTAL_Z, formats.FRACTAL_Z_3D, formats.FRACTAL_NZ
NCHW, NCDHW, ND = formats.NCHW, formats.NCDHW, formats.ND
POOL = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding_mode": "VALID"}
SLIDE = {"strides": [1] * 4, "pads": [1] * 4}


def floats(*shape: int, dtype: Any = np.float16) -> Any:
    return RNG.uniform(0.5, 2, shape).astype(dtype)


def whole(*shape: int) -> Any:
    return RNG.integers(-9, 9, shape, np.int8)


X, CHANNEL = floats(2, 19, 6, 5), [floats(19, dtype=np.float32) for _ in range(4)]
CASES = {
    "Conv2D": ([(X, NCHW, FIVE), (floats(18, 19, 3, 3), NCHW, Z), (floats(18), ND, -1)], [FIVE], SLIDE),
    "Conv2D-groups": ([(X, NCHW, FIVE), (floats(19, 1, 3, 3), NCHW, Z | 19 << 8)], [FIVE], {**SLIDE, "groups": 19}),
    "Conv2D-int8": ([(whole(1, 33, 4, 4), NCHW, FIVE), (whole(5, 33, 3, 3), NCHW, Z)], [FIVE], SLIDE),
    "DepthwiseConv2D": ([(X, NCHW, FIVE), (floats(1, 19, 3, 3), NCHW, -1)], [FIVE], SLIDE),
    "Conv3D": ([(floats(1, 19, 3, 4, 4), NCDHW, SIX), (floats(5, 19, 2, 2, 2), NCDHW, Z3)], [SIX],
               {"strides": [1] * 5, "pads": [0] * 6, "data_format": "NCDHW"}),
    "Conv2DTransposeD": ([(X, NCHW, FIVE), (floats(19, 18, 3, 3), NCHW, Z)], [FIVE], {**SLIDE, "input_size": [2, 18, 6, 5]}),
    "MaxPoolV3": ([(X, NCHW, FIVE)], [FIVE], POOL),
    "AvgPoolV2": ([(X, NCHW, FIVE)], [FIVE], POOL),
    "MaxPool3D": ([(floats(1, 19, 4, 4, 4), NCDHW, SIX)], [SIX],
                  {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 2, 2, 2], "padding": "VALID", "data_format": "NCDHW"}),
    "BNInfer": ([(X, NCHW, FIVE), *((one, ND, -1) for one in CHANNEL)], [FIVE], {"epsilon": 1e-3}),
    "BNTrainingReduce": ([(X, NCHW, FIVE)], [-1, -1], {}),
    "InstanceNorm": ([(X, NCHW, FIVE), (floats(19), ND, -1), (floats(19), ND, -1)], [FIVE, -1, -1], {}),
    "GroupNorm": ([(X, NCHW, FIVE), (floats(19), ND, -1), (floats(19), ND, -1)], [FIVE, -1, -1], {"num_groups": 19}),
    "LayerNorm": ([(floats(20, 35), ND, NZ), (floats(35), ND, -1), (floats(35), ND, -1)], [NZ, -1, -1],
                  {"begin_norm_axis": -1, "begin_params_axis": -1}),
    "Relu": ([(X, NCHW, FIVE)], [FIVE], {}),
    "Gelu": ([(floats(20, 35), ND, NZ)], [NZ], {}),
    "SoftmaxV2": ([(floats(3, 20, 35), ND, NZ)], [NZ], {}),
    "MatMul": ([(floats(20, 35), ND, NZ), (floats(35, 17), ND, NZ)], [NZ], {}),
    "MatMulV2-weights": ([(floats(20, 35), ND, -1), (floats(35, 17), ND, Z)], [-1], {}),
    "BatchMatMul": ([(floats(2, 20, 35), ND, NZ), (floats(2, 17, 35), ND, NZ)], [NZ], {"adj_x2": True}),
    "MatMul-float32": ([(floats(20, 35, dtype=np.float32), ND, NZ), (floats(35, 17, dtype=np.float32), ND, NZ)], [NZ], {}),
    "AscendQuant": ([(X, NCHW, FIVE)], [FIVE], {"scale": 8.0, "offset": 0.0}),
    "AscendDequant": ([(whole(2, 19, 4, 4).astype(np.int32), NCHW, FIVE), (np.ones(1, np.uint64), ND, -1)], [FIVE], {}),
    "ResizeNearestNeighborV2": ([(X, NCHW, FIVE), (np.array([12, 10], np.int32), ND, -1)], [FIVE], {}),
    "MseLoss": ([(X, NCHW, FIVE), (X[::-1].copy(), NCHW, FIVE)], [FIVE], {"reduction": "none"}),
    "Identity": ([(X, NCHW, FIVE)], [-1], {}),
    "Cast": ([(X, NCHW, FIVE)], [FIVE], {"dst_type": dtypes.FLOAT}),
    "WeightQuantBatchMatmulV2": ([(floats(20, 35), ND, -1), (whole(35, 18), ND, NZ), (floats(18), ND, -1)], [-1], {}),
    "QuantBatchMatmulV3": ([(whole(20, 35), ND, -1), (whole(35, 18), ND, NZ), (floats(18, dtype=np.float32), ND, -1)], [-1],
                           {"dtype": 1}),
}  # fmt: skip


def blocked(described: TensorSpec, layout: int) -> TensorSpec:
    """The descriptor with a storage format, its shape worked out; -1: as it is."""
    if layout == -1:
        return described
    stored = described._replace(storage_format=layout)
    return stored._replace(storage_shape=formats.storage_shape(stored, soc()))


def soc() -> str:
    from hostacl.config import settings

    return settings().soc


def packed(array: Any, described: TensorSpec) -> Any:
    """An array in the storage of its descriptor."""
    if described.storage_format == -1:
        return array
    out = np.full(described.storage_shape, 77).astype(array.dtype)
    formats.pack(array, described, out, soc())
    return out


@pytest.mark.parametrize("product", ["Ascend910B1", "Ascend950"])
@pytest.mark.parametrize("case", CASES)
def test_blocks_give_what_plain_tensors_give(case, product):
    inputs, layouts, attrs = CASES[case]
    op = case.partition("-")[0]
    const = [place for place, (one, _, _) in enumerate(inputs) if op == "ResizeNearestNeighborV2" and place == 1]
    with override(soc=product, dtypes="permissive"):
        plain = [spec(one, layout, place in const) for place, (one, layout, _) in enumerate(inputs)]
        outputs = inferred(bind(op, plain, **attrs))
        wanted = [np.empty(one.shape, dtypes.numpy_dtype(one.dtype)) for one in outputs]
        bind(op, plain, outputs, **attrs).function()(*(one for one, _, _ in inputs), *wanted)
        stored = [blocked(one, layout) for one, (_, _, layout) in zip(plain, inputs, strict=True)]
        described = [blocked(one, layout) for one, layout in zip(outputs, layouts, strict=False)]
        found = [np.full(formats.storage_shape(one, product), 77).astype(dtypes.numpy_dtype(one.dtype)) for one in described]
        arrays = [packed(one, into) for (one, _, _), into in zip(inputs, stored, strict=True)]
        bind(op, stored, described, **attrs).function()(*arrays, *found)
        for one, into, plainly in zip(found, described, wanted, strict=False):
            np.testing.assert_allclose(one.astype(np.float64), packed(plainly, into).astype(np.float64), rtol=2e-3)


@pytest.mark.parametrize(("described", "told"), [
    (TensorSpec(1, (2, 3, 4, 4), NCHW, 38), "stored as FRACTAL_ZN_LSTM: tensors in that format are not laid out here"),
    (TensorSpec(1, (2, 3, 4, 4), NCHW, formats.CODES["C1HWNCoC0"]), "are not laid out here; allowed: FRACTAL_NZ"),
    (TensorSpec(1, (2, 3, 4, 4), NCHW, 99), "stored as format 99"),
    (TensorSpec(1, (2, 3, 4, 4), NCHW, SIX), "stored as NDC1HWC0: it takes the axes NCDHW"),
    (TensorSpec(1, (2, 3, 4, 4, 4), NCDHW, FIVE), "stored as NC1HWC0: it takes the axes NCHW"),
    (TensorSpec(1, (2, 3, 4, 4, 4), ND, FIVE), "it takes the axes NCHW"),
    (TensorSpec(1, (2, 3, 4, 4, 4), ND, Z), "it takes the axes NCHW or NCDHW"),
    (TensorSpec(1, (2, 5, 4, 4), NCHW, formats.FRACTAL_Z_C04), "it takes up to 4 channels, not 5"),
    (TensorSpec(1, (5, 3, 4, 4), NCHW, Z | 2 << 8), "its 2 groups must divide the 5 outputs"),
    (TensorSpec(1, (4, 0, 4, 4), NCHW, Z | 2 << 8), "none of them be empty"),
])  # fmt: skip
@pytest.mark.parametrize("op", ["Relu", "Identity", "SoftmaxV2"])
def test_a_storage_that_cannot_hold_its_tensor_is_refused_by_name(op, described, told):
    with pytest.raises(Refused, match=f"HA504: {op}: x = ") as refused:
        bind(op, [described])
    assert told in refused.value.text
    plain = described._replace(storage_format=-1)
    with pytest.raises(Refused, match=f"{op}: y = "):
        bind(op, [plain], [described])


PLACED = ["Conv2D", "MaxPoolV3", "GlobalAveragePool", "MatMul", "SoftmaxV2", "ReduceSumD", "InstanceNorm"]


@pytest.mark.parametrize("layout", [FIVE, Z, NZ, SIX, FIVE | 5 << 24])
@pytest.mark.parametrize("op", PLACED)
def test_blocks_as_a_shape_are_refused_by_name_where_axes_count(op, layout):
    one = TensorSpec(1, (1, 2, 4, 4, 16), layout)
    count = {"Conv2D": 1, "MatMul": 1, "InstanceNorm": 2}.get(op, 0)
    others = [spec(floats(16, 16)), spec(floats(16)), spec(floats(16))][:count]
    attrs: dict[str, Any] = {"Conv2D": SLIDE, "MaxPoolV3": POOL, "ReduceSumD": {"axes": [0]}}.get(op, {})
    with pytest.raises(Refused, match=f"is described in {formats.format_name(layout)} itself; allowed: its plain shape"):
        bind(op, [one, *others], **attrs)


def test_places_have_no_axes():
    one = TensorSpec(1, (1, 2, 4, 4, 16), FIVE)
    assert bind("Relu", [one]).infer()[0].shape == one.shape


def test_channels_are_found_in_blocks_described_as_a_shape():
    x, mean, variance = (floats(*shape, dtype=np.float32) for shape in ((2, 3, 4, 4, 16), (1, 3, 1, 1, 16), (1, 3, 1, 1, 16)))
    specs = [TensorSpec(0, x.shape, FIVE), *(TensorSpec(0, one.shape, FIVE) for one in (mean, mean, mean, variance))]
    y = np.empty_like(x)
    bind("BNInfer", specs, [specs[0]], epsilon=1e-3).function()(x, mean, mean, mean, variance, y)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-3) * mean + mean, rtol=1e-4, atol=1e-5)
    with pytest.raises(Refused, match="is described in FRACTAL_NZ itself"):
        bind("BNTrainingReduce", [TensorSpec(0, (1, 2, 16, 16), NZ)])


@pytest.mark.parametrize("op", ["GroupNorm", "GroupNormV2", "GroupNormSilu", "InstanceNorm"])
@pytest.mark.parametrize("layout", ["HWCN", "CHWN"])
def test_images_come_first_where_each_is_normalised(op, layout):
    x = TensorSpec(0, (4, 4, 4, 4), formats.CODES[layout])
    parameters = [spec(floats(4, dtype=np.float32)) for _ in range(2)]
    with pytest.raises(Refused, match=f"x has the axes {layout}; allowed: those that begin with N"):
        bind(op, [x, *parameters], **({} if op == "InstanceNorm" else {"num_groups": 2}))
