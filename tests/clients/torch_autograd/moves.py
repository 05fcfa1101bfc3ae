"""What only moves or sums elements: gathering, padding, slicing, adding a bias; and distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hostacl.tensors import formats
from tests.clients.torch_autograd.convolutions import sized
from tests.clients.torch_autograd.support import Case, Draw, exact, gradient, leaf, numpy_of, pulled, torch

F = torch.nn.functional


@gradient("EmbeddingDenseGrad")
def embedding(d: Draw) -> Iterator[Case]:
    for shape, kind in (((6,), np.int32), ((3, 4), np.int64), ((2, 3, 2), np.int32), ((0,), np.int32), ((40,), np.int64)):
        for padding in (-1, 2):
            for by_frequency in (False, True):
                indices, dy = d.whole(0, 7, *shape, dtype=kind), d.normal(*shape, 5)
                at = leaf(np.zeros((7, 5)))
                idle = None if padding < 0 else padding
                y = F.embedding(exact(indices).long(), at, padding_idx=idle, scale_grad_by_freq=by_frequency)
                attrs = {"num_weights": 7, "padding_idx": padding, "scale_grad_by_freq": by_frequency}
                yield Case([dy, indices], pulled(y, dy, at), attrs)


@gradient("UnsortedSegmentSum")
def gathered(d: Draw) -> Iterator[Case]:
    """The gradient of gathering rows, as clients ask for it."""
    for rows, width in ((9, (3,)), (5, ()), (0, (2, 2))):
        ids, dy = d.whole(0, 6, rows), d.normal(rows, *width)
        at = leaf(np.zeros((6, *width)))
        count = np.array(6, np.int32)
        yield Case([dy, ids, count], pulled(at.index_select(0, exact(ids).long()), dy, at), const=[2])


@gradient("ScatterElements")
def gathered_elements(d: Draw) -> Iterator[Case]:
    """The gradient of torch's gather: added up where elements were taken several times."""
    for shape, places, axis in (((4, 5), (6, 5), 0), ((4, 5), (3, 2), -1), ((2, 3, 4), (2, 7, 3), 1), ((3,), (0,), 0)):
        for kind in (np.int32, np.int64):
            indices, at = d.whole(0, shape[axis], *places, dtype=kind), leaf(np.zeros(shape))
            dy = d.normal(*places)
            want = pulled(torch.gather(at, axis, exact(indices).long()), dy, at)
            yield Case([np.zeros(shape, d.dtype), indices, dy], want, {"axis": axis, "reduction": "add"})


@gradient("ScatterNd")
def gathered_points(d: Draw) -> Iterator[Case]:
    """The gradient of gathering slices at points, as GatherNd does."""
    for shape, points, depth in (((4, 5), (7,), 2), ((4, 5), (2, 3), 1), ((2, 3, 4), (6,), 2), ((5,), (0,), 1)):
        indices = np.stack([d.whole(0, shape[axis], *points) for axis in range(depth)], axis=-1)
        at = leaf(np.zeros(shape))
        y = at[tuple(exact(indices).long().unbind(-1))]
        dy = d.normal(*y.shape)
        yield Case([indices, dy, sized(shape)], pulled(y, dy, at), const=[2])


@gradient("IndexAdd")
def selected(d: Draw) -> Iterator[Case]:
    """The gradient of torch's index_select."""
    for shape, count, axis in (((4, 5), 7, 0), ((2, 3, 4), 5, 1), ((3, 2), 0, 0)):
        indices, at = d.whole(0, shape[axis], count), leaf(np.zeros(shape))
        y = at.index_select(axis, exact(indices).long())
        dy = d.normal(*y.shape)
        yield Case([np.zeros(shape, d.dtype), indices, dy], pulled(y, dy, at), {"axis": axis})


