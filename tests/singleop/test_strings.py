"""Tensors of one string: where their bytes may lie, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from hostacl.errors import Failed
from hostacl.singleop.strings import PLACE, only_string
from hostacl.tensors import dtypes
from tests.calls import Tensor, build_and_execute, device, message
from tests.random_calls.jpegs import jpeg, pixels, place_of

DATA = bytes(range(40, 80))
GREY = [np.array([[7, 200, 90]])]


def read(content, const=False):
    """The string of a tensor of these bytes."""
    stored = np.frombuffer(content, np.uint8).copy()
    return only_string("DecodeJpeg", "contents", stored if const else np.ndarray((), PLACE, stored.data)).tobytes()


@pytest.mark.parametrize("const", [False, True])
def test_the_bytes_follow_the_element(const):
    assert read(place_of(DATA), const) == DATA
    assert read(np.array([24, len(DATA)], np.int64).tobytes() + bytes(8) + DATA, const) == DATA
    assert read(place_of(b""), const) == b""


def test_the_bytes_may_lie_at_an_address():
    kept = np.frombuffer(DATA, np.uint8).copy()
    assert read(np.array([kept.ctypes.data, len(DATA)], np.int64).tobytes()) == DATA


@pytest.mark.parametrize("const", [False, True])
@pytest.mark.parametrize(("start", "length", "text"), [
    (16, -1, "start 16, length -1"), (-8, 4, "start -8, length 4"), (1 << 62, 4, "so many bytes are not there"),
    (16, 1 << 46, "so many bytes are not there"),
])  # fmt: skip
def test_bytes_that_are_not_there(const, start, length, text):
    with pytest.raises(Failed, match=f"HA519: DecodeJpeg: contents holds the element .*{text}"):
        read(np.array([start, length], np.int64).tobytes(), const)


def test_a_const_of_a_few_bytes():
    with pytest.raises(Failed, match="has 5 bytes; an element"):
        read(b"12345", const=True)


def decoded(contents):
    """Pixels by the whole API."""
    image = device(np.zeros((3, 8, 20), np.uint8))
    attrs = {"channels": 3, "ratio": 1, "fancy_upscaling": True, "try_recover_truncated": False, "acceptable_fraction": 1.0,
             "dct_method": "", "dst_img_format": "CHW"}  # fmt: skip
    ret = build_and_execute("DecodeJpeg", [contents], [image], attrs) or acl.rt.synchronize_stream(0)
    return ret, image.read().transpose(1, 2, 0)


@pytest.mark.parametrize("dims", [[], [1]])
@pytest.mark.parametrize("const", [False, True])
def test_a_file_as_torch_npu_gives_it(dims, const):
    pytest.importorskip("PIL")
    content = np.frombuffer(place_of(jpeg(GREY, 8, 20)), np.uint8)
    desc = acl.create_tensor_desc(dtypes.STRING, dims, 2)
    held = device(content)
    if const:
        assert acl.set_tensor_const(desc, content.ctypes.data, content.size) == 0
        held = Tensor(content, desc, acl.create_data_buffer(0, 0))
    held.desc = desc
    ret, image = decoded(held)
    assert ret == 0, message()
    assert np.array_equal(image, np.repeat(pixels(GREY, 8, 20), 3, axis=2))


def test_a_buffer_without_memory_is_told_when_it_runs():
    pytest.importorskip("PIL")
    nothing = Tensor(np.empty(0), acl.create_tensor_desc(dtypes.STRING, [], 2), acl.create_data_buffer(0, 0))
    ret, _ = decoded(nothing)
    assert ret == 507018
    assert "HA519" in (text := message())
    assert "contents (0 bytes" in text
