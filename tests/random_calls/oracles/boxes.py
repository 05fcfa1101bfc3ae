"""Boxes one by one: differences, overlaps, suppression, anchors, pooled regions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, oracle, shapes
from random_calls.oracles.conv import LETTERS, ordered


def count_of(d: Dice) -> int:
    return 1 if d.wants("one element") else 0 if d.wants("empty") else d.int(30, 60) if d.wants("long") else d.int(1, 6)


def draw_boxes(d: Dice, count: int) -> Any:
    """Boxes (x0, y0, x1, y1) on a grid of eighths, which halves hold."""
    corner, size = d.rng.integers(0, 64, (count, 2)), d.rng.integers(8, 64, (count, 2))
    return np.concatenate([corner, corner + size], axis=1) / 8


@shapes("BoundingBoxEncode", "BoundingBoxDecode", "YoloBoxesEncode")
def pair_call(d: Dice) -> None:
    count, names = count_of(d), [decl.name for decl in d.generation.inputs]
    d.tensor(names[0], draw_boxes(d, count))
    decode = d.prototype.op_type.endswith("Decode")
    d.tensor(names[1], d.rng.uniform(-1, 1, (count, 4)) if decode else draw_boxes(d, count))
    if "stride" in names:
        d.tensor("stride", d.rng.integers(4, 32, count))
        d.attr("performance_mode", "high_performance")
    else:
        d.attr("means", [0.5, -0.5, 0.25, 0.0])
        d.attr("stds", [0.5, 0.5, 2.0, 2.0])
    if decode:
        d.attrs["max_shape"] = ("list_int", [12, 20])
        d.attr("wh_ratio_clip", 0.5)


@oracle("BoundingBoxEncode", family="boxes")
def encode(anchor_box: Any, ground_truth_box: Any, means: Any, stds: Any) -> Any:
    found = np.zeros(anchor_box.shape)
    for row, (a, b) in enumerate(zip(anchor_box, ground_truth_box, strict=True)):
        for at in (0, 1):
            width, wide = a[at + 2] - a[at] + 1, b[at + 2] - b[at] + 1
            found[row, at] = ((b[at] + b[at + 2]) / 2 - (a[at] + a[at + 2]) / 2) / width
            found[row, at + 2] = math.log(wide) - math.log(width)
    return Within((found - means) / stds, 1e-6)


@oracle("BoundingBoxDecode", family="boxes")
def decode(rois: Any, deltas: Any, means: Any, stds: Any, wh_ratio_clip: float) -> Any:
    found, most = np.zeros(rois.shape), -math.log(wh_ratio_clip)
    for row, (a, delta) in enumerate(zip(rois, deltas, strict=True)):
        for at, last in ((0, 19), (1, 11)):
            width, middle = a[at + 2] - a[at] + 1, (a[at] + a[at + 2]) / 2
            center = middle + width * (delta[at] * stds[at] + means[at])
            wide = width * math.exp(min(max(delta[at + 2] * stds[at + 2] + means[at + 2], -most), most))
            found[row, at] = min(max(center - (wide - 1) / 2, 0), last)
            found[row, at + 2] = min(max(center + (wide - 1) / 2, 0), last)
    return Within(found, 1e-5)


@oracle("YoloBoxesEncode", family="boxes")
def yolo(anchor_boxes: Any, gt_bboxes: Any, stride: Any) -> Any:
    found = np.zeros(anchor_boxes.shape)
    for row, (a, b) in enumerate(zip(anchor_boxes, gt_bboxes, strict=True)):
        for at in (0, 1):
            way = (b[at] + b[at + 2] - a[at] - a[at + 2]) / 2 / int(stride[row]) + 0.5
            found[row, at] = min(max(way, 1e-6), 1 - 1e-6)
            found[row, at + 2] = math.log((b[at + 2] - b[at]) / (a[at + 2] - a[at]))
    return Within(found, 1e-6)


@shapes("RotatedBoxEncode", "RotatedBoxDecode")
def rotated_call(d: Dice) -> None:
    batch, count = (1 if d.kind == "one element" else d.int(1, 2)), count_of(d)
    for name in [decl.name for decl in d.generation.inputs]:
        boxes = np.stack([draw_boxes(d, count).T for _ in range(batch)])
        angles = d.rng.integers(-80, 80, (batch, 1, count))
        encoded = name == "deltas"
        d.tensor(name, d.rng.uniform(-1, 1, (batch, 5, count)) if encoded else np.concatenate([boxes, angles], axis=1))
    d.attr("weight", [2.0, 2.0, 0.5, 0.5, 4.0])


@oracle("RotatedBoxEncode", family="boxes")
def rotated_encode(anchor_box: Any, gt_box: Any, weight: Any) -> Any:
    found = np.zeros(anchor_box.shape)
    for n, k in np.ndindex(anchor_box.shape[0], anchor_box.shape[2]):
        a, b = anchor_box[n, :, k], gt_box[n, :, k]
        for at in (0, 1):
            found[n, at, k] = (b[at] + b[at + 2] - a[at] - a[at + 2]) / 2 / (a[at + 2] - a[at]) * weight[at]
            found[n, at + 2, k] = math.log((b[at + 2] - b[at]) / (a[at + 2] - a[at])) * weight[at + 2]
        found[n, 4, k] = (math.tan(math.radians(b[4])) - math.tan(math.radians(a[4]))) * weight[4]
    return Within(found, 1e-6)


@oracle("RotatedBoxDecode", family="boxes")
def rotated_decode(anchor_box: Any, deltas: Any, weight: Any) -> Any:
    found = np.zeros(anchor_box.shape)
    for n, k in np.ndindex(anchor_box.shape[0], anchor_box.shape[2]):
        a, delta = anchor_box[n, :, k], deltas[n, :, k] / np.array(weight)
        for at in (0, 1):
            center = (a[at] + a[at + 2]) / 2 + delta[at] * (a[at + 2] - a[at])
            half = (a[at + 2] - a[at]) * math.exp(delta[at + 2]) / 2
            found[n, at, k], found[n, at + 2, k] = center - half, center + half
        found[n, 4, k] = math.degrees(math.atan(delta[4] + math.tan(math.radians(a[4]))))
    return Within(found, 1e-5)


def covered(a: Any, b: Any, eps: float = 0.0) -> tuple[float, float, float]:
    """The common area, and those of both."""
    sides = [max(min(a[at + 2], b[at + 2]) - max(a[at], b[at]) + eps, 0) for at in (0, 1)]
    areas = [(one[2] - one[0] + eps) * (one[3] - one[1] + eps) for one in (a, b)]
    return sides[0] * sides[1], areas[0], areas[1]


@shapes("Iou")
def iou_call(d: Dice) -> None:
    count = count_of(d)
    d.tensor("bboxes", draw_boxes(d, count))
    d.tensor("gtboxes", draw_boxes(d, 1 if count == 1 else d.int(1, 4)))
    d.attr("mode", "iof")
    d.attr("eps", 0.0)


@oracle("Iou", family="boxes")
def iou(bboxes: Any, gtboxes: Any, mode: str, eps: float) -> Any:
    found = np.zeros((len(gtboxes), len(bboxes)))
    for i, j in np.ndindex(*found.shape):
        common, own, other = covered(gtboxes[i], bboxes[j], eps)
        found[i, j] = common / (own + other - common if mode == "iou" else own)
    return Within(found, 1e-9)


LOSSES = ("GIoU", "DIoU", "CIoU")


@shapes(*LOSSES, *(f"{name}Grad" for name in LOSSES))
def loss_call(d: Dice) -> None:
    count, backward = count_of(d), d.prototype.op_type.endswith("Grad")
    if backward:
        d.tensor("dy", d.rng.uniform(-2, 2, (1, count) if d.chance() else (count,)))
        d.attrs["is_cross"] = ("bool", False)
        d.values["is_cross"] = False
    else:
        d.attr("is_cross", False)
    cross = d.values["is_cross"]
    trans = d.attr("trans", True)
    boxes = []
    for name, many, odd in (("bboxes", count, 0.0), ("gtboxes", d.int(1, 3) if cross and count > 1 else count, 1 / 16)):
        one = draw_boxes(d, many).T + odd  # no two bounds are equal
        if trans:
            one = np.concatenate([(one[:2] + one[2:]) / 2, one[2:] - one[:2]])
        boxes.append(d.tensor(name, one).astype(np.float64))
    d.attr("mode")
    if "atan_sub_flag" in d.generation.attrs:
        d.attr("atan_sub_flag", True)
    if d.prototype.op_type == "CIoUGrad":
        turn = [angle(b) - angle(a) for a, b in zip(*(list(as_corners(one, trans)) for one in boxes), strict=True)]
        d.tensor("atan_sub", np.array(turn).reshape(1, count))
    if d.kind == "special values":
        d.served.discard("special values")


def as_corners(boxes: Any, trans: bool) -> Any:
    rows = np.asarray(boxes).T
    return np.concatenate([rows[:, :2] - rows[:, 2:] / 2, rows[:, :2] + rows[:, 2:] / 2], 1) if trans else rows


def angle(box: Any) -> Any:
    return np.arctan((box[2] - box[0]) / (box[3] - box[1]))


def worth(a: Any, b: Any, kind: str, factor: float | None = None) -> Any:
    """GIoU, DIoU or CIoU of two boxes; numbers may be complex. ``factor``: the weight of CIoU's shape, kept constant."""

    def least(x: Any, y: Any) -> Any:
        return x if x.real < y.real else y

    def most(x: Any, y: Any) -> Any:
        return y if x.real < y.real else x

    sides = [least(a[at + 2], b[at + 2]) - most(a[at], b[at]) for at in (0, 1)]
    common = sides[0] * sides[1] if min(one.real for one in sides) > 0 else 0.0
    union = sum((one[2] - one[0]) * (one[3] - one[1]) for one in (a, b)) - common
    around = [most(a[at + 2], b[at + 2]) - least(a[at], b[at]) for at in (0, 1)]
    if kind == "GIoU":
        return common / union - 1 + union / (around[0] * around[1])
    ways = [(a[at] + a[at + 2] - b[at] - b[at + 2]) / 2 for at in (0, 1)]
    result = common / union - (ways[0] ** 2 + ways[1] ** 2) / (around[0] ** 2 + around[1] ** 2)
    if kind == "DIoU":
        return result
    shape = 4 / math.pi**2 * (angle(b) - angle(a)) ** 2
    return result - (shape / (1 - common / union + shape) if factor is None else factor) * shape


