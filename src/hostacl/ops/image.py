"""Images turned, mixed and scaled, and the grids of affine maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_shapes, equal_dims, rank_is, same_as

Array = NDArray[Any]


@kernel("ImgToTensor", shape=same_as("x"))
def img_to_tensor(x: Array) -> Array:
    """x / 255, in the order it comes in."""
    return x / np.float32(255)


def replaced_shape(call: Call) -> Shape:
    """The shape of bkg, which src has too; mask has one channel, or none."""
    bkg, src, mask = call.shape("bkg"), call.shape("src"), call.shape("mask")
    told = f"bkg = {dims.text(bkg)}, src = {dims.text(src)}, mask = {dims.text(mask)}"
    if len(bkg) != 3 or len(src) != 3 or len(mask) not in (2, 3):
        raise call.refuse("HA516", f"{told}; allowed: images of 3 dims, (H, W, C), and a mask of 2, or 3.")
    for one, other in zip(bkg, src, strict=True):
        equal_dims(call, one, other, f"{told}: both images must have one shape.")
    joined = broadcast_shapes(bkg, mask if len(mask) == 3 else (*mask, 1))
    if joined is None or (dims.known(*joined, *bkg) and joined != bkg):
        raise call.refuse("HA504", f"{told}; the mask must have the height and width of the images, and one channel or all.")
    return bkg


@kernel("BackgroundReplace", shape=replaced_shape, mixed=("mask",))
def background_replace(bkg: Array, src: Array, mask: Array) -> Array:
    """src·mask + bkg·(1 - mask), a mask of (H, W) for all channels; uint8 is held and cut off."""
    share = (mask if mask.ndim == 3 else mask[..., None]).astype(np.float32)
    return src * share + bkg * (1 - share)


def grid_shape(call: Call) -> Shape:
    """(N, H, W, 2) for output_size (N, C, H, W); (N, D, H, W, 3) for (N, C, D, H, W)."""
    theta = rank_is(call, "theta", 3)
    count = dims.count(call.shape("output_size"))
    if isinstance(count, int) and count not in (4, 5):
        raise call.refuse("HA504", f"output_size has {count} elements; allowed: 4 (N, C, H, W) or 5 (N, C, D, H, W).")
    if not isinstance(count, int):
        raise Unknown("output_size")
    wanted = (2, 3) if count == 4 else (3, 4)
    if dims.known(*theta[1:]) and theta[1:] != wanted:
        raise call.refuse("HA504", f"theta = {dims.text(theta)}; allowed: [N,{wanted[0]},{wanted[1]}] for {count} sizes.")
    if not call.known("output_size"):
        return (theta[0], *(Between() for _ in range(count - 2)), wanted[0])
    size = call.ints("output_size")
    if min(size) < 0:
        raise call.refuse("HA519", f"output_size = {list(size)}; allowed: each 0 or more.")
    equal_dims(call, theta[0], size[0], f"theta has {theta[0]} maps, output_size {size[0]} images; they must be equal.")
    return (theta[0], *size[2:], wanted[0])


@kernel("AffineGrid", shape=grid_shape, values=("output_size",))
def affine_grid(theta: Array, output_size: Array, align_corners: bool) -> Array:
    """For each element of an image (volume) the place that the affine map theta takes it from: x, y (z), -1 to 1 across it.

    With align_corners -1 and 1 are the middles of the outer elements, else their outer edges. It is what GridSampler2D takes.
    """
    sizes = [int(one) for one in np.ravel(output_size)][2:]
    axes = [steps(size, align_corners) for size in sizes]
    mesh = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*mesh[::-1], np.ones(sizes)], axis=-1)
    y = base.reshape(1, -1, len(sizes) + 1) @ theta.astype(np.float64).swapaxes(1, 2)
    return y.reshape(len(theta), *sizes, len(sizes))


def steps(size: int, align: bool) -> Array:
    """The places of the elements along an axis; a single one lies in the middle."""
    if size <= 1:
        return np.zeros(size)
    whole = np.linspace(-1, 1, size)
    return whole if align else whole * (size - 1) / size
