"""Colours, one pixel at a time by Python's own colorsys."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, finite, oracle, shapes

FAMILY = "image"


def pixels(d: Dice, channels: int, factor: str = "", order: bool = True) -> None:
    """images with three channels where the format says, and a factor."""
    shape = list(d.shape(3, 6))
    layout = d.attr("data_format", "CHW") if order and "data_format" in d.generation.attrs else "HWC"
    shape[-1 if layout == "HWC" else -3] = channels
    whole = values.is_int(d.dtype)
    data = d.rng.integers(0, 256, shape) if whole else d.rng.integers(0, 17, shape) / 16
    d.tensor("images", data, dtype=d.dtype)
    d.values["axis"] = -1 if layout == "HWC" else -3
    if factor:
        d.tensor(factor, np.full(d.choose((), (1,)), d.choose(0.5, 0.25, 1.5)), dtype=dtypes.FLOAT)


@shapes("RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation", "RgbToGrayscale")
def color_call(d: Dice) -> None:
    if d.wants("one element"):
        d.tensor("images", np.full((1, 1, 3), 0.5 if not values.is_int(d.dtype) else 9), dtype=d.dtype)
        d.values["axis"] = -1
        for name in ("delta", "scale"):
            if name in [one.name for one in d.generation.inputs]:
                d.tensor(name, np.array([0.5]), dtype=dtypes.FLOAT)
    else:
        pixels(d, 3, {"AdjustHue": "delta", "AdjustSaturation": "scale"}.get(d.prototype.op_type, ""))
    if d.prototype.op_type == "RgbToGrayscale":
        d.attr("output_channels", 3)


@shapes("AdjustBrightness", "AdjustContrast")
def factor_call(d: Dice) -> None:
    name = "delta" if d.prototype.op_type == "AdjustBrightness" else "contrast_factor"
    pixels(d, 1 if d.kind == "one element" else d.int(1, 3), name)
    if "mean_mode" in d.generation.attrs:
        d.attr("mean_mode")


def each(images: Any, axis: int, function: Any) -> Any:
    """A function of three numbers for each pixel."""
    moved = np.moveaxis(images, axis, -1)
    flat = moved.reshape(int(np.prod(moved.shape[:-1])), 3)
    found = [function(*map(float, line)) for line in flat]
    return np.moveaxis(np.array(found, float).reshape(moved.shape), -1, axis)


@oracle("RGBToHSV", family=FAMILY)
def to_hsv(images: Any) -> Any:
    return Within(each(images, -1, colorsys.rgb_to_hsv), 1e-6)


@oracle("HSVToRGB", family=FAMILY)
def to_rgb(images: Any) -> Any:
    return Within(each(images, -1, colorsys.hsv_to_rgb), 2e-6)


@oracle("AdjustHue", family=FAMILY)
def hue(images: Any, delta: Any, dice: Dice) -> Any:
    turn = float(delta.ravel()[0])
    whole = images.dtype == object

    def turned(red: float, green: float, blue: float) -> Any:
        h, s, v = colorsys.rgb_to_hsv(*((one / 255 if whole else one) for one in (red, green, blue)))
        return colorsys.hsv_to_rgb((h + turn) % 1.0, s, v)

    y = each(images, dice.values["axis"], turned)
    if whole:
        return Any_(y.shape, lambda found: bool(np.all(np.abs(found - y * 255) <= 0.5 + 1e-6)))
    return Within(y, 2e-6)


@oracle("AdjustSaturation", family=FAMILY)
def saturation(images: Any, scale: Any) -> Any:
    def scaled(red: float, green: float, blue: float) -> Any:
        h, s, v = colorsys.rgb_to_hsv(red, green, blue)
        return colorsys.hsv_to_rgb(h, min(max(s * float(scale.ravel()[0]), 0.0), 1.0), v)

    return Within(each(images, -1, scaled), 2e-6)


@oracle("AdjustBrightness", family=FAMILY)
def brightness(images: Any, delta: Any) -> Any:
    return Within(images + delta.ravel()[0], 1e-6)


@oracle("AdjustContrast", family=FAMILY)
def contrast(images: Any, contrast_factor: Any, dice: Dice) -> Any:
    axis = dice.values["axis"]
    wide = np.moveaxis(images.astype(np.float64), axis, -1)
    y = np.zeros(wide.shape)
    for lead in np.ndindex(wide.shape[:-3]):
        for channel in range(wide.shape[-1]):
            plane = wide[(*lead, slice(None), slice(None), channel)]
            mean = sum(plane.ravel()) / plane.size if plane.size else 0.0
            y[(*lead, slice(None), slice(None), channel)] = (plane - mean) * contrast_factor.ravel()[0] + mean
    y = np.moveaxis(y, -1, axis)
    if images.dtype == object:
        near = np.where(np.abs(y - np.rint(y)) < 1e-9, np.rint(y), np.trunc(y))
        return np.array([int(min(max(one, 0), 255)) for one in near.ravel()], object).reshape(y.shape)
    return Within(y, finite(y) * 2.0**-20 + 1e-6)


@oracle("RgbToGrayscale", family=FAMILY)
def grey(images: Any, output_channels: int, dice: Dice) -> Any:
    axis = dice.values["axis"]
    red, green, blue = (np.moveaxis(images, axis, 0)[place].astype(np.float64) for place in range(3))
    y = np.stack([0.2989 * red + 0.587 * green + 0.114 * blue] * output_channels, axis=axis)
    if images.dtype == object:
        near = np.where(np.abs(y - np.rint(y)) < 1e-9, np.rint(y), np.trunc(y))
        return np.array([int(one) for one in near.ravel()], object).reshape(y.shape)
    return Within(y, 1e-6)
