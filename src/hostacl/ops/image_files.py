"""Images out of files. Pillow reads them: pip install hostacl[image]."""

from __future__ import annotations

import importlib
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import HOST_FAILURE

Array = NDArray[Any]

LARGEST = 65535
"""Rows and columns that a JPEG file can have."""

END_OF_IMAGE = b"\xff\xd9"

METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")


def pillow(call: Call) -> ModuleType:
    """The module PIL.Image; refuses the call where Pillow is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise call.refuse("HA530", "Pillow, which reads the file, is not installed; pip install hostacl[image].") from None


def decoded_shape(call: Call) -> Shape:
    """Rows, columns and channels in the order of dst_img_format; what only the file tells is not known."""
    pillow(call)
    if dims.known(*call.shape("contents")) and dims.count(call.shape("contents")) != 1:
        raise call.refuse("HA504", f"contents = {dims.text(call.shape('contents'))}; allowed: one string, the bytes of a file.")
    for name, allowed in (
        ("channels", (0, 1, 3)), ("ratio", (1, 2, 4, 8)), ("dct_method", METHODS), ("dst_img_format", ("HWC", "CHW")),
    ):  # fmt: skip
        if call.attrs.get(name, allowed[0]) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: {', '.join(map(repr, allowed))}.")
    if not 0 <= call.attr("acceptable_fraction") <= 1:
        raise call.refuse("HA508", f"acceptable_fraction = {call.attr('acceptable_fraction')}; allowed: 0 to 1.")
    channels: Dim = call.attr("channels") or Between(1, 3)
    size = Between(1, LARGEST)
    return (channels, size, size) if call.attrs.get("dst_img_format") == "CHW" else (size, size, channels)


@kernel("DecodeJpeg", shape=decoded_shape, attrs={"dst_img_format": "HWC"})
def decode_jpeg(
    contents: Array, channels: int, ratio: int, fancy_upscaling: bool, try_recover_truncated: bool, dst_img_format: str,
    call: Call,
) -> Array:  # fmt: skip
    """The pixels of a JPEG file: rows, columns, channels, or with dst_img_format "CHW" channels first. Pillow decodes.

    channels 0 gives as many as the file has, 1 grey values, 3 red, green and blue; CMYK becomes RGB. ratio divides rows and
    columns while decoding, rounded up. fancy_upscaling false repeats chroma instead of interpolating it, and decodes by the
    fast transform; dct_method is a hint that changes nothing else. A truncated file fails; with try_recover_truncated its last
    rows are what the decoder makes of missing data, however many they are: acceptable_fraction does not matter. contents is a
    string of the file's bytes: {int64 start, int64 length} with start 16, then the bytes.
    """
    data = contents.tobytes()
    image = opened(call, data + END_OF_IMAGE if try_recover_truncated else data)
    wanted = {1: "L", 3: "RGB"}.get(channels) or ("L" if image.mode == "L" else "RGB")
    reduce(call, image, wanted, ratio)
    if not fancy_upscaling:
        image.decoderconfig = (image.decoderconfig[0] if image.decoderconfig else 1, 1)
    pixels = loaded(call, image, wanted)
    return pixels.transpose(2, 0, 1) if dst_img_format == "CHW" else pixels


def opened(call: Call, data: bytes) -> Any:
    """The image of a JPEG file, not decoded yet."""
    module = pillow(call)
    try:
        return module.open(BytesIO(data), formats=("JPEG",))
    except module.UnidentifiedImageError:
        raise unreadable(call, f"contents ({len(data)} bytes, {data[:4]!r} first) is no JPEG file") from None
    except Exception as error:
        raise unreadable(call, f"contents ({len(data)} bytes) cannot be read: {error}") from None


def reduce(call: Call, image: Any, wanted: str, ratio: int) -> None:
    """Has the decoder make grey values of colours, and divide the size by the ratio."""
    columns, rows = image.size
    if min(columns, rows) < ratio:
        raise unreadable(call, f"the image has {rows} rows and {columns} columns; ratio = {ratio} needs as many of each")
    image.draft(wanted, None if ratio == 1 else (columns // ratio, rows // ratio))


def loaded(call: Call, image: Any, wanted: str) -> Array:
    """The decoded pixels, channels last."""
    try:
        pixels = np.asarray(image.convert(wanted))
    except Exception as error:
        raise unreadable(call, f"contents cannot be decoded: {error}") from None
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def unreadable(call: Call, text: str) -> Failed:
    """The failure of a file that gives no image."""
    return Failed("HA519", f"{call.op_type}: {text}; give all bytes of a JPEG file.", HOST_FAILURE)