@oracle(*LOSSES, family="boxes")
def losses(bboxes: Any, gtboxes: Any, is_cross: bool, trans: bool, dice: Dice) -> Any:
    first, second = as_corners(bboxes, trans), as_corners(gtboxes, trans)
    pairs = [[(a, b) for a in first] for b in second] if is_cross else [list(zip(first, second, strict=True))]
    shape = (len(second) if is_cross else 1, len(first))
    kind = dice.prototype.op_type
    found = Within(np.array([[worth(a, b, kind) for a, b in row] for row in pairs]).reshape(shape), 1e-6)
    if kind != "CIoU":
        return found
    turn = np.array([[angle(b) - angle(a) for a, b in row] for row in pairs]).reshape(shape)
    return found, Within(turn, 1e-6) if dice.values["atan_sub_flag"] else Any_(shape)


@oracle(*(f"{name}Grad" for name in LOSSES), family="boxes")
def loss_gradients(dy: Any, bboxes: Any, gtboxes: Any, trans: bool, dice: Dice) -> Any:
    kind, step = dice.prototype.op_type.removesuffix("Grad"), 1e-30
    found = [np.zeros(bboxes.shape), np.zeros(gtboxes.shape)]
    for k in range(bboxes.shape[1]):
        plain = [as_corners(one[:, k : k + 1], trans)[0] for one in (bboxes, gtboxes)]
        shape = 4 / math.pi**2 * (angle(plain[1]) - angle(plain[0])) ** 2
        factor = (worth(*plain, "DIoU") - worth(*plain, "CIoU")) / (shape or 1)
        for side, at in itertools.product((0, 1), range(4)):
            moved = [one[:, k : k + 1].astype(np.complex128) for one in (bboxes, gtboxes)]
            moved[side][at, 0] += step * 1j
            found[side][at, k] = worth(*(as_corners(one, trans)[0] for one in moved), kind, factor).imag / step * dy.ravel()[k]
    slack = 0.02 if dice.dtype == dtypes.FLOAT16 else 1e-5
    return Within(found[0], slack), Within(found[1], slack)