@gradient("RepeatInterleaveGrad")
def repeated(d: Draw) -> Iterator[Case]:
    """One number for all, and one for each element, 0 among them."""
    for shape, axis in (((4,), 0), ((3, 4), -1), ((2, 4, 3), 1), ((4, 0), 0)):
        for times in ([3], [2, 0, 1, 3]):
            for kind in (np.int32, np.int64):
                if len(times) not in (1, shape[axis]):
                    continue
                repeats, at = np.array(times, kind), leaf(np.zeros(shape))
                y = at.repeat_interleave(exact(repeats).long() if len(times) > 1 else times[0], axis)
                dy = d.normal(*y.shape)
                yield Case([dy, repeats], pulled(y, dy, at), {"axis": axis}, const=[1])


@gradient("ArgMaxGrad")
def largest(d: Draw) -> Iterator[Case]:
    """The gradient of the largest elements goes back to where they were; the rest of var stays, here zeros."""
    for shape, dimension in (((4, 5), 1), ((4, 5), 0), ((2, 3, 4), -2), ((6,), 0)):
        x = leaf(d.normal(*shape))
        values, places = torch.max(x, dimension)
        dy = d.normal(*values.shape)
        var = np.zeros(shape, d.dtype)
        yield Case([var, numpy_of(places).astype(np.int32), dy], pulled(values, dy, x), {"dimension": dimension})


@gradient("BiasAddGrad")
def bias(d: Draw) -> Iterator[Case]:
    for shape in ((3, 4), (2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 2, 2), (0, 3, 2, 2)):
        for data_format in ("NCHW", "NHWC"):
            place = len(shape) - 1 if data_format == "NHWC" else 1
            at, dy = leaf(np.zeros(shape[place])), d.normal(*shape)
            y = torch.zeros(shape).double() + at.reshape([-1 if axis == place else 1 for axis in range(len(shape))])
            yield Case([dy], pulled(y, dy, at), {"data_format": data_format})


@gradient("StridedSliceGrad", "StridedSliceGradD")
def slices(d: Draw) -> Iterator[Case]:
    """torch has no steps back: an axis is turned before it is cut."""
    for shape, begin, end, strides, masks in (
        ((5, 6), (1, 0), (4, 6), (2, 1), {}),
        ((5, 6), (0, -5), (3, -1), (1, 3), {"begin_mask": 1}),
        ((4, 3, 5), (1, 2), (3, 2), (1, 2), {"begin_mask": 2, "end_mask": 2, "ellipsis_mask": 0}),
        ((4, 3, 5), (1, 0, 0), (2, 0, 5), (1, 1, 2), {"shrink_axis_mask": 1, "ellipsis_mask": 2}),
        ((4, 6), (3, 5), (0, -7), (-1, -2), {}),
        ((4, 6), (0, 1, 0), (1, 3, 6), (1, 1, 1), {"new_axis_mask": 1}),
        ((5,), (2,), (2,), (1,), {}),
    ):
        index = []
        for place, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
            bits = {name: bool(mask >> place & 1) for name, mask in masks.items()}
            if bits.get("ellipsis_mask"):
                index.append(...)
            elif bits.get("new_axis_mask"):
                index.append(None)
            elif bits.get("shrink_axis_mask"):
                index.append(first)
            else:
                index.append(slice(None if bits.get("begin_mask") else first, None if bits.get("end_mask") else last, step))
        at = leaf(d.normal(*shape))
        places = np.arange(at.numel()).reshape(shape)[tuple(index)]  # by NumPy's rules of slices
        y = at.reshape(-1)[exact(places).long()]
        dy = d.normal(*y.shape)
        lists = (shape, begin, end, strides)
        if d.op.endswith("D"):
            names = ("shape", "begin", "end", "strides")
            yield Case([dy], pulled(y, dy, at), {**dict(zip(names, map(list, lists), strict=True)), **masks})
        else:
            yield Case([*map(sized, lists), dy], pulled(y, dy, at), masks, const=[0, 1, 2, 3])


MODES = {"reflect": "reflect", "edge": "replicate", "circular": "circular", "constant": "constant"}
"""Our names of torch's paddings."""


