"""JPEG files whose pixels are known: baseline ones in which each block of 8 x 8 samples has one value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

STEP = 8
"""With this quantisation step of the mean, a coefficient of 1 lifts a block by 1."""


def segment(marker: int, *content: int) -> bytes:
    """A marker segment with its length."""
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2, "big") + bytes(content)


def jpeg(planes: list[Any], rows: int, columns: int, double: bool = False) -> bytes:
    """A file of grey values, or of Y, Cb and Cr: for each a table of its blocks' values, 0 to 255.

    ``double``: the first plane has twice as many blocks along both axes as the others.
    """
    count = len(planes)
    factors = [0x22 if double and place == 0 else 0x11 for place in range(count)]
    frame = [8, *rows.to_bytes(2, "big"), *columns.to_bytes(2, "big"), count]
    scan = [count]
    for place, factor in enumerate(factors):
        frame += [place + 1, factor, 0]
        scan += [place + 1, 0]
    return b"".join([
        b"\xff\xd8", segment(0xE0, *b"JFIF\0", 1, 1, 0, 0, 1, 0, 1, 0, 0), segment(0xDB, 0, *[STEP] * 64),
        segment(0xC0, *frame),
        segment(0xC4, 0x00, 0, 0, 0, 9, *[0] * 12, *range(9)),  # sizes 0 to 8 of differences, 4 bits each
        segment(0xC4, 0x10, 1, *[0] * 15, 0x00),  # one bit: no other coefficients
        segment(0xDA, *scan, 0, 63, 0), entropy_coded(planes, double), b"\xff\xd9",
    ])  # fmt: skip


def entropy_coded(planes: list[Any], double: bool) -> bytes:
    """The blocks' differences, in the order of the scan."""
    last, bits = [0] * len(planes), ""
    for place, value in scanned(planes, double):
        difference = int(value) - 128 - last[place]
        last[place] += difference
        size = abs(difference).bit_length()
        number = difference if difference >= 0 else difference + (1 << size) - 1
        bits += f"{size:04b}" + (f"{number:0{size}b}" if size else "") + "0"
    bits += "1" * (-len(bits) % 8)
    coded = bytes(int(bits[start : start + 8], 2) for start in range(0, len(bits), 8))
    return coded.replace(b"\xff", b"\xff\x00")


def scanned(planes: list[Any], double: bool) -> Iterator[tuple[int, int]]:
    """Plane and value of each block."""
    each = 2 if double else 1
    rows, columns = np.shape(planes[-1])
    if len(planes) == 1:
        rows, columns = np.shape(planes[0])
        each = 1
    for row in range(rows):
        for column in range(columns):
            for y in range(each):
                for x in range(each):
                    yield 0, planes[0][row * each + y][column * each + x]
            for place in range(1, len(planes)):
                yield place, planes[place][row][column]


def pixels(planes: list[Any], rows: int, columns: int, ratio: int = 1) -> Any:
    """The exact float values of the picture: grey ones, or red, green and blue by JFIF's formula, held within 0 to 255."""
    size = 8 // ratio
    wide = [np.kron(np.asarray(one, np.float64), np.ones((size, size))) for one in planes]
    longest = len(wide[0])
    wide = [np.kron(one, np.ones((longest // len(one),) * 2)) for one in wide]
    cut = [one[: -(-rows // ratio), : -(-columns // ratio)] for one in wide]
    if len(cut) == 1:
        return cut[0][:, :, None]
    y, cb, cr = cut[0], cut[1] - 128, cut[2] - 128
    colours = (y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb)
    return np.clip(np.stack(colours, axis=-1), 0, 255)


def place_of(data: bytes, start: int = 16) -> bytes:
    """A tensor's bytes: the element that says where the string lies, and the string."""
    return np.array([start, len(data)], np.int64).tobytes() + data + b"\0"
