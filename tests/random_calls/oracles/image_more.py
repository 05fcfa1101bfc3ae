"""Images resized, cut out, turned and mixed, pixel by pixel."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.resize_grad import COORDINATES, place, rounding, row

FAMILY = "image"


@shapes("Resize", "ResizeD")
def resize_call(d: Dice) -> None:
    one = d.wants("one element")
    old = [1 if one else d.int(1, 2), 1 if one else d.int(1, 2), *(1 if one else d.int(1, 5) for _ in range(2))]
    new = [*old[:2], *(1 if one else d.int(1, 5) for _ in range(2))]
    if d.wants("long"):
        new[3] = d.int(40, 60)
    if d.wants("empty"):
        old[0] = new[0] = 0
    if d.kind in {"in place", "partial overlap"}:
        new = list(old)
    d.tensor("x", tuple(old), *(() if values.is_int(d.dtype) else (-4, 4)))
    coordinates = d.attr("coordinate_transformation_mode", *COORDINATES)
    d.attr("mode", *(() if values.is_int(d.dtype) else ("linear", "cubic")))
    d.attr("nearest_mode", "round_prefer_ceil", "floor", "ceil")
    d.attr("exclude_outside", 1)
    d.attr("cubic_coeff_a", -0.5)
    d.attr("extrapolation_value", 3.0)
    crop = coordinates == "tf_crop_and_resize"
    regions = [(0.0, 1.0)] * 4
    cast = d.prototype.op_type == "Resize"
    choices = ((0.0, 1.0), (0.25, 1.0), (-1.0, 2.0), (0.0, 0.5)) if cast else ((0.0, 1.0), (-1.0, 2.0))
    given = d.optional("roi") if cast else crop
    if crop and given:
        regions = [(0.0, 1.0)] * 2 + [d.choose(*choices) for _ in range(2)]
    flat = [start for start, _ in regions] + [end for _, end in regions]
    doubled = d.chance(0.3) and d.kind not in {"long", "empty", "in place", "partial overlap"} and not one
    if doubled:
        new = [*old[:2], *(2 * size for size in old[2:])]
    if d.prototype.op_type == "Resize":
        if given:
            d.tensor("roi", np.array(flat if crop else []), dtype=dtypes.FLOAT)
        if doubled:
            d.value("scales", np.array([1.0, 1.0, 2.0, 2.0] if d.chance() else [2.0, 2.0]), dtype=dtypes.FLOAT)
        else:
            d.value("scales", np.zeros(0), dtype=dtypes.FLOAT)
            d.value("sizes", new if d.chance() else new[2:], dtype=dtypes.INT64)
    else:
        d.attrs["sizes"] = ("list_int", new if d.chance() else new[2:])
        if crop:
            d.attrs["roi"] = ("list_int", [int(edge) for edge in flat])
    d.values.update(old=old, new=new, regions=regions)
    d.output("y", None, tuple(new))


@oracle("Resize", "ResizeD", family=FAMILY)
def resize(x: Any, dice: Dice) -> Any:
    v, total = dice.values, x
    size = total if total.dtype == object else finite(total)
    outside: Any = np.zeros(v["new"], bool)
    crop = v["coordinate_transformation_mode"] == "tf_crop_and_resize"
    for axis in (2, 3):
        old, new = v["old"][axis], v["new"][axis]
        if old == new and not (crop and v["regions"][axis] != (0.0, 1.0)):
            continue
        results = []
        for array in (total, size):
            moved = np.moveaxis(array, axis, -1)
            result = np.zeros((*moved.shape[:-1], new), array.dtype)
            for k in range(new):
                at = place(k, old, new, v["regions"][axis], v["coordinate_transformation_mode"])
                if crop and not 0 <= at <= old - 1:
                    np.moveaxis(outside, axis, -1)[..., k] = True
                for pixel, weight in row(at, old, v):
                    factor = int(weight) if array.dtype == object else abs(weight) if array is size else weight
                    result[..., k] += moved[..., pixel] * factor
            results.append(np.moveaxis(result, -1, axis))
        total, size = results
    total = np.where(outside, 3 if v["extrapolation_value"] == 3 else 0, total)
    return total if total.dtype == object else Within(total, rounding(size))


Line = list[tuple[int, float]]
"""Old elements and their weights."""

LETTERS = {formats.NCHW: "NCHW", formats.NHWC: "NHWC", formats.ND: "NHWC"}


def image(d: Dice, name: str, *limits: Any) -> tuple[list[int], int]:
    """An input of images in a drawn format; gives its sizes as NHWC."""
    one = d.wants("one element")
    sizes = [1 if one else d.int(1, 2), *(1 if one else d.int(1, 5) for _ in range(2)), 1 if one else d.int(1, 3)]
    if d.wants("long"):
        sizes[2] = d.int(40, 60)
    layout = d.choose(formats.NCHW, formats.NHWC, formats.ND)
    d.tensor(name, tuple(sizes["NHWC".index(one)] for one in LETTERS[layout]), *limits, format=layout)
    return sizes, layout


def plain(x: Any, dice: Dice, name: str) -> Any:
    """Images as NHWC."""
    letters = LETTERS[dice.inputs[name][0].spec.format]
    return x.transpose([letters.index(one) for one in "NHWC"])


def stored(y: Any, dice: Dice, name: str) -> Any:
    return y.transpose(["NHWC".index(one) for one in LETTERS[dice.inputs[name][0].spec.format]])


@shapes("ResizeBicubic", "ResizeArea")
def tf_call(d: Dice) -> None:
    _, layout = image(d, "images", *(() if values.is_int(d.dtype) else (-4, 4)))
    d.value("size", [1 if d.kind == "one element" else d.int(1, 6) for _ in range(2)], dtype=dtypes.INT32)
    align = d.attr("align_corners", True)
    if d.prototype.op_type == "ResizeBicubic":
        if not align:
            d.attr("half_pixel_centers", True)
        d.values.setdefault("half_pixel_centers", False)
    d.output("y", dtypes.FLOAT, format=layout)


def along(x: Any, axis: int, lines: list[Line]) -> Any:
    """Each new line of an axis as the weighted sum of old ones."""
    moved = np.moveaxis(x, axis, 0)
    result = np.zeros((len(lines), *moved.shape[1:]))
    for at, line in enumerate(lines):
        for pixel, weight in line:
            result[at] += moved[pixel] * weight
    return np.moveaxis(result, 0, axis)


def resized(x: Any, size: Any, lines_of: Any) -> Any:
    wide, sizes = x.astype(np.float64), finite(x.astype(np.float64))
    for axis, new in ((1, int(size[0])), (2, int(size[1]))):
        lines = lines_of(x.shape[axis], new)
        wide = along(wide, axis, lines)
        sizes = along(sizes, axis, [[(pixel, abs(weight)) for pixel, weight in line] for line in lines])
    return wide, sizes


def cubic_lines(old: int, new: int, align: bool, half: bool) -> list[Line]:
    how = "align_corners" if align and new > 1 else "half_pixel" if half else "asymmetric"
    v = {"mode": "cubic", "coordinate_transformation_mode": how, "cubic_coeff_a": -0.5 if half else -0.75,
         "exclude_outside": int(half)}  # fmt: skip
    return [merged(row(place(k, old, new, (0.0, 1.0), how), old, v)) for k in range(new)]


def merged(line: Line) -> Line:
    """Each element once; weights that add up to 0 are none."""
    totals = {pixel: sum(weight for one, weight in line if one == pixel) for pixel, _ in line}
    return [(pixel, total) for pixel, total in totals.items() if total]


@oracle("ResizeBicubic", family=FAMILY)
def bicubic(images: Any, size: Any, align_corners: bool, half_pixel_centers: bool, dice: Dice) -> Any:
    def lines(old: int, new: int) -> list[Line]:
        return cubic_lines(old, new, align_corners, half_pixel_centers)

    y, bound = resized(plain(images, dice, "images"), size, lines)
    return Within(stored(y, dice, "images"), rounding(stored(bound, dice, "images")))


@shapes("ResizeBicubicGrad")
def bicubic_grad_call(d: Dice) -> None:
    sizes, layout = image(d, "original_image")
    new = [sizes[0], *(1 if d.kind == "one element" else d.int(1, 6) for _ in range(2)), sizes[3]]
    order = ["NHWC".index(one) for one in LETTERS[layout]]
    d.tensor("grads", np.asarray(d.rng.uniform(-4, 4, [new[at] for at in order])), dtype=dtypes.FLOAT, format=layout)
    if not d.attr("align_corners", True):
        d.attr("half_pixel_centers", True)
    d.values.setdefault("half_pixel_centers", False)
    d.values["old"] = sizes
    d.output("y", d.dtype, format=layout)


@oracle("ResizeBicubicGrad", family=FAMILY)
def bicubic_grad(grads: Any, align_corners: bool, half_pixel_centers: bool, dice: Dice) -> Any:
    y = plain(grads, dice, "grads")
    size = finite(y)
    for axis in (1, 2):
        old = dice.values["old"][axis]
        matrix = np.zeros((y.shape[axis], old))
        for at, line in enumerate(cubic_lines(old, y.shape[axis], align_corners, half_pixel_centers)):
            for pixel, weight in line:
                matrix[at, pixel] += weight
        y, size = (np.moveaxis(np.tensordot(one, m, (axis, 0)), -1, axis) for one, m in ((y, matrix), (size, np.abs(matrix))))
    return Within(stored(y, dice, "grads"), stored(size, dice, "grads") * 1e-9)


@oracle("ResizeArea", family=FAMILY)
def area(images: Any, size: Any, align_corners: bool, dice: Dice) -> Any:
    def lines(old: int, new: int) -> list[Line]:
        scale = Fraction(old - 1, new - 1) if align_corners and new > 1 else Fraction(old, new)
        found: list[Line] = []
        for k in range(new):
            start, end = k * scale, (k + 1) * scale
            line: dict[int, float] = {}
            if scale == 0:
                line[0] = 1.0
            for pixel in range(math.floor(start), math.ceil(end)):
                covered = min(end, pixel + 1) - max(start, pixel)
                held = min(pixel, old - 1)
                line[held] = line.get(held, 0.0) + float(covered / scale)
            found.append(list(line.items()))
        return found

    y, bound = resized(plain(images, dice, "images"), size, lines)
    return Within(stored(y, dice, "images"), stored(bound, dice, "images") * 1e-9)


@shapes("CropAndResize", "CropAndResizeD", "CropAndResizeV2")
def crop_call(d: Dice) -> None:
    sizes, layout = image(d, "x", *(() if values.is_int(d.dtype) else (-4, 4)))
    count = 0 if d.wants("empty") else 1 if d.kind == "one element" else d.int(1, 3)
    d.tensor("boxes", d.rng.choice(np.arange(-2, 11) / 8, (count, 4)), dtype=dtypes.FLOAT)
    d.tensor("box_index", d.rng.integers(0, sizes[0], count), dtype=dtypes.INT32)
    size = [1 if d.kind == "one element" else d.int(1, 4) for _ in range(2)]
    if d.prototype.op_type == "CropAndResizeD":
        d.attrs["crop_size"], d.values["crop_size"] = ("list_int", size), np.array(size)
    else:
        d.value("crop_size", size, dtype=dtypes.INT32)
    d.attr("extrapolation_value", 2.0)
    d.attr("method", "nearest")
    d.output("y", dtypes.FLOAT, format=layout)


@oracle("CropAndResize", "CropAndResizeD", "CropAndResizeV2", family=FAMILY)
def crop(x: Any, boxes: Any, box_index: Any, crop_size: Any, extrapolation_value: float, method: str, dice: Dice) -> Any:
    images = plain(x, dice, "x").astype(np.float64)
    height, width = (int(one) for one in np.ravel(crop_size))
    result = np.full((len(boxes), height, width, images.shape[3]), float(extrapolation_value))

    def at(first: float, last: float, old: int, new: int, k: int) -> Fraction:
        one, other = Fraction(float(first)), Fraction(float(last))
        return (one + Fraction(k, new - 1) * (other - one)) * (old - 1) if new > 1 else (one + other) / 2 * (old - 1)

    for box in range(len(boxes)):
        picture = images[int(box_index[box])]
        y1, x1, y2, x2 = boxes[box]
        for i, j in np.ndindex(height, width):
            y, z = at(y1, y2, picture.shape[0], height, i), at(x1, x2, picture.shape[1], width, j)
            if not (0 <= y <= picture.shape[0] - 1 and 0 <= z <= picture.shape[1] - 1):
                continue
            if method == "nearest":
                result[box, i, j] = picture[math.floor(y + Fraction(1, 2)), math.floor(z + Fraction(1, 2))]
                continue
            total = np.zeros(picture.shape[2])
            for row_at, row_weight in ((math.floor(y), 1 - y % 1), (math.ceil(y), y % 1)):
                for column, weight in ((math.floor(z), 1 - z % 1), (math.ceil(z), z % 1)):
                    if row_weight and weight:
                        total = total + picture[row_at, column] * float(row_weight * weight)
            result[box, i, j] = total
    y = stored(result, dice, "x")
    return Within(y, finite(x.astype(np.float64)).max(initial=0.0) * 2.0**-22)


@shapes("ImgToTensor")
def tensor_call(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.output("y", dtypes.FLOAT)


@oracle("ImgToTensor", family=FAMILY)
def img_to_tensor(x: Any) -> Any:
    return np.vectorize(lambda one: float(Fraction(int(one), 255)), otypes=[float])(x) if x.size else x.astype(float)


@shapes("BackgroundReplace")
def replaced_call(d: Dice) -> None:
    one = d.wants("one element")
    shape = tuple(1 if one else d.int(1, 4) for _ in range(3))
    shape = (0, *shape[1:]) if d.wants("empty") else (shape[0], d.int(60, 90), shape[2]) if d.wants("long") else shape
    for name in ("bkg", "src"):
        d.tensor(name, shape, dtype=d.dtype)
    mask = np.asarray(d.rng.integers(0, 9, d.choose(shape[:2], (*shape[:2], 1), shape)) / 8)
    d.tensor("mask", mask, dtype=dtypes.FLOAT16)


@oracle("BackgroundReplace", family=FAMILY)
def replaced(bkg: Any, src: Any, mask: Any) -> Any:
    share = (mask if mask.ndim == 3 else mask[:, :, None]).astype(np.float64)
    one, other = src.astype(np.float64), bkg.astype(np.float64)
    y = one * share + other * (1 - share)
    if bkg.dtype == object:
        return np.array([math.floor(value) for value in y.ravel()], object).reshape(y.shape)
    return Within(y, (finite(one) + finite(other)) * 2.0**-22)


@shapes("AffineGrid")
def grid_call(d: Dice) -> None:
    axes = d.choose(2, 3)
    sizes = [1 if d.kind == "one element" else d.int(1, 4) for _ in range(axes)]
    d.wants("one element")
    count = 0 if d.wants("empty") else 1 if d.kind == "one element" else d.int(1, 3)
    if d.wants("long"):
        sizes[-1] = d.int(60, 90)
    d.tensor("theta", (count, axes, axes + 1), -2, 2)
    d.value("output_size", [count, 3, *sizes], dtype=dtypes.INT32)
    d.attr("align_corners", True)
    d.values["sizes"] = sizes


@oracle("AffineGrid", family=FAMILY)
def affine_grid(theta: Any, align_corners: bool, dice: Dice) -> Any:
    sizes = dice.values["sizes"]
    y = np.zeros((len(theta), *sizes, len(sizes)))
    bound = np.zeros(y.shape)

    def at(k: int, size: int) -> float:
        if size == 1:
            return 0.0
        return float(Fraction(2 * k, size - 1) - 1 if align_corners else Fraction(2 * k + 1, size) - 1)

    for where in np.ndindex(*sizes):
        point = [*[at(k, size) for k, size in zip(where, sizes, strict=True)][::-1], 1.0]
        for n in range(len(theta)):
            terms = theta[n] * np.array(point)
            y[(n, *where)], bound[(n, *where)] = terms.sum(axis=1), finite(terms).sum(axis=1)
    return Within(y, bound * 2.0**-22)


@shapes("Rotate")
def rotate_call(d: Dice) -> None:
    one = d.wants("one element")
    sizes = {"H": 1 if one else d.int(2, 5), "W": 1 if one else d.int(2, 5), "C": 1 if one else d.int(1, 3)}
    if d.wants("long"):
        sizes["W"] = d.int(60, 70)
    if d.wants("empty"):
        sizes["C"] = 0
    letters = d.attr("data_format", "CHW")
    d.tensor("x", tuple(sizes[letter] for letter in letters), *(() if values.is_int(d.dtype) else (-4, 4)))
    angle = d.choose(90.0, 180.0, -90.0, 270.0, 450.0, 0.0, 30.0, 200.5)
    d.attrs["angle"], d.values["angle"] = ("float", angle), angle
    d.attr("interpolation", "bilinear")
    d.attr("padding_mode", "edge", "reflect", "symmetric")
    d.attr("padding_value", 2.0)
    if not d.attr("expand", True) and d.chance():
        d.attrs["center"] = ("list_int", [1, 0])
    d.values["center"] = d.attrs.get("center", ("", []))[1]


def source(at: int, size: int, mode: str) -> int | None:
    """The pixel that stands for a place, walked back into the image."""
    step = 0
    while not 0 <= at < size:
        step += 1
        if mode == "constant":
            return None
        if mode == "edge":
            return 0 if at < 0 else size - 1
        if size == 1:
            return 0
        fold = 0 if mode == "reflect" else 1
        at = -at - fold if at < 0 else 2 * (size - 1) - at + fold
    return at


@oracle("Rotate", family=FAMILY)
def rotate(x: Any, angle: float, interpolation: str, padding_mode: str, padding_value: float, data_format: str, expand: bool,
           dice: Dice) -> Any:  # fmt: skip
    picture = x.transpose([data_format.index(one) for one in "HWC"])
    height, width = picture.shape[:2]
    turn = math.radians(angle)
    cos, sin = (round(one) if angle % 90 == 0 else one for one in (math.cos(turn), math.sin(turn)))
    size = (height, width)
    if expand:
        size = math.ceil(height * abs(cos) + width * abs(sin) - 1e-6), math.ceil(width * abs(cos) + height * abs(sin) - 1e-6)
    middle = dice.values["center"] or [(width - 1) / 2, (height - 1) / 2]
    shift = [(size[1] - 1) / 2, (size[0] - 1) / 2] if expand else middle
    y = np.zeros((*size, picture.shape[2]), object if x.dtype == object else float)
    for i, j in np.ndindex(*size):
        u, w = j - shift[0], i - shift[1]
        column, line = u * cos - w * sin + middle[0], u * sin + w * cos + middle[1]
        if interpolation == "nearest":
            taps = [(math.floor(line + 0.5), math.floor(column + 0.5), 1)]
        else:
            down, across = line - math.floor(line), column - math.floor(column)
            taps = [(math.floor(line) + a, math.floor(column) + b, (down if a else 1 - down) * (across if b else 1 - across))
                    for a in (0, 1) for b in (0, 1)]  # fmt: skip
        for a, b, weight in taps:
            one, other = source(a, height, padding_mode), source(b, width, padding_mode)
            pixel = padding_value if one is None or other is None else picture[one, other]
            if weight:
                y[i, j] = y[i, j] + pixel * weight
    y = y.transpose(["HWC".index(one) for one in data_format])
    if x.dtype == object:
        return np.array([math.floor(value + 1e-9) for value in y.ravel()], object).reshape(y.shape)
    return Within(y, finite(x).max(initial=2.0) * 2.0**-20)
