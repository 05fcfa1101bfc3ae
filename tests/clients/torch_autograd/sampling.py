"""Images resized, sampled at a grid, in regions, and where a deformable convolution looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hostacl.tensors import formats
from tests.clients.torch_autograd.convolutions import ordered, sized
from tests.clients.torch_autograd.support import Array, Case, Draw, exact, gradient, leaf, pulled, torch

F = torch.nn.functional


def taken(x: Any, axis: int, places: Any) -> Any:
    """Elements of x between others: at broken places along an axis, linear."""
    low = places.floor().clamp(0, x.shape[axis] - 1)
    high = (low + 1).clamp(max=x.shape[axis] - 1)
    part = (places - low).clamp(0, 1).reshape([-1 if at == axis % x.ndim else 1 for at in range(x.ndim)])
    return x.index_select(axis, low.long()) * (1 - part) + x.index_select(axis, high.long()) * part


def backward(d: Draw, shape: Sequence[int], function: Any) -> tuple[Array, Any]:
    """A gradient of what a function of an image gives, and that of the image."""
    at = leaf(d.normal(*shape))
    y = function(at)
    dy = d.normal(*y.shape)
    return dy, pulled(y, dy, at)[0]


PLANES = (
    ((1, 2, 5, 4), (8, 7)), ((2, 1, 8, 9), (4, 3)), ((1, 3, 4, 4), (1, 6)), ((2, 2, 3, 1), (3, 5)), ((0, 2, 4, 4), (2, 8)),
)  # fmt: skip
"""Images, and the height and width that they are resized to."""

WAYS: tuple[dict[str, bool], ...] = ({}, {"align_corners": True}, {"half_pixel_centers": True})


def corner_aligned(old: int, new: int) -> Any:
    """The places of a resized axis whose outer elements stay where they are."""
    return torch.arange(new, dtype=torch.float64) * ((old - 1) / (new - 1) if new > 1 else 0.0)


@gradient("ResizeNearestNeighborV2Grad", "ResizeNearestNeighborV2GradD")
def nearest(d: Draw) -> Iterator[Case]:
    """torch has it as nearest and nearest-exact; corners aligned by index."""
    for shape, size in PLANES:
        for way in WAYS:

            def resized(x: Any, size: Any = size, way: Any = way) -> Any:
                if "align_corners" not in way:
                    return F.interpolate(x, size, mode="nearest-exact" if way else "nearest")
                rows, columns = (corner_aligned(*one) + 0.5 for one in zip(x.shape[2:], size, strict=True))
                return x.index_select(2, rows.floor().long()).index_select(3, columns.floor().long())

            dy, want = backward(d, shape, resized)
            for layout in ("NCHW", "NHWC"):
                inputs, layouts, wanted = [ordered(dy, layout)], [formats.CODES[layout]], [ordered(want, layout)]
                if d.op.endswith("D"):
                    yield Case(inputs, wanted, {**way, "size": list(shape[2:])}, layouts)
                else:
                    yield Case([*inputs, sized(shape[2:])], wanted, way, [*layouts, formats.ND], const=[1])


@gradient("ResizeBilinearV2Grad")
def bilinear(d: Draw) -> Iterator[Case]:
    """torch has it with half pixels and with corners aligned; the old way, i·old/new, by index."""
    for shape, size in PLANES:
        for way in WAYS:

            def resized(x: Any, size: Any = size, way: Any = way) -> Any:
                if way:
                    return F.interpolate(x, size, mode="bilinear", align_corners="align_corners" in way)
                places = [torch.arange(new).double() * old / new for old, new in zip(x.shape[2:], size, strict=True)]
                return taken(taken(x, 2, places[0]), 3, places[1])

            dy, want = backward(d, shape, resized)
            for layout in ("NCHW", "NHWC"):
                image = np.zeros([shape["NCHW".index(letter)] for letter in layout], d.dtype)
                yield Case([ordered(dy, layout), image], [ordered(want, layout)], way, formats.CODES[layout])


@gradient("ResizeBicubicGrad")
def bicubic(d: Draw) -> Iterator[Case]:
    """Without half pixels the coefficient is torch's; places i·old/new and those with corners aligned by index."""
    for shape, size in PLANES:
        for way in ({}, {"align_corners": True}):

            def resized(x: Any, size: Any = size, way: Any = way) -> Any:
                if way:
                    return F.interpolate(x, size, mode="bicubic", align_corners=True)
                for axis, new in zip((2, 3), size, strict=True):
                    x = cubic(x, axis, torch.arange(new).double() * x.shape[axis] / new)
                return x

            dy, want = backward(d, shape, resized)
            for layout in ("NCHW", "NHWC"):
                image = np.zeros([shape["NCHW".index(letter)] for letter in layout], np.float64)
                given = ordered(dy, layout)
                yield Case([given, image], [ordered(want, layout)], way, formats.CODES[layout])
                yield Case([given, image.astype(d.dtype)], [ordered(want, layout)], way, formats.CODES[layout])


