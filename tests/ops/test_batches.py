"""Large calls in pieces: how little memory they need, what is divided how, what is left whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hostacl.config import override
from hostacl.ops import batches, conv_adjoint, correlation, deformable
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

SMALLER = 64
"""How much smaller than in earnest all sizes are here; a call may then use 4 MiB."""

I8, F16, F32 = np.int8, np.float16, np.float32
FOUR, PADS = {"strides": [1] * 4, "dilations": [1] * 4}, {"pads": [1] * 4}
IMAGE, GRADIENT, FEW = (1, 8, 400, 400), (1, 4, 400, 400), (4, 8, 3, 3)
VOLUME, FEW_3D = (1, 8, 8, 128, 160), (4, 8, 3, 3, 3)
POOL = {"ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 2], "data_format": "NCHW"}
POOLED = (1, 8, 200, 200)
NAMED = {"scale": np.ones(1, np.int64), "size": np.full(2, 200, np.int32)}
"""Inputs of their own kind."""



@pytest.mark.parametrize(("op", "dtype", "shapes", "layout", "attrs"), [
    ("Conv2D", I8, (IMAGE, FEW), 0, {**FOUR, **PADS}),
    ("QuantConv2D", I8, (IMAGE, FEW, "scale"), 0, {**FOUR, **PADS, "dtype": 1}),
    ("Conv2DTransposeD", F16, (IMAGE, (8, 4, 3, 3)), 0, {**FOUR, **PADS, "input_size": [*GRADIENT]}),
    ("Conv2DTransposeD", F16, ((1, 8, 200, 200), (8, 8, 4, 4)), 0, {"strides": [1, 1, 2, 2], **PADS, "input_size": [*IMAGE]}),
    ("Conv2DTransposeD", F32, (IMAGE, (8, 4, 3, 3)), 0, {**FOUR, **PADS, "input_size": [*GRADIENT]}),
    ("Conv2DTransposeD", I8, (IMAGE, (8, 4, 3, 3)), 0, {**FOUR, **PADS, "input_size": [*GRADIENT]}),
    ("Conv3DTransposeD", F16, (VOLUME, (8, 4, 3, 3, 3)), 30,
     {"strides": [1] * 5, "pads": [1] * 6, "input_size": [1, 4, 8, 128, 160]}),
    ("Conv2DBackpropInputD", F16, (FEW, GRADIENT), 0, {**FOUR, **PADS, "input_size": [*IMAGE]}),
    ("Conv2DBackpropFilterD", F16, (IMAGE, GRADIENT), 0, {**FOUR, **PADS, "filter_size": [*FEW]}),
    ("Conv3DBackpropFilterD", F16, (VOLUME, (1, 4, 8, 128, 160)), 30,
     {"strides": [1] * 5, "pads": [1] * 6, "filter_size": [*FEW_3D]}),
    ("DepthwiseConv2DBackpropInputD", F16, ((1, 8, 3, 3), IMAGE), 0, {**FOUR, **PADS, "input_size": [*IMAGE]}),
    ("DepthwiseConv2DBackpropFilterD", F16, (IMAGE, IMAGE), 0, {**FOUR, **PADS, "filter_size": [1, 8, 3, 3]}),
    ("DeformableOffsets", F16, ((1, 16, 100, 100), (1, 27, 100, 100)), 0, {**FOUR, **PADS, "ksize": [3, 3]}),
    ("MatMulV2", F16, ((2500, 512), (512, 16)), 2, {}), ("MatMulV2", F16, ((1200, 16), (16, 1200)), 2, {}),
    ("MatMulV2", F16, ((2, 600000), (600000, 2)), 2, {}), ("MatMulV2", I8, ((2500, 512), (512, 16)), 2, {}),
    ("BatchMatMul", F16, ((40, 200, 160), (40, 160, 100)), 2, {}),
    ("FusedMatMul", F16, ((1200, 16), (16, 1200)), 2, {"fused_op_type": "relu"}),
    ("Dot", F16, ((1200000,), (1200000,)), 2, {}),
    ("QuantBatchMatmulV3", I8, ((2500, 512), (512, 512), "scale"), 2, {"dtype": 1}),
    ("AvgPoolV2GradD", F16, (POOLED,), 0, {**POOL, **PADS, "padding_mode": "CALCULATED", "orig_input_shape": [*IMAGE]}),
    ("MaxPoolV3Grad", F16, (IMAGE, POOLED, POOLED), 0, {**POOL, **PADS, "padding_mode": "CALCULATED"}),
    ("MaxPoolWithArgmaxV1", F16, (IMAGE,), 0, {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "pads": [1] * 4}),
    ("AdaptiveAvgPool2d", F16, (IMAGE,), 0, {"output_size": [7, 7]}),
    ("SoftmaxV2", F16, ((1250, 1024),), 2, {"axes": [0]}), ("GroupNorm", F16, (IMAGE, (8,), (8,)), 0, {"num_groups": 8}),
    ("BNTrainingReduce", F16, (IMAGE,), 0, {}), ("GroupNorm", F16, ((8, 2, 200, 400), (2,), (2,)), 0, {"num_groups": 2}),
    ("InstanceNorm", F16, (IMAGE, (8,), (8,)), 0, {}),
    ("Im2col", F16, ((1, 8, 300, 300),), 0, {"ksizes": [3, 3], "pads": [1]}),
    ("GlobalAveragePool", F16, (IMAGE,), 0, {}), ("MVN", F16, (IMAGE,), 0, {}),
    ("MVNV2", F16, (IMAGE,), 0, {"axes": [0, 2, 3]}),
    ("L2Normalize", F16, ((1250, 1024),), 2, {"axis": [1]}),
    ("Im2col", I8, ((1, 1, 1500, 1500),), 0, {"ksizes": [3, 3], "padding_mode": "SAME"}),
    ("AddLayerNorm", F16, ((1250, 1024), (1250, 1024), (1024,), (1024,)), 2, {}),
    ("AddRmsNorm", F16, ((1250, 1024), (1250, 1024), (1024,)), 2, {}),
    ("Col2im", F16, ((1, 72, 40000), "size"), 0, {"kernel_size": [3, 3], "padding": [1, 1], "dilation": [1, 1],
                                                  "stride": [1, 1]}),
])  # fmt: skip
def test_one_large_item_needs_little_memory(op, dtype, shapes, layout, attrs, monkeypatch):
    smaller(monkeypatch)
    inputs = [NAMED[shape] if isinstance(shape, str) else np.ones(shape, dtype) for shape in shapes]
    const = [place for place, shape in enumerate(shapes) if shape == "size"]
    with override(dtypes="permissive"):
        outputs = [TensorSpec(one.dtype, one.shape, one.format) for one in bind(op, inputs, (), const, layout, **attrs).infer()]
        function = bind(op, inputs, outputs, const, layout, **attrs).function()
    results = [np.empty(one.shape, dtypes.numpy_dtype(one.dtype)) for one in outputs]
    assert peak(lambda: function(*inputs, *results)) < (256 << 20) // SMALLER


FIVE, SIX, Z, NZ = formats.NC1HWC0, formats.NDC1HWC0, formats.FRACTAL_Z, formats.FRACTAL_NZ
BLOCKS = {
    "Conv2D": ([((1, 16, 300, 300), FIVE), ((4, 16, 3, 3), Z)], [FIVE], 0, {**FOUR, **PADS}),
    "DepthwiseConv2D": ([((1, 16, 300, 300), FIVE), ((1, 16, 3, 3), -1)], [FIVE], 0, {**FOUR, **PADS}),
    "Conv3D": ([((1, 16, 8, 80, 100), SIX), ((4, 16, 3, 3, 3), formats.FRACTAL_Z_3D)], [SIX], 30,
               {"strides": [1] * 5, "dilations": [1] * 5, "pads": [1] * 6}),
    "Conv2DTransposeD": ([((1, 16, 300, 300), FIVE), ((16, 4, 3, 3), Z)], [FIVE], 0,
                         {**FOUR, **PADS, "input_size": [1, 4, 300, 300]}),
    "Conv2DBackpropInputD": ([((16, 16, 3, 3), Z), ((1, 16, 300, 300), FIVE)], [FIVE], 0,
                             {**FOUR, **PADS, "input_size": [1, 16, 300, 300]}),
    "Conv2DBackpropFilterD": ([((1, 16, 300, 300), FIVE), ((1, 16, 300, 300), FIVE)], [Z], 0,
                              {**FOUR, **PADS, "filter_size": [16, 16, 3, 3]}),
    "MaxPoolV3": ([((4, 16, 150, 150), FIVE)], [FIVE], 0, {**POOL, **PADS, "padding_mode": "CALCULATED"}),
    "AvgPoolV2": ([((1, 16, 300, 300), FIVE)], [FIVE], 0, {**POOL, **PADS, "padding_mode": "CALCULATED"}),
    "MaxPool3D": ([((1, 16, 8, 80, 100), SIX)], [SIX], 30, {"ksize": [1, 1, 2, 2, 2], "strides": [1] * 5, "padding": "VALID",
                                                           "data_format": "NCDHW"}),
    "BNInfer": ([((1, 16, 300, 300), FIVE), *[((16,), -1)] * 4], [FIVE], 0, {"epsilon": 1e-3}),
    "BNTrainingReduce": ([((1, 16, 300, 300), FIVE)], [-1, -1], 0, {}),
    "BNTrainingUpdate": ([((1, 16, 300, 300), FIVE), *[((16,), -1)] * 6], [FIVE, -1, -1, -1, -1], 0,
                         {"factor": 0.1, "epsilon": 1e-3}),
    "GroupNorm": ([((1, 16, 300, 300), FIVE), ((16,), -1), ((16,), -1)], [FIVE, -1, -1], 0, {"num_groups": 16}),
    "InstanceNorm": ([((4, 16, 150, 150), FIVE), ((16,), -1), ((16,), -1)], [FIVE, -1, -1], 0, {}),
    "MatMulV2": ([((2500, 512), NZ), ((512, 16), NZ)], [NZ], 2, {}),
    "BatchMatMul": ([((40, 200, 160), NZ), ((40, 160, 100), NZ)], [NZ], 2, {}),
    "SoftmaxV2": ([((1250, 1024), NZ)], [NZ], 2, {"axes": [-1]}),
}  # fmt: skip


@pytest.mark.parametrize("op", BLOCKS)
def test_large_operands_in_blocks_are_unpacked_in_pieces(op, monkeypatch):
    smaller(monkeypatch)
    operands, layouts, layout, attrs = BLOCKS[op]
    narrow = [F32 if len(shape) == 1 and op.startswith("BN") else F16 for shape, _ in operands]
    plain = [TensorSpec(dtypes.FLOAT16 if dtype == F16 else 0, shape, layout if len(shape) > 1 else 2)
             for (shape, _), dtype in zip(operands, narrow, strict=True)]  # fmt: skip
    inputs = [in_blocks(one, stored) for one, (_, stored) in zip(plain, operands, strict=True)]
    arrays = [np.ones(formats.storage_shape(one), dtype) for one, dtype in zip(inputs, narrow, strict=True)]
    with override(dtypes="permissive"):
        said = bind(op, inputs, **attrs).infer()
        outputs = [in_blocks(TensorSpec(one.dtype, one.shape, one.format), to) for one, to in zip(said, layouts, strict=False)]
        function = bind(op, inputs, outputs, **attrs).function()
    results = [np.empty(formats.storage_shape(one), dtypes.numpy_dtype(one.dtype)) for one in outputs]
    assert peak(lambda: function(*arrays, *results)) < (256 << 20) // SMALLER


def in_blocks(spec, layout):
    """The descriptor with a storage format; -1: as it is."""
    return spec if layout == -1 else spec._replace(storage_format=layout)


def smaller(monkeypatch):
    """Makes what is large smaller."""
    for module, name in (
        (batches, "LARGE_BYTES"), (batches, "PART_BYTES"), (conv_adjoint, "TILE_BYTES"), (correlation, "TILE_BYTES"),
        (deformable, "PART_BYTES"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name) // SMALLER)


def peak(run):
    """The bytes that a call takes at most beside its tensors."""
    tracemalloc.start()
    with np.errstate(all="ignore"):
        run()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_parts_are_nearly_equal_and_no_shorter_than_the_step():
    for size in range(1, 40):
        for step in range(1, 12):
            found = list(batches.parts(size, step))
            assert [one.start for one in found] == [0, *(one.stop for one in found[:-1])]
            assert found[-1].stop == size
            lengths = [one.stop - one.start for one in found]
            assert max(lengths) - min(lengths) <= 1
            assert len(found) == 1 or min(lengths) >= step


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1])
def test_a_transposed_convolution_with_rows_that_nothing_reaches(stride, padding, monkeypatch):
    rng = np.random.default_rng(stride)
    x, weight = rng.integers(-5, 6, (1, 2, 9, 4)).astype(F32), rng.integers(-5, 6, (2, 3, 2, 2)).astype(F32)
    rest = stride - 1
    attrs = {"strides": [1, 1, stride, stride], "pads": [padding] * 4, "output_padding": [0, 0, rest, rest],
             "input_size": [1, 3, *(((one - 1) * stride + 2 - 2 * padding + rest) for one in (9, 4))]}  # fmt: skip
    with override(dtypes="permissive"):
        whole = run("Conv2DTransposeD", x, weight, layout=0, **attrs)
        monkeypatch.setattr(batches, "LARGE_BYTES", 64)
        monkeypatch.setattr(batches, "PART_BYTES", 16)
        np.testing.assert_array_equal(run("Conv2DTransposeD", x, weight, layout=0, **attrs), whole)


def test_integers_that_are_added_up_in_pieces_wrap(monkeypatch):
    x = np.full(63, 2**30 + 7, np.int32)
    exact = 63 * (2**30 + 7) ** 2
    monkeypatch.setattr(batches, "LARGE_BYTES", 64)
    monkeypatch.setattr(batches, "PART_BYTES", 16)
    assert int(run("Dot", x, x)) == (exact + 2**31) % 2**32 - 2**31


def test_halves_are_added_up_in_pieces_with_one_rounding(monkeypatch):
    x, y = np.full((1, 300), 1.0, F16), np.full((300, 1), 7.0, F16)
    y[::2] = 2.0**-9
    monkeypatch.setattr(batches, "LARGE_BYTES", 64)
    monkeypatch.setattr(batches, "PART_BYTES", 16)
    exact = sum(float(one) for one in y.ravel())
    assert run("MatMulV2", x, y)[0, 0] == np.float16(exact)


def test_values_known_only_at_run_time_divide_too(monkeypatch):
    x, weight = np.ones((1, 2, 12, 5), F32), np.ones((2, 2, 3, 3), F32)
    size, attrs = np.array([1, 2, 12, 5], np.int32), {"strides": [1] * 4, "pads": [1] * 4}
    specs = [TensorSpec(dtypes.INT32, (4,)), TensorSpec(0, weight.shape, 0), TensorSpec(0, x.shape, 0)]
    seen = []
    original = batches.divided
    monkeypatch.setattr(batches, "LARGE_BYTES", 64)
    monkeypatch.setattr(batches, "PART_BYTES", 16)
    monkeypatch.setattr(batches, "divided", lambda *given: seen.append(1) or original(*given))
    call = bind("Conv2DBackpropInput", specs, [TensorSpec(0, x.shape, 0)], **attrs)
    y = np.zeros_like(x)
    assert call.function()(size, weight, x, y) == ((1, 2, 12, 5),)
    assert seen
    with override(dtypes="permissive"):
        np.testing.assert_array_equal(y, run("Conv2DBackpropInputD", weight, x, layout=0, input_size=size.tolist(), **attrs))


def test_running_statistics_in_place_do_not_keep_a_call_whole(monkeypatch):
    smaller(monkeypatch)
    rng = np.random.default_rng(3)
    x, lines = rng.normal(size=(1, 16, 300, 300)).astype(F16), [rng.uniform(1, 2, 16).astype(F32) for _ in range(4)]
    sums = [x.astype(F32).sum((0, 2, 3)), np.square(x.astype(F32)).sum((0, 2, 3))]
    before = [one.copy() for one in lines]
    attrs = {"factor": 0.1, "epsilon": 1e-3}
    outputs = [TensorSpec(dtypes.FLOAT16, x.shape, 0), *[TensorSpec(0, (16,), 2)] * 4]
    function = bind("BNTrainingUpdate", [x, *sums, *lines], outputs, layout=0, **attrs).function()
    y, *rest = np.empty_like(x), np.empty(16, F32), np.empty(16, F32)
    assert peak(lambda: function(x, *sums, *lines, y, *lines[2:], *rest)) < (256 << 20) // SMALLER
    wide = x.astype(np.float64)
    np.testing.assert_allclose(lines[2], 0.9 * before[2] + 0.1 * wide.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(lines[3], 0.9 * before[3] + 0.1 * wide.var((0, 2, 3), ddof=1), rtol=1e-5)


@pytest.mark.parametrize("op", ["SoftmaxV2", "MaxPoolV3"])
def test_an_output_over_its_input_is_divided_where_pieces_take_the_same_part(op, monkeypatch):
    monkeypatch.setattr(batches, "LARGE_BYTES", 64)
    monkeypatch.setattr(batches, "PART_BYTES", 16)
    x = np.random.default_rng(4).normal(size=(3, 4, 5, 6)).astype(F16)
    pads = {"ksize": [1, 1, 2, 1], "strides": [1] * 4, "padding_mode": "CALCULATED", "pads": [1, 0, 0, 0]}
    attrs = {"axes": [0]} if op == "SoftmaxV2" else pads
    wanted = run(op, x.copy(), layout=0, **attrs)
    bind(op, [x], [TensorSpec(dtypes.FLOAT16, x.shape, 0)], layout=0, **attrs).function()(x, x)
    np.testing.assert_array_equal(x, wanted)
