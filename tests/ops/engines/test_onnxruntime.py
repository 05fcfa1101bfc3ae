"""The engine onnxruntime: the same results as the kernels, only where it may, and clear words where it is missing."""

from __future__ import annotations

import subprocess
import sys
from math import prod
from os import environ
from pathlib import Path

import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Refused
from hostacl.ops.engines import onnxruntime, sessions
from hostacl.tensors import dtypes, formats
from tests.ops.calling import ABSENT, bind, inferred, run, spec

pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


CALLS = {
    "bias": ("Conv2DTransposeD", [floats(2, 6, 5, 4), floats(6, 3, 3, 3), floats(3)],
             {"input_size": [2, 3, 7, 4], "strides": [1] * 4, "pads": [0, 0, 1, 1]}),
    "dilated": ("Conv2DTransposeD", [floats(1, 8, 5, 5), floats(8, 4, 3, 3)],
                {"input_size": [0] * 4, "strides": [1] * 4, "pads": [1] * 4, "dilations": [1, 1, 2, 2]}),
    "transposed": ("Conv2DTransposeD", [floats(2, 8, 5, 6), floats(8, 4, 3, 3)],
                   {"input_size": [2, 4, 10, 12], "strides": [1, 1, 2, 2], "pads": [0, 1, 0, 1]}),
    "output padding": ("Conv2DTransposeD", [floats(1, 8, 5, 6), floats(8, 4, 3, 3)],
                       {"input_size": [0] * 4, "strides": [1, 1, 2, 2], "pads": [1] * 4, "output_padding": [0, 0, 1, 1]}),
}  # fmt: skip


def call_of(case: str, inputs: list[np.ndarray]):
    op_type, _, attrs = CALLS[case]
    described = inferred(bind(op_type, inputs, layout=formats.NCHW, **attrs))
    return bind(op_type, inputs, described, layout=formats.NCHW, **attrs), described


def results(case: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    call, described = call_of(case, inputs)
    found = [np.full(one.shape, 77).astype(dtypes.numpy_dtype(one.dtype)) for one in described]
    call.function()(*inputs, *found)
    return [one.astype(np.float64) for one in found]


@pytest.fixture
def ran(monkeypatch):
    """How often ONNX Runtime ran."""
    times = []
    for name in ("run", "run_into"):
        original = getattr(sessions.Session, name)
        monkeypatch.setattr(sessions.Session, name, lambda *args, original=original: times.append(1) or original(*args))
    return times


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("case", CALLS)
def test_it_gives_what_the_kernels_give(case, dtype, ran):
    inputs = [one.astype(dtypes.numpy_dtype(dtypes.code_of(dtype))) for one in CALLS[case][1]]
    with override(dtypes="permissive", engine="native"):
        wanted = results(case, inputs)
    assert not ran
    with override(dtypes="permissive", engine="onnxruntime"):
        found = results(case, inputs)
    assert ran
    near = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}[dtype]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=near, atol=near)


@pytest.mark.parametrize("layout", [formats.NCHW, formats.NHWC])
def test_channels_last_and_a_large_result(layout, ran):
    x, w = floats(2, 16, 64, 64), floats(16, 32, 3, 3)
    if layout == formats.NHWC:
        x, w = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    described = [spec(x, layout), spec(w, layout if layout == formats.NCHW else formats.HWCN)]
    attrs = {"input_size": [0] * 4, "strides": [1] * 4, "pads": [1] * 4}
    outputs = inferred(bind("Conv2DTransposeD", described, **attrs))
    found = []
    for engine in ("native", "onnxruntime"):
        with override(engine=engine):
            y = np.empty(outputs[0].shape, np.float32)
            bind("Conv2DTransposeD", described, outputs, **attrs).function()(x, w, y)
            found.append(y)
    assert len(ran) == 1
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op_type", ["MatMulV2", "BatchMatMulV2"])
def test_int8_products_are_exact(op_type, ran):
    a, b = (np.random.default_rng(place).integers(-128, 128, (33, 40), np.int8) for place in range(2))
    a[:4], b[:4] = -128, -128
    flip = {"transpose_x2": True} if op_type == "MatMulV2" else {"adj_x2": True}
    with override(engine="onnxruntime"):
        found = run(op_type, a, b, outputs=[spec(np.empty((33, 33), np.int32))], **flip)
    assert ran
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64).T)


@pytest.mark.parametrize("factor", [2, 4])
def test_bilinear_images(factor, ran):
    x = floats(1, 3, 5, 6)
    size = np.array([5 * factor, 6 * factor], np.int32)
    wanted = run("ResizeBilinearV2", x, size, const=[1], layout=formats.NCHW, half_pixel_centers=True)
    with override(engine="onnxruntime"):
        found = run("ResizeBilinearV2", x, size, const=[1], layout=formats.NCHW, half_pixel_centers=True)
    assert ran
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_an_infinity_and_a_weight_of_0_are_for_the_kernels(ran):
    x, size = np.array([[[[1, np.inf, 3, 4]]]], np.float32), np.array([1, 8], np.int32)
    with override(engine="onnxruntime"):
        y = run("ResizeBilinearV2", x, size, const=[1], layout=formats.NCHW)
    assert ran
    np.testing.assert_array_equal(y.ravel(), [1, np.inf, np.inf, np.inf, 3, 3.5, 4, 4])


