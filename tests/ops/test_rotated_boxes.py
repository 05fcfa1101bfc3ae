"""Rotated boxes: areas that are known, boxes that touch or are the same, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

SQUARE = (0, 0, 2, 2, 0)


def boxes(*rows):
    return np.array(rows, np.float32).T[None].copy()


@pytest.mark.parametrize(
    ("one", "other", "area"),
    [
        (SQUARE, SQUARE, 4),
        (SQUARE, (0, 0, 2, 2, 90), 4),
        (SQUARE, (0, 0, 2, 2, 45), 8 * (np.sqrt(2) - 1)),
        (SQUARE, (1, 0, 2, 2, 0), 2),
        (SQUARE, (2, 0, 2, 2, 0), 0),
        (SQUARE, (0, 0, 1, 1, 30), 1),
        (SQUARE, (9, 9, 1, 1, 30), 0),
        ((0, 0, 2, 2, 30), (0, 0, 4, 1, 30), 2),
        ((1e4, 1e4, 2, 2, 30), (1e4, 1e4, 2, 2, 75), 8 * (np.sqrt(2) - 1)),
        (SQUARE, (0, 0, 0, 5, 20), 0),
    ],
)
def test_areas_that_are_known(one, other, area):
    assert run("RotatedOverlaps", boxes(one), boxes(other)).item() == pytest.approx(area, rel=1e-5, abs=1e-6)
    assert run("RotatedOverlaps", boxes(other), boxes(one)).item() == pytest.approx(area, rel=1e-5, abs=1e-6)


def test_angles_turn_counterclockwise_where_y_points_down():
    long = boxes((0, 0, 10, 1, 45))
    assert run("RotatedOverlaps", long, boxes((3, -3, 1, 1, 0))).item() > 0.5
    assert run("RotatedOverlaps", long, boxes((3, 3, 1, 1, 0))).item() == 0


def test_corners_instead_of_centers():
    assert run("RotatedOverlaps", boxes((0, 0, 2, 4, 90)), boxes((0, 0, 2, 4, 0)), trans=True).item() == pytest.approx(4)


def test_shares_of_the_whole_and_of_the_first():
    given = boxes(SQUARE, (1, 0, 2, 2, 0)), boxes((1, 0, 2, 2, 0), (0, 0, 1, 1, 0))
    np.testing.assert_allclose(run("RotatedIou", *given)[0], [[1 / 3, 1 / 4], [1, 0.5 / 4.5]], rtol=1e-5)
    np.testing.assert_allclose(run("RotatedIou", *given, mode="iof")[0], [[0.5, 0.25], [1, 0.125]], rtol=1e-5)
    assert run("RotatedIou", *given, is_cross=False).shape == (1, 2)
    empty = boxes((0, 0, 0, 0, 0))
    assert run("RotatedIou", empty, empty).item() == 0


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "rule"),
    [
        ("RotatedOverlaps", [(1, 4, 2), (1, 5, 2)], {}, "HA504"),
        ("RotatedOverlaps", [(1, 5, 2), (2, 5, 2)], {}, "HA504"),
        ("RotatedOverlaps", [(5, 2), (5, 2)], {}, "HA516"),
        ("RotatedIou", [(1, 5, 2), (1, 5, 3)], {"is_cross": False}, "HA504"),
        ("RotatedIou", [(1, 5, 2), (1, 5, 3)], {"mode": "giou"}, "HA508"),
    ],
)
def test_refusals(op, shapes, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, [Spec(0, shape) for shape in shapes], **attrs)
    assert caught.value.rule == rule