def cubic(x: Any, axis: int, places: Any) -> Any:
    """Elements of x between others: at broken places along an axis, by Keys' cubic with -0.75."""
    low, total = places.floor(), 0.0
    for step in (-1, 0, 1, 2):
        away = (places - low - step).abs()
        near = (1.25 * away - 2.25) * away**2 + 1
        weight = torch.where(away <= 1, near, -0.75 * (((away - 5) * away + 8) * away - 4))
        part = x.index_select(axis, (low + step).clamp(0, x.shape[axis] - 1).long())
        total = total + part * weight.reshape([-1 if at == axis else 1 for at in range(x.ndim)])
    return total


TORCHS = (
    ("nearest", {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, {}),
    ("nearest-exact", {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}, {}),
    ("linear", {"mode": "linear"}, {"align_corners": False}),
    ("linear", {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, {"align_corners": True}),
    ("cubic", {"mode": "cubic", "cubic_coeff_a": -0.75}, {"align_corners": False}),
    ("cubic", {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}, {"align_corners": True}),
)
"""How torch names what ONNX's Resize does with these attributes."""

NAMES = {("linear", 4): "bilinear", ("linear", 5): "trilinear", ("cubic", 4): "bicubic"}
SIZES = (((2, 3, 5), (8,)), ((1, 2, 8), (3,)), *PLANES[:4], ((1, 2, 3, 4, 5), (6, 4, 3)))


@gradient("ResizeGrad", "ResizeGradD")
def onnx(d: Draw) -> Iterator[Case]:
    for shape, size in SIZES:
        for name, attrs, options in TORCHS:
            mode = NAMES.get((name, len(shape)), name)
            if mode == "cubic":
                continue  # torch has it for planes only
            dy, want = backward(d, shape, lambda x, to=size, how=mode, more=options: F.interpolate(x, to, mode=how, **more))
            if d.op.endswith("D"):
                yield Case([dy], [want], {**attrs, "original_size": list(shape)})
            else:
                yield Case([dy, None, None, np.array(shape, np.int64)], [want], attrs, const=[3])


VOLUMES = (((1, 2, 3, 4, 5), (6, 4, 3)), ((2, 1, 4, 3, 2), (2, 6, 5)), ((0, 1, 2, 2, 2), (3, 3, 3)))


@gradient("UpsampleNearest3dGrad", "UpsampleTrilinear3dGrad")
def volumes(d: Draw) -> Iterator[Case]:
    mode = "trilinear" if "Trilinear" in d.op else "nearest"
    for shape, size in VOLUMES:
        for corners in ({"align_corners": False}, {"align_corners": True}) if mode == "trilinear" else ({},):
            dy, want = backward(d, shape, lambda x, to=size, more=corners: F.interpolate(x, to, mode=mode, **more))
            yield Case([dy], [want], {"input_size": list(shape), "output_size": list(size), **corners}, formats.NCDHW)
            scales = [2.0, 1.5, 0.75]
            if 0 in shape:
                continue
            dy, want = backward(d, shape, lambda x, by=scales, more=corners: F.interpolate(
                x, scale_factor=by, mode=mode, recompute_scale_factor=False, **more))  # fmt: skip
            yield Case([dy], [want], {"input_size": list(shape), "scales": scales, **corners}, formats.NCDHW)


@gradient("UpsampleNearest1dGrad")
def lines(d: Draw) -> Iterator[Case]:
    for shape, size in (((2, 3, 5), 8), ((1, 2, 8), 3), ((0, 2, 4), 2), ((2, 1, 1), 3)):
        dy, want = backward(d, shape, lambda x, to=size: F.interpolate(x, to, mode="nearest"))
        yield Case([dy], [want], {"input_size": list(shape), "output_size": [size]})
        if 0 not in shape:
            dy, want = backward(d, shape, lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest"))
            yield Case([dy], [want], {"input_size": list(shape), "output_size": [], "scales": [1.5]})


@gradient("GridSampler2DGrad", "GridSampler3DGrad")
def grids(d: Draw) -> Iterator[Case]:
    """Positions inside, beyond the edges and far away."""
    three = "3D" in d.op
    shapes = [((2, 3, 3, 5, 4), (2, 2, 3, 4, 3)), ((1, 2, 2, 1, 3), (1, 1, 2, 2, 3))] if three else [
        ((2, 3, 5, 4), (2, 4, 6, 2)), ((1, 2, 1, 3), (1, 3, 3, 2)), ((0, 2, 3, 3), (0, 2, 2, 2))]  # fmt: skip
    for shape, places in shapes:
        for mode in ("bilinear", "nearest") if three else ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                for corners in (False, True):
                    x, grid = d.normal(*shape), d.between(-1.7, 1.7, *places)
                    grid[:, ::2] = np.round(grid[:, ::2].astype(np.float64) * 2) / 2  # at edges and at pixels
                    at, by = leaf(x), leaf(grid)
                    y = F.grid_sample(at, by, mode, padding, corners)
                    dy = d.normal(*y.shape)
                    attrs = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": corners}
                    layout = formats.NCDHW if three else formats.NCHW
                    yield Case([dy, x, grid], pulled(y, dy, at, by), attrs, layout, times=16)


def at_pixels(planes: Any, rows: Any, columns: Any, padding: str) -> Any:
    """Planes (C, H, W) at broken rows and columns of pixels, which have one shape of two dims."""
    height, width = planes.shape[1:]
    across, down = (2 * columns / max(width - 1, 1) - 1, 2 * rows / max(height - 1, 1) - 1)
    return F.grid_sample(planes[None], torch.stack([across, down], -1)[None], "bilinear", padding, True)[0]


def aligned(x: Any, rois: Any, scale: float, pooled: Sequence[int], points: int, mode: int) -> Any:
    """Regions pooled from points between pixels: the mean of points x points (0: one for each pixel begun) in each bin."""
    found = []
    for image, *ends in rois.tolist():
        shift, longer = 0.5 if mode == 2 else 0.0, 1.0 if mode in (1, 3) else 0.0
        axes = []
        for axis, (first, last) in enumerate(((ends[1], ends[3]), (ends[0], ends[2]))):
            start, end = first * scale - shift, (last + longer) * scale - shift
            length = max(end - start, {2: -np.inf, 3: 0.0}.get(mode, 1.0))
            count = points or int(np.ceil(length / pooled[axis]))
            steps = torch.arange(pooled[axis] * count, dtype=torch.float64)
            axes.append((start + (steps + 0.5) * (length / pooled[axis] / count), count))
        (rows, down), (columns, across) = axes
        height, width = x.shape[2:]
        inside = ((rows >= -1) & (rows <= height))[:, None] & ((columns >= -1) & (columns <= width))[None]
        rows, columns = torch.meshgrid(rows.clamp(0, height - 1), columns.clamp(0, width - 1), indexing="ij")
        sampled = at_pixels(x[int(image)], rows, columns, "border") * inside
        found.append(F.avg_pool2d(sampled, (down, across)))
    return torch.stack(found)


@gradient("ROIAlignGrad")
def regions(d: Draw) -> Iterator[Case]:
    rois = np.array([[0, 0, 0, 7, 5], [1, 2.5, 1.25, 9.5, 7], [0, -3, 2, 3, 12], [1, 4, 4, 4.25, 4.5]], np.float32)
    shape, pooled = (2, 3, 6, 7), (2, 3)
    for scale in (1.0, 0.5):
        for points in (2, 1, 0):
            for mode in (0, 1, 2, 3):
                def forward(x: Any, how: Any = (scale, pooled, points, mode)) -> Any:
                    return aligned(x, exact(rois), *how)

                dy, want = backward(d, shape, forward)
                attrs = {"xdiff_shape": list(shape), "pooled_height": pooled[0], "pooled_width": pooled[1],
                         "spatial_scale": scale, "sample_num": points, "roi_end_mode": mode}  # fmt: skip
                yield Case([dy, rois, None], [want], attrs, [formats.NCHW, formats.ND, formats.ND])


def position_sensitive(x: Any, rois: Any, scale: float, out: int, size: int) -> Any:
    """Regions pooled so that each bin has channels of its own: the mean of the whole pixels that it reaches."""
    found = []
    for image, *ends in rois.tolist():
        parts = x[int(image)].reshape(out, size, size, *x.shape[2:])
        low = [np.floor(ends[at] + 0.5) * scale for at in (1, 0)]
        each = [max((np.floor(ends[at + 2] + 0.5) + 1) * scale - low[1 - at], 0.1) / size for at in (1, 0)]
        for i in range(size):
            for j in range(size):
                cuts = [
                    slice(*np.clip([int(np.floor(at * step + first)), int(np.ceil((at + 1) * step + first))], 0, extent))
                    for at, step, first, extent in zip((i, j), each, low, x.shape[2:], strict=True)
                ]
                cut = parts[:, i, j, cuts[0], cuts[1]]
                found.append(cut.mean((1, 2)) if cut.numel() else torch.zeros(out, dtype=torch.float64))
    return torch.stack(found).reshape(len(rois), size, size, out).permute(0, 3, 1, 2)


@gradient("PSROIPoolingGradV2D")
def positions(d: Draw) -> Iterator[Case]:
    """rois are (images, 5, regions)."""
    rows = np.array([[0, 0, 0, 7, 5], [1, 2, 1, 9, 7], [1, -3, 2, 3, 12], [0, 20, 20, 30, 30]])
    rois = d.typed(rows.reshape(2, 2, 5).transpose(0, 2, 1))
    for out, size, scale, plane in ((2, 2, 1.0, (6, 7)), (1, 3, 0.5, (8, 5))):
        dy, want = backward(d, (2, out * size * size, *plane), lambda x, a=scale, b=out, c=size: position_sensitive(
            x, exact(rows), a, b, c))  # fmt: skip
        attrs = {"spatial_scale": scale, "output_dim": out, "group_size": size, "input_size": list(plane)}
        yield Case([dy, rois], [want], attrs, [formats.NCHW, formats.ND])


def deformed(x: Any, offsets: Any, geometry: Any, groups: int, modulated: bool) -> Any:
    """What each filter element meets, as an image (N, C, kh·oh, kw·ow): x offsets first, then y offsets, then masks."""
    (kh, kw), stride, pads, dilation = geometry
    images, channels, (high, wide) = x.shape[0], x.shape[1] // groups, offsets.shape[2:]
    planes = offsets.reshape(images, -1, groups, kh, kw, high, wide)
    result = []
    for image in range(images):
        for group in range(groups):
            part = x[image, group * channels : (group + 1) * channels]
            for i in range(kh):
                for j in range(kw):
                    rows = torch.arange(high)[:, None] * stride[0] + i * dilation[0] - pads[0]
                    columns = torch.arange(wide)[None] * stride[1] + j * dilation[1] - pads[2]
                    across, down = planes[image, 0, group, i, j], planes[image, 1, group, i, j]
                    met = at_pixels(part, rows + down, columns + across, "zeros")
                    result.append(met * planes[image, 2, group, i, j] if modulated else met)
    shaped = torch.stack(result).reshape(images, groups, kh, kw, channels, high, wide)
    return shaped.permute(0, 1, 4, 5, 2, 6, 3).reshape(images, groups * channels, high * kh, wide * kw)


@gradient("DeformableOffsetsGrad")
def deformable(d: Draw) -> Iterator[Case]:
    """The offsets are drawn so that none is whole, where the slope jumps."""
    for shape, geometry, groups in (
        ((2, 4, 6, 5), ((3, 2), (1, 2), (1, 1, 0, 0), (1, 1)), 2),
        ((1, 3, 7, 6), ((2, 2), (2, 1), (0, 1, 1, 0), (2, 1)), 1),
    ):
        kernel, stride, pads, dilation = geometry
        out = [
            (shape[2 + at] + pads[2 * at] + pads[2 * at + 1] - (kernel[at] - 1) * dilation[at] - 1) // stride[at] + 1
            for at in (0, 1)
        ]
        for modulated in (True, False):
            planes = (3 if modulated else 2) * groups * kernel[0] * kernel[1]
            offsets = d.typed(d.whole(-2, 2, shape[0], planes, *out) + d.whole(1, 8, shape[0], planes, *out) / 8)
            x = d.normal(*shape)
            at, by = leaf(x), leaf(offsets)
            y = deformed(at, by, geometry, groups, modulated)
            dy = d.normal(*y.shape)
            want = pulled(y, dy, at, by)
            attrs = {"strides": [1, 1, *stride], "pads": list(pads), "ksize": list(kernel), "dilations": [1, 1, *dilation],
                     "data_format": "NCHW", "deformable_groups": groups, "modulated": modulated}  # fmt: skip
            yield Case([dy, x, offsets], want, attrs, formats.NCHW)
