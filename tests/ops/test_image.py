"""Images resized, cut out, turned and mixed: known values and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

LINE = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)


def test_resize_by_two_sizes_and_by_scales():
    doubled = run("Resize", LINE, None, None, np.array([1, 8]), const=[3], layout=formats.NCHW, mode="linear")
    np.testing.assert_allclose(doubled.ravel(), [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3])
    scales = np.array([1, 1, 1, 2], np.float32)
    np.testing.assert_array_equal(run("Resize", LINE, None, scales, None, const=[2], mode="linear"), doubled)


def test_resize_d_as_torch_npu_calls_it():
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    y = run("ResizeD", x, layout=formats.NCHW, sizes=[8, 8], scales=[0.0, 0.0], mode="cubic",
            coordinate_transformation_mode="pytorch_half_pixel")  # fmt: skip
    assert y.shape == (1, 1, 8, 8)
    first, *rest = -0.10546875, 0.19140625, 0.66796875  # Keys' cubic with -0.75 of 0, 1, 2, 3 at -0.25, 0.25, 0.75, by hand
    np.testing.assert_allclose(y[0, 0, 0, :3], [5 * first, *(4 * first + one for one in rest)], atol=1e-5)


def test_resize_says_what_it_needs():
    with pytest.raises(Refused, match="HA513: Resize: neither sizes nor scales"):
        bind("Resize", [LINE])
    with pytest.raises(Refused, match="HA508: ResizeD: mode = 'cube'"):
        bind("ResizeD", [LINE], sizes=[1, 8], mode="cube")
    with pytest.raises(Refused, match="HA508: ResizeD: sizes"):
        bind("ResizeD", [LINE], sizes=[1, 1, 8])


def test_outside_of_a_crop_is_the_extrapolation_value():
    y = run("ResizeD", LINE, layout=formats.NCHW, sizes=[1, 1, 1, 4], roi=[0, 0, 0, -1, 1, 1, 1, 2], extrapolation_value=9.0,
            coordinate_transformation_mode="tf_crop_and_resize", mode="linear")  # fmt: skip
    np.testing.assert_array_equal(y.ravel(), [9, 0, 3, 9])


def test_area_of_a_whole_factor_is_the_mean():
    x = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1)
    y = run("ResizeArea", x, np.array([2, 2], np.int32), const=[1])
    np.testing.assert_array_equal(y[0, :, :, 0], x[0, :, :, 0].reshape(2, 2, 2, 2).mean(axis=(1, 3)))


def test_bicubic_may_give_uint8():
    x = np.array([0, 255, 0, 255], np.uint8).reshape(1, 1, 4, 1)
    wanted = [TensorSpec(dtypes.UINT8, (1, 1, 8, 1))]
    y = run("ResizeBicubic", x, np.array([1, 8], np.int32), const=[1], outputs=wanted, dtype=4)
    assert y.dtype == np.uint8
    assert y.min() == 0
    assert y.max() == 255


@pytest.mark.parametrize("flags", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
@pytest.mark.parametrize("size", [(5, 2), (1, 9), (3, 4)])
def test_the_gradient_of_bicubic_is_adjoint(flags, size):
    rng = np.random.default_rng(2)
    x, dy = rng.normal(size=(2, 3, 4, 3)), rng.normal(size=(2, *size, 3)).astype(np.float32)
    y = run("ResizeBicubic", x, np.array(size, np.int32), const=[1], **flags)
    dx = run("ResizeBicubicGrad", dy, x, **flags)
    assert dx.dtype == np.float64
    np.testing.assert_allclose(np.vdot(y, dy), np.vdot(x, dx), rtol=1e-5)
    assert run("ResizeBicubicGrad", dy, x.astype(np.float32), **flags).dtype == np.float32
    with pytest.raises(Refused, match="must be equal"):
        bind("ResizeBicubicGrad", [dy, x[:1]], **flags)


def test_a_box_that_is_the_image_gives_it_back():
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    boxes, size = np.array([[0, 0, 1, 1]], np.float32), np.array([3, 4], np.int32)
    y = run("CropAndResize", x, boxes, np.zeros(1, np.int32), size, const=[3])
    np.testing.assert_array_equal(y, x)


def test_boxes_of_images_that_are_not_there():
    x, boxes = np.ones((1, 3, 4, 1), np.float32), np.zeros((1, 4), np.float32)
    with pytest.raises(Failed, match=r"HA510.*box_index\[0\] = 2; allowed: 0 to 0"):
        run("CropAndResizeD", x, boxes, np.array([2], np.int32), crop_size=[2, 2])
    with pytest.raises(Refused, match="method = 'cubic'; allowed: bilinear, nearest"):
        bind("CropAndResizeD", [x, boxes, np.zeros(1, np.int32)], crop_size=[2, 2], method="cubic")


def test_a_box_with_nan_is_outside():
    boxes = np.array([[np.nan, 0, 1, 1]], np.float32)
    y = run("CropAndResizeD", np.ones((1, 3, 4, 1), np.float32), boxes, np.zeros(1, np.int32), crop_size=[2, 2],
            extrapolation_value=-1.0)  # fmt: skip
    assert (y == -1).all()


@pytest.mark.parametrize("quarter", range(4))
def test_quarter_turns(quarter):
    x = np.arange(24, dtype=np.uint8).reshape(4, 6, 1)
    y = run("Rotate", x, angle=90.0 * quarter, expand=True)
    np.testing.assert_array_equal(y[..., 0], np.rot90(x[..., 0], quarter))


def test_the_identity_is_the_grid_of_the_image_itself():
    theta = np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)
    y = run("AffineGrid", theta, np.array([1, 1, 2, 3], np.int32), const=[1], align_corners=True)
    np.testing.assert_array_equal(y[0, :, :, 0], [[-1, 0, 1]] * 2)
    np.testing.assert_array_equal(y[0, :, :, 1], [[-1] * 3, [1] * 3])


def test_a_mask_without_channels():
    bkg, src = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 200, np.uint8)
    y = run("BackgroundReplace", bkg, src, np.array([[0, 1], [0.5, 0.25]], np.float16))
    np.testing.assert_array_equal(y[..., 0], [[0, 200], [100, 50]])
