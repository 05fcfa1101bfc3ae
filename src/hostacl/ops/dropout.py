"""Dropout: masks of random bits or bytes, and the operators that apply them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, philox
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.random_values import next_draw, one_element, placed, probability, shape_named, whole
from hostacl.ops.registry import kernel
from hostacl.ops.schema import AttrDecl, Generation, TensorDecl
from hostacl.tensors import dtypes

Array = NDArray[Any]

BITS, BYTES = 128, 16
"""Bit masks are rounded up to 128 bits, byte masks to 16 bytes."""


def rounded_up(count: Dim, block: int) -> Dim:
    """A number of elements rounded up to whole blocks."""
    if isinstance(count, Between):
        return (count + (block - 1)) // block * block
    return -(-count // block) * block


def bit_mask_shape(call: Call) -> Shape:
    """The bytes of a bit mask: one bit an element, rounded up to 128 bits."""
    probability(call)
    return (rounded_up(dims.count(shape_named(call)), BITS) // 8,)


def byte_mask_shape(call: Call) -> Shape:
    """The bytes of a byte mask: one an element, rounded up to 16."""
    probability(call)
    return (rounded_up(dims.count(shape_named(call)), BYTES),)


def random_bits(count: int, prob: Array, key: int, counter: int) -> Array:
    """True with probability ``prob``: a Philox word below prob · 2^32."""
    limit = round(float(prob.reshape(())) * 2.0**32)
    result = np.empty(count, bool)
    for place, words in philox.blocks(count, key, counter):
        result[place] = words.astype(np.uint64) < np.uint64(limit)
    return result


def packed(bits: Array, size: int) -> Array:
    """Bits as bytes, the first one in the lowest place, filled up with 0."""
    result = np.zeros(size, np.uint8)
    filled = np.packbits(bits, bitorder="little")
    result[: filled.size] = filled
    return result


def stateless_mask_shape(call: Call) -> Shape:
    """The bytes of the mask; one seed each, an offset of one or two numbers."""
    one_element(call, "seed", "seed1")
    if call.has("offset"):
        size = dims.count(call.shape("offset"))
        if isinstance(size, int) and size not in (1, 2):
            raise call.refuse("HA504", f"offset = {dims.text(call.shape('offset'))}; allowed: one element or two.")
    return bit_mask_shape(call)


@kernel("StatelessDropOutGenMask", shape=stateless_mask_shape, values=("shape", "prob"))
def stateless_drop_out_gen_mask(shape: Any, prob: Array, seed: Array, seed1: Array, offset: Array | None) -> Array:
    """A mask of random bits for a tensor of this shape, 1 with probability ``prob``, the part that is kept.

    ceil(elements / 128) · 16 bytes, the first element in the lowest bit, filled up with 0. Bit i is whether word i of Philox
    4x32-10 is below prob · 2^32; its key is seed + seed1 · 2^32, its counter starts at offset[0] + offset[1] · 2^64.
    """
    count = int(np.prod(placed(shape)))
    parts = (0,) if offset is None else map(int, offset.ravel())
    bits = random_bits(count, prob, philox.key_of(whole(seed), whole(seed1)), philox.counter_of(*parts))
    return packed(bits, -(-count // BITS) * BYTES)


@kernel("DropOutGenMask", shape=bit_mask_shape, values=("shape", "prob"))
def drop_out_gen_mask(shape: Any, prob: Array, seed: int, seed2: int) -> Array:
    """A mask of random bits, as StatelessDropOutGenMask's; each call in a process goes on with the seeds' numbers."""
    count = int(np.prod(placed(shape)))
    bits = random_bits(count, prob, philox.key_of(seed, seed2), philox.counter_of(0, next_draw()))
    return packed(bits, -(-count // BITS) * BYTES)


@kernel("DropOutGenMaskV3", shape=byte_mask_shape, values=("shape", "prob"))
def drop_out_gen_mask_v3(shape: Any, prob: Array, seed: int, seed2: int) -> Array:
    """A mask of random bytes, each 1 with probability ``prob``, else 0; filled up with 0 to a multiple of 16 bytes.

    Each call in a process goes on with the seeds' numbers.
    """
    count = int(np.prod(placed(shape)))
    result = np.zeros(-(-count // BYTES) * BYTES, np.uint8)
    result[:count] = random_bits(count, prob, philox.key_of(seed, seed2), philox.counter_of(0, next_draw()))
    return result


def plain_mask_shape(call: Call) -> Shape:
    """The dims named."""
    probability(call)
    return shape_named(call)


@kernel("DropOutGenMaskV4", shape=plain_mask_shape, values=("shape", "prob"))
def drop_out_gen_mask_v4(shape: Any, prob: Array, seed: int, seed2: int) -> Array:
    """A mask in the shape named, true with probability ``prob``; each call in a process goes on with the seeds' numbers."""
    where = placed(shape)
    bits = random_bits(int(np.prod(where)), prob, philox.key_of(seed, seed2), philox.counter_of(0, next_draw()))
    return bits.reshape(where)


