"""JPEG files made of blocks of one value, whose pixels follow from JFIF's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.jpegs import jpeg, pixels
from random_calls.oracle import Any_, oracle, shapes


@shapes("DecodeJpeg")
def decoded_call(d: Dice) -> None:
    pytest.importorskip("PIL")
    grey, ratio = d.chance(), d.attr("ratio", 1, 2, 4, 8)
    rows, columns = (ratio if d.wants("one element") else d.int(ratio, 40) for _ in range(2))
    blocks = [d.rng.integers(0, 256, (-(-rows // 8), -(-columns // 8))) for _ in range(1 if grey else 3)]
    d.values["picture"] = blocks, rows, columns, ratio
    d.tensor("contents", np.frombuffer(jpeg(blocks, rows, columns), np.uint8), dtype=dtypes.STRING)
    (contents,) = d.inputs["contents"]
    contents.spec = contents.spec._replace(shape=d.choose((), (1,)))  # one string, whatever its length
    d.attr("channels", 1, 3)
    d.attr("fancy_upscaling", False)
    d.attr("try_recover_truncated", True)
    d.attr("acceptable_fraction", 0.5)
    d.attr("dct_method", "INTEGER_FAST", "INTEGER_ACCURATE")
    d.attr("dst_img_format", "CHW")
    d.output("image", dtypes.UINT8)


@oracle("DecodeJpeg", family="image")
def decoded(channels: int, dice: Dice) -> Any:
    blocks, rows, columns, ratio = dice.values["picture"]
    if channels == 1:
        wanted = pixels(blocks[:1], rows, columns, ratio)
    else:
        wanted = pixels(blocks, rows, columns, ratio)
        wanted = np.repeat(wanted, 3, axis=2) if channels == 3 and len(blocks) == 1 else wanted
    if dice.values.get("dst_img_format") == "CHW":
        wanted = wanted.transpose(2, 0, 1)
    return Any_(wanted.shape, lambda got: bool(np.all(np.abs(got - wanted) < 1)))  # colours are rounded in integers
