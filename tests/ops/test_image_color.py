"""Colours: known ones, quirks and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

RED = np.array([[[1.0, 0, 0]]], np.float32)


def test_a_third_of_the_circle_makes_red_green():
    third = np.array(1 / 3, np.float32)
    np.testing.assert_allclose(run("AdjustHue", RED, third)[0, 0], [0, 1, 0], atol=1e-6)
    whole = (RED * 255).astype(np.uint8)
    np.testing.assert_array_equal(run("AdjustHue", whole, third)[0, 0], [0, 255, 0])


def test_no_saturation_is_grey():
    np.testing.assert_array_equal(run("AdjustSaturation", RED, np.array(0, np.float32))[0, 0], [1, 1, 1])


def test_hue_of_a_grey_is_0():
    np.testing.assert_array_equal(run("RGBToHSV", np.full((1, 1, 3), 0.25, np.float32))[0, 0], [0, 0, 0.25])


def test_contrast_keeps_the_mean():
    x = np.array([[[0.0], [1.0]]], np.float32)
    np.testing.assert_allclose(run("AdjustContrast", x, np.array([2], np.float32))[0, :, 0], [-0.5, 1.5])
    whole = np.array([[[0], [255]]], np.uint8)
    np.testing.assert_array_equal(run("AdjustContrast", whole, np.array([2], np.float32))[0, :, 0], [0, 255])


def test_grey_in_three_channels_first():
    x = np.zeros((3, 1, 2), np.uint8)
    x[1] = 100
    y = run("RgbToGrayscale", x, data_format="CHW", output_channels=3)
    np.testing.assert_array_equal(y, np.full((3, 1, 2), 58))


@pytest.mark.parametrize(
    ("text", "op", "inputs", "attrs"),
    [
        ("has 2 channels; allowed: 3", "RGBToHSV", [np.zeros((4, 2), np.float32)], {}),
        ("data_format = 'NHWC'; allowed: HWC, CHW", "RgbToGrayscale", [RED], {"data_format": "NHWC"}),
        ("output_channels = 2; allowed: 1, 3", "RgbToGrayscale", [RED], {"output_channels": 2}),
        ("mean_mode = 'chn_y'; allowed: chn_wise", "AdjustContrast", [RED, np.ones(1, np.float32)], {"mean_mode": "chn_y"}),
        ("delta = .*; allowed: one element", "AdjustHue", [RED, np.ones(2, np.float32)], {}),
    ],
)
def test_refusals(text, op, inputs, attrs):
    with pytest.raises(Refused, match=text):
        bind(op, inputs, **attrs)
