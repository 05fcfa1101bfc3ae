"""JPEG files: exact pixels, what is asked of the decoder, truncated and foreign files, a missing Pillow."""

from __future__ import annotations

import sys
from io import BytesIO

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import attr, find
from tests.random_calls.jpegs import jpeg, pixels

Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(11)
GREY = [RNG.integers(0, 256, (2, 3))]
COLOURS = [RNG.integers(30, 226, (2, 3)) for _ in range(3)]


def decoded(data, **attrs):
    """The pixels of a file."""
    channels = attrs.get("channels", 3)
    room = np.zeros((channels, 64, 64) if attrs.get("dst_img_format") == "CHW" else (64, 64, channels), np.uint8)
    bound = {name: attr(value) for name, value in attrs.items()}
    call = find("DecodeJpeg").bind([TensorSpec(dtypes.STRING, ())], [TensorSpec(dtypes.UINT8, room.shape)], bound)
    (true,) = call.function()(np.frombuffer(data, np.uint8), room)
    return room.ravel()[: np.prod(true)].reshape(true)


def near(got, wanted, most=1.0):
    return got.shape == wanted.shape and np.abs(got.astype(float) - wanted).max() < most


def test_grey_values_are_exact():
    assert np.array_equal(decoded(jpeg(GREY, 13, 21)), pixels(GREY, 13, 21))


def test_colours_follow_the_formula():
    assert near(decoded(jpeg(COLOURS, 16, 24)), pixels(COLOURS, 16, 24))


def test_channels_are_those_of_the_file_or_as_asked():
    grey, colours = jpeg(GREY, 13, 21), jpeg(COLOURS, 13, 21)
    assert decoded(grey).shape[2] == 1
    assert np.array_equal(decoded(grey, channels=3), np.repeat(decoded(grey), 3, axis=2))
    assert np.array_equal(decoded(colours, channels=1), pixels(COLOURS[:1], 13, 21))


def test_channels_first():
    content = jpeg(COLOURS, 13, 21)
    assert np.array_equal(decoded(content, dst_img_format="CHW"), decoded(content).transpose(2, 0, 1))


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_a_ratio_divides_rounded_up(ratio):
    got = decoded(jpeg(COLOURS, 13, 21), ratio=ratio)
    assert near(got, pixels(COLOURS, 13, 21, ratio))
    assert got.shape[:2] == (-(-13 // ratio), -(-21 // ratio))


def test_halved_chroma_is_interpolated_unless_told_otherwise():
    planes = [np.full((2, 4), 128), np.array([[100, 160]]), np.array([[128, 128]])]
    content = jpeg(planes, 16, 32, double=True)
    plain, fancy = decoded(content, fancy_upscaling=False), decoded(content)
    assert near(plain, pixels(planes, 16, 32), 2.0)  # by the fast transform
    assert not near(fancy, pixels(planes, 16, 32), 2.0)
    assert near(fancy[:, :15], pixels(planes, 16, 32)[:, :15])  # only the edge is different


@pytest.mark.parametrize("method", ["", "INTEGER_FAST", "INTEGER_ACCURATE"])
def test_the_method_is_a_hint(method):
    content = jpeg(COLOURS, 13, 21)
    assert np.array_equal(decoded(content, dct_method=method), decoded(content))


@pytest.mark.parametrize("progressive", [False, True])
def test_a_photograph_comes_close(progressive):
    rows, columns = np.mgrid[:40, :56]
    picture = np.stack([128 + 100 * np.sin(rows / 9), 128 + 90 * np.cos(columns / 11), 2.0 * rows + columns], axis=-1)
    file = BytesIO()
    image = Image.fromarray(picture.astype(np.uint8))
    image.save(file, "JPEG", quality=98, subsampling=0, progressive=progressive)
    assert near(decoded(file.getvalue()), picture, 8)


def test_cmyk_becomes_rgb():
    file = BytesIO()
    Image.new("CMYK", (16, 8), (0, 0, 0, 255)).save(file, "JPEG", quality=100)
    got = decoded(file.getvalue())
    assert got.shape == (8, 16, 3)
    assert got.max() < 4


def test_a_truncated_file_fails_unless_told_otherwise():
    blocks = [RNG.integers(0, 256, (6, 8))]
    data = jpeg(blocks, 48, 64)[:-30]
    with pytest.raises(Failed, match=r"HA519: DecodeJpeg: contents cannot be decoded: .*truncated"):
        decoded(data)
    got, wanted = decoded(data, try_recover_truncated=True), pixels(blocks, 48, 64)
    assert got.shape == wanted.shape
    assert np.array_equal(got[:24], wanted[:24])


@pytest.mark.parametrize(("data", "text"), [
    (b"GIF89a, not at all what was asked", r"HA519.*33 bytes, b'GIF8' first\) is no JPEG file"),
    (b"", "HA519.*is no JPEG file"),
    (jpeg(GREY, 13, 21)[:40], "HA519.*cannot be read"),
])  # fmt: skip
def test_unreadable_contents(data, text):
    with pytest.raises(Failed, match=text):
        decoded(data)


def test_a_picture_smaller_than_the_ratio():
    with pytest.raises(Failed, match=r"3 rows and 21 columns; ratio = 4"):
        decoded(jpeg(GREY, 3, 21), ratio=4)


@pytest.mark.parametrize(("attrs", "text"), [
    ({"channels": 2}, "HA508.*channels = 2; allowed: 0, 1, 3"), ({"ratio": 3}, "HA508.*ratio = 3"),
    ({"dct_method": "FLOAT"}, "HA508.*dct_method"), ({"dst_img_format": "NCHW"}, "HA508.*dst_img_format"),
    ({"acceptable_fraction": 1.5}, "HA508.*acceptable_fraction"),
])  # fmt: skip
def test_refused_attributes(attrs, text):
    with pytest.raises(Refused, match=text):
        find("DecodeJpeg").bind([TensorSpec(dtypes.STRING, ())], [], {name: attr(value) for name, value in attrs.items()})


def test_refused_tensors():
    with pytest.raises(Refused, match=r"HA502.*allowed: DT_STRING"):
        find("DecodeJpeg").bind([TensorSpec(dtypes.UINT8, (9,))], [], {})
    with pytest.raises(Refused, match=r"HA504.*contents = \[2\]"):
        find("DecodeJpeg").bind([TensorSpec(dtypes.STRING, (2,))], [], {})
    with pytest.raises(Refused, match=r"HA502.*DT_STRING cannot be computed"):
        find("Identity").bind([TensorSpec(dtypes.STRING, (2,))], [], {})


def test_without_pillow_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(Refused, match=r"HA530.*Pillow.*pip install hostacl\[image\]"):
        find("DecodeJpeg").bind([TensorSpec(dtypes.STRING, ())], [], {})


def test_what_is_inferred():
    (image,) = find("DecodeJpeg").bind([TensorSpec(dtypes.STRING, ())], [], {"channels": ("int", 3)}).infer()
    assert (image.dtype, image.shape, image.ranges) == (dtypes.UINT8, (-1, -1, 3), ((1, 65535), (1, 65535), (3, 3)))