def kept(boxes: Any, order: list[int], most: int, threshold: float) -> list[int]:
    """Which of the boxes stay, in this order."""
    found: list[int] = []
    for one in order:
        hidden = False
        for better in found:
            common, own, other = covered(boxes[one], boxes[better])
            hidden = hidden or common > threshold * (own + other - common)
        if not hidden and len(found) < most:
            found.append(one)
    return found


def distinct_scores(d: Dice, *shape: int) -> Any:
    return (d.rng.permutation(math.prod(shape)).reshape(shape) + 1) / 256


@shapes("BatchMultiClassNonMaxSuppression")
def batch_call(d: Dice) -> None:
    batch, count, classes = d.int(1, 2), min(count_of(d), 12), 1 if d.kind == "one element" else d.int(1, 3)
    groups, transpose = d.choose(1, classes), d.attr("transpose_box", True)
    boxes = np.stack([[draw_boxes(d, count) for _ in range(groups)] for _ in range(batch)]).reshape(batch, groups, count, 4)
    d.tensor("boxes", np.transpose(boxes, (0, 1, 3, 2) if transpose else (0, 2, 1, 3)))
    d.tensor("scores", np.stack([distinct_scores(d, count, classes) for _ in range(batch)]).reshape(batch, count, classes))
    window = d.optional("clip_window")
    if window:
        d.tensor("clip_window", np.array([[1.0, 2.0, 9.0, 10.0]] * batch))
    if d.optional("num_valid_boxes"):
        d.tensor("num_valid_boxes", d.rng.integers(0, count + 1, batch))
    relative = d.attr("change_coordinate_frame", *([True] if window else []))
    if relative and not window:
        d.attrs["change_coordinate_frame"] = ("bool", False)
    numbers = {"max_size_per_class": d.int(0, 4), "max_total_size": d.int(0, 6)}
    limits = {"score_threshold": 3.5 / 256, "iou_threshold": 0.3}
    d.attrs.update({name: ("int", one) for name, one in numbers.items()})
    d.attrs.update({name: ("float", one) for name, one in limits.items()})
    d.values.update(numbers, **limits, boxes=boxes, relative=relative and window)