def masked_shape(call: Call) -> Shape:
    """The shape of x; the mask has enough elements, keep_prob one."""
    shape = call.shape("x")
    size, given = dims.count(shape), dims.count(call.shape("mask"))
    if isinstance(size, int) and isinstance(given, int):
        bits = call.op_type == "DropOutDoMask" and call.dtype("mask") == dtypes.UINT8
        need = mask_bytes(size) if bits else size
        if given < need:
            what = f"{need} bytes, one bit an element rounded up to {BITS} bits" if bits else f"{need} elements, one for each"
            raise call.refuse("HA504", f"mask = {dims.text(call.shape('mask'))} for x = {dims.text(shape)}; needed: {what}.")
    if "keep_prob" in call.inputs:
        one_element(call, "keep_prob")
    return shape


def mask_bytes(size: int) -> int:
    """The bytes of a mask of one bit an element."""
    return -(-size // BITS) * BYTES


def keep(x: Array, kept: Array, keep_prob: Any) -> Array:
    """x / keep_prob where kept, else 0."""
    zero = x.dtype.type(0)
    share = np.asarray(keep_prob).astype(x.dtype).reshape(())
    return np.where(kept[: x.size].reshape(x.shape), x / share, zero)


@kernel("DropOutDoMask", shape=masked_shape)
def drop_out_do_mask(x: Array, mask: Array, keep_prob: Array, call: Call) -> Array:
    """x / keep_prob where the mask's bit is 1, else 0 (also for NaN), the first element in the lowest bit of the first byte.

    The mask has ceil(elements / 128) · 16 bytes or more, as StatelessDropOutGenMask makes it, or type uint1.
    """
    bits = mask.ravel() != 0
    if call.dtype("mask") == dtypes.UINT8:
        bits = np.unpackbits(np.ascontiguousarray(mask).ravel()[: -(-x.size // 8)], bitorder="little")
    return keep(x, bits != 0, keep_prob)


@kernel("DropOutDoMaskV3", "DropOutDoMaskV3D", shape=masked_shape)
def drop_out_do_mask_v3(x: Array, mask: Array, keep_prob: Any) -> Array:
    """x / keep_prob where the mask is not 0, else 0 (also for NaN); one byte or bool an element, more are not read."""
    return keep(x, mask.ravel() != 0, keep_prob)


FLOATS = (dtypes.FLOAT, dtypes.FLOAT16, dtypes.DOUBLE)

AS_ONNX = Generation(
    (TensorDecl("x", "required", FLOATS), TensorDecl("ratio", "optional", FLOATS),
     TensorDecl("training_mode", "optional", (dtypes.BOOL,))),
    (TensorDecl("y", "required", FLOATS), TensorDecl("mask", "optional", (dtypes.BOOL,))),
    {name: AttrDecl(name, kind, False, default) for name, kind, default in
     (("dropout_ratio", "float", 0.5), ("scale_train", "bool", True), ("alpha", "float", 1.0), ("beta", "float", 0.0),
      ("seed", "int", 0))},
)  # fmt: skip
"""ONNX's form, which onnxruntime sends: the ratio and the mode are tensors, and a mask comes out too."""


def plain_dropout_shape(call: Call) -> Any:
    """The shape of x, for both outputs; alpha and beta are as they come."""
    for name, only in (("alpha", 1.0), ("beta", 0.0)):
        if call.attr(name) != only:
            raise call.refuse("HA508", f"{name} = {call.attr(name):g}; allowed: {only:g}.")
    if not 0 <= call.attr("dropout_ratio") < 1:
        raise call.refuse("HA508", f"dropout_ratio = {call.attr('dropout_ratio'):g}; allowed: 0 up to but not 1.")
    for name in ("ratio", "training_mode"):
        if call.has(name) and (size := dims.count(call.shape(name))) != 1 and dims.known(size):
            raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: one element.")
    return [call.shape("x")] * len(call.outputs)


def own_float(call: Call) -> int:
    """The type of x."""
    return call.dtype("x")


@kernel("Dropout", shape=plain_dropout_shape, forms=(AS_ONNX,), mixed=("ratio",), dtype={"y": own_float})
def dropout(
    x: Array, ratio: Array | None, training_mode: Array | None, dropout_ratio: float, scale_train: bool, seed: int | None
) -> tuple[Array, Array]:
    """x, for a trained network drops nothing; where training did not scale (scale_train false), x · (1 - dropout_ratio).

    ONNX's form, with the ratio (0.5 where left out) and training_mode as tensors, gives a mask too: all true, or with
    training_mode true what was kept. Then each element is dropped with the ratio, and what is kept is x / (1 - ratio).
    """
    if training_mode is None or not bool(training_mode.reshape(())):
        return (x if scale_train else x * np.float32(1 - dropout_ratio)), np.ones(x.shape, bool)
    share = 0.5 if ratio is None else float(ratio.reshape(()))
    random = philox.uniform(philox.words(x.size, philox.key_of(seed or next_draw()), 0), 23)
    kept = (random >= share).reshape(x.shape)
    return np.where(kept, x / x.dtype.type(1 - share), x.dtype.type(0)), kept
