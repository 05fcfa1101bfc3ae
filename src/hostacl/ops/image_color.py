"""Colours of images: brightness, contrast, hue, saturation, and the models they are told in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import one_element

Array = NDArray[Any]

GREY = (0.2989, 0.587, 0.114)
"""How much of red, green and blue is in a grey."""


def channel_axis(call: Call, rank: int) -> int:
    """Where the channels are, counted from behind: data_format HWC (also without that attribute) or CHW."""
    layout = call.attrs.get("data_format") or "HWC"
    if layout not in ("HWC", "CHW"):
        raise call.refuse("HA508", f"data_format = {layout!r}; allowed: HWC, CHW.")
    if rank < 3:
        raise call.refuse("HA516", f"images has {rank} dims; allowed: 3 or more, the last three {layout}.")
    return -1 if layout == "HWC" else -3


def rgb_shape(call: Call) -> Shape:
    """The shape of images, which have three channels; the factor has one element."""
    images = call.shape("images")
    if "data_format" in call.attrs:
        place = channel_axis(call, len(images))
    else:
        place = -1
        if not images:
            raise call.refuse("HA516", "images is a scalar; allowed: 1 or more dims, the last one the channels.")
    if dims.known(images[place]) and images[place] != 3:
        raise call.refuse("HA504", f"images = {dims.text(images)} has {images[place]} channels; allowed: 3.")
    for name in ("delta", "scale"):
        if name in call.inputs:
            one_element(call, name)
    return images


def hue_saturation_value(rgb: Array) -> tuple[Array, Array, Array]:
    """Hue from 0 to 1, saturation and value of colours whose last axis is red, green, blue."""
    red, green, blue = (rgb[..., place] for place in range(3))
    value, least = rgb.max(axis=-1), rgb.min(axis=-1)
    span = value - least
    scale = np.where(span > 0, 1 / (6 * np.where(span > 0, span, 1)), 0)
    hue = np.where(value == red, (green - blue) * scale,
                   np.where(value == green, (blue - red) * scale + 1 / 3, (red - green) * scale + 2 / 3))  # fmt: skip
    hue = np.where(span > 0, np.where(hue < 0, hue + 1, hue), 0)
    saturation = np.where(value > 0, span / np.where(value > 0, value, 1), 0)
    return hue, saturation, value


def red_green_blue(hue: Array, saturation: Array, value: Array) -> Array:
    """The colours, red, green and blue on a new last axis."""
    sixth = hue * 6
    parts = [np.clip(np.abs(sixth - 3) - 1, 0, 1), np.clip(2 - np.abs(sixth - 2), 0, 1), np.clip(2 - np.abs(sixth - 4), 0, 1)]
    return np.stack([((one - 1) * saturation + 1) * value for one in parts], axis=-1)


@kernel("RGBToHSV", shape=rgb_shape)
def rgb_to_hsv(images: Array) -> Array:
    """Hue, saturation and value (hue from 0 to 1) of colours whose last axis is red, green, blue; a grey has hue 0."""
    return np.stack(hue_saturation_value(images), axis=-1)


@kernel("HSVToRGB", shape=rgb_shape)
def hsv_to_rgb(images: Array) -> Array:
    """Red, green and blue of colours whose last axis is hue (0 to 1), saturation, value."""
    return red_green_blue(*(images[..., place] for place in range(3)))


def as_hsv(images: Array, axis: int) -> tuple[tuple[Array, Array, Array], float]:
    """Hue, saturation and value, and what value 1 is: 255 for integers."""
    whole = 255.0 if images.dtype.kind in "iu" else 1.0
    wide = np.moveaxis(images, axis, -1).astype(np.float64) / whole
    return hue_saturation_value(wide), whole


@kernel("AdjustHue", shape=rgb_shape, mixed=("delta",))
def adjust_hue(images: Array, delta: Array, call: Call) -> Array:
    """The images with delta (a share of the circle) added to the hue of each colour.

    data_format HWC or CHW says where the channels are. uint8 stands for 0 to 1, and is rounded half to even.
    """
    axis = channel_axis(call, images.ndim)
    (hue, saturation, value), whole = as_hsv(images, axis)
    y = red_green_blue((hue + float(delta.reshape(()))) % 1.0, saturation, value)
    return np.moveaxis(y if whole == 1 else np.rint(y * whole), -1, axis)


@kernel("AdjustSaturation", shape=rgb_shape, mixed=("scale",))
def adjust_saturation(images: Array, scale: Array) -> Array:
    """The images with the saturation of each colour times scale, held within 0 and 1; the channels are the last axis."""
    (hue, saturation, value), _ = as_hsv(images, -1)
    return red_green_blue(hue, np.clip(saturation * float(scale.reshape(())), 0, 1), value)


def one_factor(call: Call) -> Shape:
    """The shape of images; the other input has one element."""
    one_element(call, *(name for name in call.inputs if name != "images"))
    return call.shape("images")


@kernel("AdjustBrightness", shape=one_factor, mixed=("delta",))
def adjust_brightness(images: Array, delta: Array) -> Array:
    """images + delta."""
    return images + delta.astype(images.dtype).reshape(())


def contrast_shape(call: Call) -> Shape:
    """The shape of images."""
    channel_axis(call, len(call.shape("images")))
    if call.attrs.get("mean_mode", "chn_wise") not in (None, "chn_wise"):
        raise call.refuse("HA508", f"mean_mode = {call.attr('mean_mode')!r}; allowed: chn_wise.")
    return one_factor(call)


@kernel("AdjustContrast", shape=contrast_shape, mixed=("contrast_factor",))
def adjust_contrast(images: Array, contrast_factor: Array, call: Call) -> Array:
    """(images - mean)·contrast_factor + mean, with the mean of each channel of each image; uint8 is held and cut off.

    data_format HWC or CHW says where the channels are among the last three axes.
    """
    axis = channel_axis(call, images.ndim)
    if images.size == 0:
        return images
    planes = (-3, -2) if axis == -1 else (-2, -1)
    wide = images.astype(np.float64)
    mean = wide.mean(axis=planes, keepdims=True)
    return (wide - mean) * float(contrast_factor.reshape(())) + mean


def grey_shape(call: Call) -> Shape:
    """images with one channel, or three that are equal."""
    images = call.shape("images")
    axis = channel_axis(call, len(images))
    if call.attr("output_channels") not in (1, 3):
        raise call.refuse("HA508", f"output_channels = {call.attr('output_channels')}; allowed: 1, 3.")
    if dims.known(images[axis]) and images[axis] != 3:
        raise call.refuse("HA504", f"images = {dims.text(images)} has {images[axis]} channels; allowed: 3.")
    shape = list(images)
    shape[axis] = call.attr("output_channels")
    return tuple(shape)


@kernel("RgbToGrayscale", shape=grey_shape)
def rgb_to_grayscale(images: Array, output_channels: int, call: Call) -> Array:
    """0.2989·red + 0.587·green + 0.114·blue, in one channel or three equal ones; uint8 is cut off."""
    axis = channel_axis(call, images.ndim)
    wide = np.moveaxis(images, axis, -1).astype(np.float64)
    grey = sum(wide[..., place] * share for place, share in enumerate(GREY))
    return np.moveaxis(np.repeat(np.asarray(grey)[..., None], output_channels, axis=-1), -1, axis)