@oracle("BatchMultiClassNonMaxSuppression", family="boxes")
def batch_nms(scores: Any, clip_window: Any, num_valid_boxes: Any, dice: Dice) -> Any:
    v = dice.values
    total = v["max_total_size"]
    results = [np.zeros((len(scores), total, 4)), *np.zeros((2, len(scores), total)), np.zeros(len(scores), object)]
    for n, (boxes, score) in enumerate(zip(v["boxes"], scores, strict=True)):
        found = []
        for c in range(score.shape[1]):
            own = boxes[c % len(boxes)].astype(np.float64)
            alive = range(len(own) if num_valid_boxes is None else num_valid_boxes[n])
            if clip_window is not None:
                low, high = np.tile(clip_window[n][:2], 2), np.tile(clip_window[n][2:], 2)
                own = np.minimum(np.maximum(own, low), high)
                alive = [k for k in alive if own[k][2] > own[k][0] and own[k][3] > own[k][1]]
                own = (own - low) / (high - low) if v["relative"] else own
            order = sorted((k for k in alive if score[k, c] > v["score_threshold"]), key=lambda k: -score[k, c])
            found += [(score[k, c], c, own[k]) for k in kept(own, order, v["max_size_per_class"], v["iou_threshold"])]
        found = sorted(found, key=lambda one: (-one[0], one[1]))[:total]
        for place, (best, label, box) in enumerate(found):
            results[0][n, place], results[1][n, place], results[2][n, place] = box, best, label
        results[3][n] = len(found)
    return tuple(results)