@gradient("PadV3Grad")
def pads(d: Draw) -> Iterator[Case]:
    """torch pads the last dims; reflect, edge and circular need two dims in front."""
    for shape, last in (((2, 3, 5), (2, 1)), ((1, 2, 4, 5), (1, 3, 2, 0)), ((1, 2, 3, 4, 5), (2, 1, 0, 3, 1, 2))):
        for mode, name in MODES.items():
            at = leaf(d.normal(*shape))
            y = F.pad(at, last, mode=name)
            dy = d.normal(*y.shape)
            pairs = [(0, 0)] * (len(shape) - len(last) // 2) + [last[at : at + 2] for at in range(len(last) - 2, -1, -2)]
            want = pulled(y, dy, at)
            yield Case([dy, sized([each for pair in pairs for each in pair])], want, {"mode": mode}, const=[1])
            apart = sized([pair[side] for side in (0, 1) for pair in pairs])
            yield Case([dy, apart], want, {"mode": mode, "paddings_contiguous": False}, const=[1])
    at = leaf(d.normal(2, 3, 5))
    y = F.pad(at, (-1, 2, 1, -2), mode="constant")  # cut off here, padded there
    dy = d.normal(*y.shape)
    yield Case([dy, sized([0, 0, 1, -2, -1, 2])], pulled(y, dy, at), {"mode": "constant"}, const=[1])


@gradient("MirrorPadGrad")
def mirrors(d: Draw) -> Iterator[Case]:
    """SYMMETRIC, which torch lacks, repeats the border element: by index."""
    for shape, pairs in (((5,), [(2, 3)]), ((4, 3), [(1, 2), (2, 0)]), ((2, 3, 4), [(0, 1), (1, 1), (3, 2)])):
        for mode in ("REFLECT", "SYMMETRIC"):
            at = leaf(d.normal(*shape))
            y = at
            for axis, (before, after) in enumerate(pairs):
                places = np.pad(np.arange(shape[axis]), (before, after), mode=mode.lower())
                y = y.index_select(axis, exact(places).long())
            dy = d.normal(*y.shape)
            yield Case([dy, sized(pairs)], pulled(y, dy, at), {"mode": mode}, const=[1])


@gradient("CdistGrad")
def distances(d: Draw) -> Iterator[Case]:
    """Some rows are equal: the gradient of a distance of 0 is 0."""
    for lead, rows, others, width in (((), 4, 5, 3), ((2,), 3, 4, 2), ((2, 1), 1, 3, 6), ((), 3, 0, 2)):
        for p in (2.0, 1.0, 3.0, 1.5, 0.5, float("inf"), 0.0):
            x1, x2 = d.normal(*lead, rows, width), d.normal(*lead, others, width)
            if others:
                x2[..., 0, :] = x1[..., 0, :]
            at = leaf(x1)
            y = torch.cdist(at, exact(x2), p)
            dy = d.normal(*y.shape)
            yield Case([dy, x1, x2, d.typed(numpy_of(y))], pulled(y, dy, at), {"p": p}, rounded=True)


@gradient("Col2im")
def unfolded(d: Draw) -> Iterator[Case]:
    """The gradient of cutting an image into columns, which torch calls unfold."""
    for shape, size, stride, pads, dilation in (((2, 3, 6, 5), (2, 3), (1, 2), (0, 1), (1, 1)),
                                                ((1, 2, 7, 8), (3, 2), (2, 1), (1, 0), (2, 3))):  # fmt: skip
        at = leaf(np.zeros(shape))
        y = F.unfold(at, size, dilation, pads, stride)
        dy = d.normal(*y.shape)
        attrs: dict[str, Any] = {"kernel_size": list(size), "stride": list(stride), "padding": list(pads),
                                 "dilation": list(dilation)}  # fmt: skip
        columns = dy.reshape(shape[0], shape[1], size[0] * size[1], -1)
        yield Case([columns, sized(shape[2:])], pulled(y, dy, at), attrs, [formats.NCHW, formats.ND], const=[1])