def test_a_result_in_an_inputs_memory():
    x, w = floats(1, 16, 6, 6), floats(16, 16, 3, 3)
    attrs = {"input_size": [1, 16, 6, 6], "strides": [1] * 4, "pads": [1] * 4}
    wanted = run("Conv2DTransposeD", x, w, layout=formats.NCHW, **attrs)
    described = [spec(one, formats.NCHW) for one in (x, w)]
    with override(engine="onnxruntime"):
        bind("Conv2DTransposeD", described, [spec(x, formats.NCHW)], **attrs).function()(x, w, x)
    np.testing.assert_allclose(x, wanted, rtol=1e-4, atol=1e-5)


def test_what_our_loops_do_as_fast_is_left_to_them(ran):
    ones = {"layout": formats.NCHW, "strides": [1] * 4, "pads": [0] * 4}
    with override(engine="onnxruntime"):
        run("Conv2D", floats(1, 5, 7, 7), floats(6, 5, 3, 3), **ones)
        run("Conv2D", floats(1, 16, 6, 6), floats(16, 16, 3, 3), **ones)
        run("MatMul", floats(3, 4), floats(4, 5))
        run("MaxPoolV3", floats(1, 1, 8, 8), ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2])
    assert not ran


def test_what_it_cannot_do_the_kernels_do(ran):
    x, w = np.ones((1, 4, 5, 5), np.int8), np.ones((2, 4, 3, 3), np.int8)
    with override(engine="onnxruntime"):
        y = run("Conv2D", x, w, outputs=[spec(np.empty((1, 2, 3, 3), np.int32), formats.NCHW)], layout=formats.NCHW,
                strides=[1] * 4, pads=[0] * 4)  # fmt: skip
        assert run("Add", x, x).sum() == 200
    assert (y == 36).all()
    assert not ran


def test_large_calls_are_cut_or_left_to_the_kernels(monkeypatch):
    monkeypatch.setattr(onnxruntime.batches, "LARGE_BYTES", 4 * prod((3, 16, 6, 6)) - 1)
    monkeypatch.setattr(onnxruntime.batches, "PART_BYTES", 4 * prod((1, 16, 6, 6)))
    x, w = floats(3, 16, 6, 6), floats(16, 16, 3, 3)
    attrs = {"layout": formats.NCHW, "input_size": [0] * 4, "strides": [1] * 4, "pads": [1] * 4}
    with override(engine="onnxruntime"):
        y = run("Conv2DTransposeD", x, w, **attrs)
    np.testing.assert_allclose(y, run("Conv2DTransposeD", x, w, **attrs), rtol=1e-4, atol=1e-5)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(sessions, "runtime", lambda: "onnxruntime is not installed; pip install hostacl[ort]")
    with override(engine="onnxruntime"), pytest.raises(Refused, match=r"HA530.*pip install hostacl\[ort\]"):
        run("Add", floats(2), floats(2))


def test_beside_the_client_of_that_name_the_kernels_run(monkeypatch, ran):
    monkeypatch.setattr(sessions, "runtime", lambda: "this onnxruntime is itself a client of AscendCL")
    with override(engine="onnxruntime"):
        results("transposed", CALLS["transposed"][1])
    assert not ran


def test_only_so_many_sessions_live(monkeypatch):
    monkeypatch.setattr(sessions, "ALIVE", 2)
    monkeypatch.setattr(sessions, "_live", sessions.OrderedDict())
    with override(engine="onnxruntime"):
        for case in list(CALLS)[:4]:
            results(case, CALLS[case][1])
    assert len(sessions._live) == 2


def test_an_absent_bias_is_none(ran):
    x, w = floats(1, 16, 5, 5), floats(16, 4, 3, 3)
    described = [spec(x, formats.NCHW), spec(w, formats.NCHW), ABSENT]
    attrs = {"input_size": [0] * 4, "strides": [1] * 4, "pads": [0] * 4}
    outputs = inferred(bind("Conv2DTransposeD", described, **attrs))
    y = np.empty(outputs[0].shape, np.float32)
    with override(engine="onnxruntime"):
        bind("Conv2DTransposeD", described, outputs, **attrs).function()(x, w, None, y)
    assert ran
    np.testing.assert_allclose(y, run("Conv2DTransposeD", x, w, layout=formats.NCHW, **attrs), rtol=1e-4, atol=1e-5)


FORK = """
import os, numpy as np
from tests.ops.calling import run
x, w = np.ones((1, 16, 32, 32), np.float32), np.ones((16, 32, 2, 2), np.float32)
def conv(): return run("Conv2DTransposeD", x, w, layout=0, input_size=[0] * 4, strides=[1, 1, 2, 2], pads=[0] * 4)
assert (conv() == 16).all()
child = os.fork()
if child == 0:
    os._exit(0 if (conv() == 16).all() else 1)
assert os.waitpid(child, 0)[1] == 0
assert (conv() == 16).all()
"""


def test_a_forked_child_has_sessions_of_its_own():
    program = [sys.executable, "-W", "ignore", "-c", FORK]
    root = Path(__file__).resolve().parents[3]
    subprocess.run(program, cwd=root, env={**environ, "HOSTACL_ENGINE": "onnxruntime"}, check=True, timeout=60)