@shapes("NonMaxSuppressionV4")
def v4_call(d: Dice) -> None:
    count = count_of(d)
    boxes = draw_boxes(d, count)
    d.tensor("boxes", boxes[:, [2, 1, 0, 3]] if d.chance() else boxes)
    d.tensor("scores", distinct_scores(d, count))
    most = d.int(0, 6)
    d.value("max_output_size", most)
    d.tensor("iou_threshold", np.array(0.3))
    d.tensor("score_threshold", np.array(2.5 / 256))
    padded = d.attr("pad_to_max_output_size", True)
    d.values["most"] = most
    d.output("selected_indices", dtypes.INT32, (most if padded else min(most, count),))
    d.values["padded"] = padded


@oracle("NonMaxSuppressionV4", family="shape_slice_concat_pad")
def v4(boxes: Any, scores: Any, iou_threshold: Any, dice: Dice) -> Any:
    sides = np.sort(boxes.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    order = sorted((k for k in range(len(scores)) if scores[k] > 2.5 / 256), key=lambda k: -scores[k])
    found = kept(sides, order, dice.values["most"], float(iou_threshold))
    padding = [0] * (dice.values["most"] - len(found)) if dice.values["padded"] else []
    return np.array(found + padding, object), np.array(len(found), object)


@shapes("NMSWithMask")
def mask_call(d: Dice) -> None:
    count = count_of(d)
    d.tensor("box_scores", np.concatenate([draw_boxes(d, count), distinct_scores(d, count)[:, None]], axis=1))
    d.attr("iou_threshold", 0.3)


@oracle("NMSWithMask", family="shape_slice_concat_pad")
def with_mask(box_scores: Any, iou_threshold: float) -> Any:
    found = kept(box_scores, list(range(len(box_scores))), len(box_scores), iou_threshold)
    numbers = np.arange(len(box_scores)).astype(object)
    return box_scores, numbers, np.array([int(k in found) for k in range(len(box_scores))], object)


@shapes("AnchorResponseFlags")
def flags_call(d: Dice) -> None:
    d.tensor("gt_bboxes", draw_boxes(d, count_of(d)))
    cells, anchors = [d.int(6, 8), d.int(6, 9)], d.int(1, 3)
    d.attrs.update(featmap_size=("list_int", cells), strides=("list_int", [3, 2]), num_base_anchors=("int", anchors))
    d.values.update(cells=cells, anchors=anchors)


@oracle("AnchorResponseFlags", family="boxes")
def flags(gt_bboxes: Any, dice: Dice) -> Any:
    (rows, columns), anchors = dice.values["cells"], dice.values["anchors"]
    middles = [(math.floor((b[1] + b[3]) / 4), math.floor((b[0] + b[2]) / 6)) for b in gt_bboxes]
    return np.array([int((i, j) in middles) for i in range(rows) for j in range(columns) for _ in range(anchors)], object)


@shapes("GridAssignPositive")
def assign_call(d: Dice) -> None:
    anchors, boxes = count_of(d), d.int(1, 4)
    overlaps = d.rng.permutation(boxes * anchors).reshape(boxes, anchors) / max(boxes * anchors, 1)
    overlaps = np.round(overlaps * 4) / 4 if d.chance() else overlaps
    overlaps = overlaps.astype(dtypes.numpy_dtype(d.dtype))
    d.tensor("assigned_gt_inds", d.rng.integers(-1, 1, anchors))
    d.tensor("overlaps", overlaps)
    d.tensor("box_responsible_flags", d.rng.integers(0, 2, anchors))
    d.tensor("max_overlaps", np.max(overlaps, axis=0, initial=0))
    d.tensor("argmax_overlaps", np.argmax(overlaps, axis=0) if anchors else np.zeros(0))
    d.tensor("gt_max_overlaps", np.max(overlaps, axis=1, initial=0))
    d.tensor("gt_argmax_overlaps", np.argmax(overlaps, axis=1) if anchors else np.zeros(boxes))
    d.tensor("num_gts", np.array([d.int(0, boxes)]))
    d.attrs.update(pos_iou_thr=("float", 0.625), min_pos_iou=("float", 0.25), gt_max_assign_all=("bool", d.chance()))
    d.values.update({name: value for name, (_, value) in d.attrs.items()})


@oracle("GridAssignPositive", family="boxes")
def assign(
    assigned_gt_inds: Any, overlaps: Any, box_responsible_flags: Any, max_overlaps: Any, argmax_overlaps: Any,
    gt_max_overlaps: Any, gt_argmax_overlaps: Any, num_gts: Any, dice: Dice,
) -> Any:  # fmt: skip
    v, result = dice.values, assigned_gt_inds.copy()
    for k in range(len(result)):
        if box_responsible_flags[k] and max_overlaps[k] > v["pos_iou_thr"]:
            result[k] = argmax_overlaps[k] + 1
    for box in range(int(num_gts[0])):
        if gt_max_overlaps[box] <= v["min_pos_iou"]:
            continue
        for k in range(len(result)):
            best = overlaps[box, k] == gt_max_overlaps[box] if v["gt_max_assign_all"] else k == gt_argmax_overlaps[box]
            if best and box_responsible_flags[k]:
                result[k] = box + 1
    return result


@shapes("SubSample")
def sample_call(d: Dice) -> None:
    d.tensor("labels", d.rng.integers(-1, 2, count_of(d)))
    d.values.update(size=d.int(0, 8), share=d.choose(0.0, 0.5, 1.0))
    d.attrs.update(batch_size_per_images=("int", d.values["size"]), positive_fraction=("float", d.values["share"]))


@oracle("SubSample", family="boxes")
def sample(labels: Any, dice: Dice) -> Any:
    size, share = dice.values["size"], dice.values["share"]
    positive = min(int(np.sum(labels > 0)), int(size * share))
    negative = min(int(np.sum(labels == 0)), size - positive)

    def holds(got: Any) -> bool:
        same = all(new in (-1, old) for new, old in zip(got, labels, strict=True))
        return same and int(np.sum(got > 0)) == positive and int(np.sum(got == 0)) == negative

    return Any_(labels.shape, holds)


@shapes("PriorBox")
def prior_call(d: Dice) -> None:
    one, layout = d.wants("one element"), d.choose(formats.NCHW, formats.NHWC, formats.ND)
    plane = [0 if d.wants("empty") else 1 if one else d.int(1, 3), 1 if one else d.int(1, 3)]
    image = [d.int(20, 40), d.int(20, 40)]
    letters = LETTERS.get(layout, "NCHW")
    for name, (high, wide) in (("x", plane), ("img", image)):
        sizes = {"N": 1, "C": 1, "H": high, "W": wide}
        d.tensor(name, tuple(sizes[letter] for letter in letters), format=layout)
    many = d.chance()
    lists = {"min_size": [4.0, 6.0] if many else [4.0], "aspect_ratio": d.choose([2.0], [1.0, 2.0, 0.5], [])}
    lists["max_size"] = d.choose([], [9.0, 12.0] if many else [9.0])
    d.attrs.update({name: ("list_float", value) for name, value in lists.items()})
    d.values.update(lists, plane=plane, image=image)
    for name, value in (("img_h", 50), ("img_w", 60), ("step_h", 7.0), ("step_w", 5.0), ("flip", False), ("clip", True),
                        ("offset", 0.25), ("variance", [0.1, 0.1, 0.2, 0.2])):  # fmt: skip
        d.attr(name, value)
    d.output("y", format=formats.ND)


@oracle("PriorBox", family="boxes")
def prior(dice: Dice) -> Any:
    v = dice.values
    high, wide = v["img_h"] or v["image"][0], v["img_w"] or v["image"][1]
    sizes = []
    for k, least in enumerate(v["min_size"]):
        sizes.append((least, least))
        if v["max_size"]:
            sizes.append((math.sqrt(least * v["max_size"][k]),) * 2)
        seen = {1.0}
        for ratio in v["aspect_ratio"]:
            for one in (ratio, 1 / ratio) if v["flip"] else (ratio,):
                if one not in seen:
                    seen.add(one)
                    sizes.append((least * math.sqrt(one), least / math.sqrt(one)))
    rows = []
    for i, j, (w, h) in itertools.product(range(v["plane"][0]), range(v["plane"][1]), sizes):
        x = (j + v["offset"]) * (v["step_w"] or wide / v["plane"][1])
        y = (i + v["offset"]) * (v["step_h"] or high / v["plane"][0])
        box = [(x - w / 2) / wide, (y - h / 2) / high, (x + w / 2) / wide, (y + h / 2) / high]
        rows += [min(max(one, 0.0), 1.0) for one in box] if v["clip"] else box
    variance = list(v["variance"]) * (len(rows) if len(v["variance"]) == 1 else len(rows) // 4)
    return Within(np.array([rows, variance]).reshape(1, 2, len(rows), 1), 1e-6)


@shapes("PSROIPoolingV2", "PSROIPoolingGradV2D")
def regions_call(d: Dice) -> None:
    one, backward = d.wants("one element"), "Grad" in d.prototype.op_type
    images, plane = 1 if one else d.int(1, 2), [1 if one else d.int(1, 6) for _ in range(2)]
    size, out, count = 1 if one else d.int(1, 3), 1 if one else d.int(1, 2), min(count_of(d), 8)
    layout = d.choose(formats.NCHW, formats.NHWC, formats.ND)
    letters = LETTERS.get(layout, "NCHW")
    x = {"N": images, "C": out * size * size, "H": plane[0], "W": plane[1]}
    y = {"N": images * count, "C": out, "H": size, "W": size}
    given, result = (y, x) if backward else (x, y)
    d.tensor("x", d.rng.uniform(-2, 2, tuple(given[letter] for letter in letters)), format=layout)
    corners = d.rng.integers(-8, 32, (images, 2, count)) / 4 + 1 / 8
    ends = corners + d.rng.integers(0, 24, (images, 2, count)) / 4
    d.tensor("rois", np.concatenate([d.rng.integers(0, images, (images, 1, count)), corners, ends], axis=1))
    d.attrs.update(spatial_scale=("float", 0.5), output_dim=("int", out), group_size=("int", size))
    if backward:
        d.attrs["input_size"] = ("list_int", plane)
    d.output("y", d.dtype, tuple(result[letter] for letter in letters), layout)
    d.values.update(letters=letters, size=size, out=out, x=x, y=y)


def pooled(rois: Any, v: Any) -> Any:
    """(place in the pooled result, image, channel, rows, columns) of every bin."""
    size = v["size"]
    for batch, k in np.ndindex(rois.shape[0], rois.shape[2]):
        image, *corners = rois[batch, :, k]
        low, high = [round(one) * 0.5 for one in corners[:2]], [(round(one) + 1) * 0.5 for one in corners[2:]]
        for i, j, c in itertools.product(range(size), range(size), range(v["out"])):
            spans = []
            for at, length, place in ((1, v["x"]["H"], i), (0, v["x"]["W"], j)):
                each = max(high[at] - low[at], 0.1) / size
                first, last = math.floor(place * each + low[at]), math.ceil((place + 1) * each + low[at])
                spans.append(range(min(max(first, 0), length), min(max(last, 0), length)))
            yield (batch * rois.shape[2] + k, c, i, j), int(image), (c * size + i) * size + j, *spans


@oracle("PSROIPoolingV2", family="boxes")
def regions(x: Any, rois: Any, dice: Dice) -> Any:
    v = dice.values
    images, y = ordered(x, v["letters"], "NCHW"), np.zeros([v["y"][letter] for letter in "NCHW"])
    for place, image, channel, rows, columns in pooled(rois, v):
        values = [images[image, channel, r, s] for r in rows for s in columns]
        y[place] = math.fsum(values) / len(values) if values else 0.0
    return Within(ordered(y, "NCHW", v["letters"]), 1e-6)


@oracle("PSROIPoolingGradV2D", family="boxes")
def regions_grad(x: Any, rois: Any, dice: Dice) -> Any:
    v = dice.values
    grads, y = ordered(x, v["letters"], "NCHW"), np.zeros([v["x"][letter] for letter in "NCHW"])
    for place, image, channel, rows, columns in pooled(rois, v):
        for r, s in itertools.product(rows, columns):
            y[image, channel, r, s] += grads[place] / (len(rows) * len(columns))
    return Within(ordered(y, "NCHW", v["letters"]), 1e-5)
