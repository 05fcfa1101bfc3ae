"""Everyday torch operators: how each is called, on which samples, in which dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  its name everywhere

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
I64, I32, BOOL = torch.int64, torch.int32, torch.bool
FLOATS, INTS = (F32, F16, BF16), (I64, I32)
NUMBERS, ALL = (*FLOATS, *INTS), (*FLOATS, *INTS, BOOL)

Sample = tuple[Any, ...]
Make = Callable[[torch.dtype], Sequence[Sample]]


def tensor(*shape: int, dtype: torch.dtype = F32, low: float = -2.0, high: float = 2.0) -> Tensor:
    """Values of a dtype, drawn evenly; integers a bit wider."""
    if dtype is BOOL:
        return torch.rand(shape) < 0.5
    if not dtype.is_floating_point:
        return torch.randint(int(low * 4), int(high * 4) + 1, shape, dtype=dtype)
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def one(low: float = -2.0, high: float = 2.0) -> Make:
    """One tensor: 0-d, empty, plain, transposed, every other column."""

    def make(dtype: torch.dtype) -> Sequence[Sample]:
        def of(*shape: int) -> Tensor:
            return tensor(*shape, dtype=dtype, low=low, high=high)

        return [(of(),), (of(0, 3),), (of(5),), (of(2, 3, 4),), (of(3, 4).t(),), (of(3, 8)[:, ::2],)]

    return make


def two(low: float = -2.0, high: float = 2.0, low2: float | None = None) -> Make:
    """Two tensors that broadcast."""

    def make(dtype: torch.dtype) -> Sequence[Sample]:
        def of(*shape: int) -> Tensor:
            return tensor(*shape, dtype=dtype, low=low, high=high)

        def of2(*shape: int) -> Tensor:
            return tensor(*shape, dtype=dtype, low=low if low2 is None else low2, high=high)

        return [
            (of(), of2()),
            (of(3, 4), of2(3, 4)),
            (of(3, 1), of2(1, 4)),
            (of(0, 4), of2(4)),
            (of(2, 3, 4), of2()),
            (of(3, 4).t(), of2(4, 3)),
            (of(3, 8)[:, ::2], of2(4)),
        ]

    return make


def shapes(*groups: tuple[tuple[int, ...], ...], low: float = -2.0, high: float = 2.0) -> Make:
    """A sample for each group of shapes."""

    def make(dtype: torch.dtype) -> Sequence[Sample]:
        return [tuple(tensor(*shape, dtype=dtype, low=low, high=high) for shape in group) for group in groups]

    return make


@dataclass(frozen=True)
class Operator:
    """An operator of torch as the tests call it."""

    call: Callable[..., Any]
    samples: Make
    dtypes: tuple[torch.dtype, ...] = FLOATS
    backward: bool = True
    near: float = 0.0  # a difference that is allowed at least


def positions(*shape: int, below: int) -> Tensor:
    """Indices."""
    return torch.randint(0, below, shape)


UNARY: dict[str, Operator] = {
    "abs": Operator(torch.abs, one(), NUMBERS),
    "neg": Operator(torch.neg, one(), NUMBERS),
    "square": Operator(torch.square, one(), NUMBERS),
    "sign": Operator(torch.sign, one(), NUMBERS),
    "exp": Operator(torch.exp, one()),
    "expm1": Operator(torch.expm1, one()),
    "log": Operator(torch.log, one(0.1)),
    "log2": Operator(torch.log2, one(0.1)),
    "log10": Operator(torch.log10, one(0.1)),
    "log1p": Operator(torch.log1p, one(0.1)),
    "sqrt": Operator(torch.sqrt, one(0.1)),
    "rsqrt": Operator(torch.rsqrt, one(0.1)),
    "reciprocal": Operator(torch.reciprocal, one(0.2)),
    "sin": Operator(torch.sin, one()),
    "cos": Operator(torch.cos, one()),
    "tan": Operator(torch.tan, one(-1, 1)),
    "asin": Operator(torch.asin, one(-0.9, 0.9)),
    "acos": Operator(torch.acos, one(-0.9, 0.9)),
    "atan": Operator(torch.atan, one()),
    "sinh": Operator(torch.sinh, one()),
    "cosh": Operator(torch.cosh, one()),
    "tanh": Operator(torch.tanh, one()),
    "asinh": Operator(torch.asinh, one()),
    "acosh": Operator(torch.acosh, one(1.2, 3)),
    "atanh": Operator(torch.atanh, one(-0.8, 0.8)),
    "erf": Operator(torch.erf, one()),
    "erfc": Operator(torch.erfc, one()),
    "sigmoid": Operator(torch.sigmoid, one()),
    "floor": Operator(torch.floor, one()),
    "ceil": Operator(torch.ceil, one()),
    "round": Operator(torch.round, one()),
    "trunc": Operator(torch.trunc, one()),
    "frac": Operator(torch.frac, one(), (F32,), backward=False),
    "logical_not": Operator(torch.logical_not, one(), ALL, backward=False),
    "bitwise_not": Operator(torch.bitwise_not, one(), (I64, I32, BOOL), backward=False),
    "isnan": Operator(torch.isnan, one(), FLOATS, backward=False),
    "isfinite": Operator(torch.isfinite, one(), FLOATS, backward=False),
    "clone": Operator(torch.clone, one(), ALL),
    "relu": Operator(torch.relu, one()),
    "relu6": Operator(F.relu6, one(-3, 8)),
    "gelu_tanh": Operator(lambda x: F.gelu(x, approximate="tanh"), one()),
    "silu": Operator(F.silu, one()),
    "mish": Operator(F.mish, one()),
    "elu": Operator(F.elu, one()),
    "celu": Operator(F.celu, one()),
    "selu": Operator(F.selu, one()),
    "leaky_relu": Operator(lambda x: F.leaky_relu(x, 0.1), one()),
    "softplus": Operator(F.softplus, one()),
    "logsigmoid": Operator(F.logsigmoid, one()),
    "hardtanh": Operator(F.hardtanh, one()),
    "hardsigmoid": Operator(F.hardsigmoid, one()),
    "hardswish": Operator(F.hardswish, one(-5, 5)),
    "threshold": Operator(lambda x: F.threshold(x, 0.3, 0.0), one()),
    "clamp": Operator(lambda x: torch.clamp(x, -1, 1), one(), NUMBERS),
    "clamp_min": Operator(lambda x: torch.clamp(x, min=0), one(), NUMBERS),
}

BINARY: dict[str, Operator] = {
    "add": Operator(torch.add, two(), ALL),
    "add_alpha": Operator(lambda x, y: torch.add(x, y, alpha=2), two(), NUMBERS),
    "add_scalar": Operator(lambda x: x + 2, one(), NUMBERS),
    "sub": Operator(torch.sub, two(), NUMBERS),
    "rsub": Operator(lambda x: 3 - x, one(), NUMBERS),
    "mul": Operator(torch.mul, two(), ALL),
    "mul_scalar": Operator(lambda x: x * 3, one(), NUMBERS),
    "div": Operator(torch.div, two(0.5)),
    "div_floor": Operator(lambda x, y: torch.div(x, y, rounding_mode="floor"), two(1), (F32, *INTS), backward=False),
    "floor_divide": Operator(torch.floor_divide, two(1), (F32, *INTS), backward=False),
    "remainder": Operator(torch.remainder, two(1), (F32, *INTS), backward=False),
    "fmod": Operator(torch.fmod, two(1), (F32, *INTS), backward=False),
    "pow": Operator(torch.pow, two(0.3)),
    "pow_scalar": Operator(lambda x: torch.pow(x, 3), one(), (F32, F16, BF16)),
    "atan2": Operator(torch.atan2, two(0.3), (F32, F16)),
    "maximum": Operator(torch.maximum, two(), NUMBERS),
    "minimum": Operator(torch.minimum, two(), NUMBERS),
    "eq": Operator(torch.eq, two(), ALL, backward=False),
    "ne": Operator(torch.ne, two(), ALL, backward=False),
    "lt": Operator(torch.lt, two(), NUMBERS, backward=False),
    "le": Operator(torch.le, two(), NUMBERS, backward=False),
    "gt": Operator(torch.gt, two(), NUMBERS, backward=False),
    "ge": Operator(torch.ge, two(), NUMBERS, backward=False),
    "gt_scalar": Operator(lambda x: x > 0, one(), NUMBERS, backward=False),
    "logical_and": Operator(torch.logical_and, two(), ALL, backward=False),
    "logical_or": Operator(torch.logical_or, two(), ALL, backward=False),
    "logical_xor": Operator(torch.logical_xor, two(), ALL, backward=False),
    "bitwise_and": Operator(torch.bitwise_and, two(), (I64, I32, BOOL), backward=False),
    "bitwise_or": Operator(torch.bitwise_or, two(), (I64, I32, BOOL), backward=False),
    "bitwise_xor": Operator(torch.bitwise_xor, two(), (I64, I32, BOOL), backward=False),
    "addcmul": Operator(
        lambda x, y, z: torch.addcmul(x, y, z, value=0.5), shapes(((3, 4), (3, 1), (4,)), ((2,), (2,), (2,)))
    ),
    "addcdiv": Operator(
        lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), shapes(((3, 4), (3, 1), (4,)), ((2,), (2,), (2,)), low=0.5)
    ),
    "lerp": Operator(lambda x, y: torch.lerp(x, y, 0.3), two()),
    "where": Operator(
        torch.where,
        lambda dtype: [(tensor(3, 4, dtype=BOOL), tensor(3, 1, dtype=dtype), tensor(4, dtype=dtype))],
        ALL,
    ),
}

REDUCTIONS: dict[str, Operator] = {
    "sum": Operator(torch.sum, one(), ALL),
    "sum_dim": Operator(lambda x: torch.sum(x, -1), shapes(((2, 3, 4),), ((0, 3),), ((5,),)), ALL),
    "sum_dims": Operator(lambda x: torch.sum(x, (0, 2), keepdim=True), shapes(((2, 3, 4),)), NUMBERS),
    "mean": Operator(torch.mean, shapes(((),), ((2, 3, 4),), ((5,),))),
    "mean_dim": Operator(lambda x: torch.mean(x, 1, keepdim=True), shapes(((2, 3, 4),), ((0, 3),))),
    "prod": Operator(torch.prod, shapes(((5,),), ((2, 3),)), (F32, F16, *INTS), backward=False),
    "prod_dim": Operator(lambda x: torch.prod(x, 1), shapes(((2, 3),), ((2, 3, 4),)), (F32, *INTS), backward=False),
    "amax": Operator(lambda x: torch.amax(x, -1), shapes(((2, 3, 4),)), NUMBERS, backward=False),
    "amin": Operator(lambda x: torch.amin(x, 0), shapes(((2, 3, 4),)), NUMBERS, backward=False),
    "max": Operator(torch.max, shapes(((),), ((2, 3, 4),)), NUMBERS, backward=False),
    "min": Operator(torch.min, shapes(((),), ((2, 3, 4),)), NUMBERS, backward=False),
    "max_dim": Operator(lambda x: torch.max(x, 1), shapes(((2, 3, 4),), ((3, 4),)), (F32, F16)),
    "min_dim": Operator(lambda x: torch.min(x, 1), shapes(((2, 3, 4),), ((3, 4),)), (F32, F16)),
    "argmax": Operator(lambda x: torch.argmax(x, 1), shapes(((2, 30),)), (F32, F16), backward=False),
    "argmin": Operator(lambda x: torch.argmin(x, 1), shapes(((2, 30),)), (F32, F16), backward=False),
    "all": Operator(torch.all, one(), (BOOL,), backward=False),
    "any": Operator(torch.any, one(), (BOOL,), backward=False),
    "all_dim": Operator(lambda x: torch.all(x, 1), shapes(((3, 2),)), (BOOL,), backward=False),
    "any_dim": Operator(lambda x: torch.any(x, 1), shapes(((3, 2),)), (BOOL,), backward=False),
    "norm": Operator(lambda x: torch.norm(x, 2, 1), shapes(((3, 4),)), (F32, F16)),
    "var": Operator(lambda x: torch.var(x, 1), shapes(((3, 4),)), (F32, F16)),
    "std": Operator(lambda x: torch.std(x, 1), shapes(((3, 4),)), (F32, F16)),
    "logsumexp": Operator(lambda x: torch.logsumexp(x, 1), shapes(((3, 4),)), (F32, F16)),
    "cumsum": Operator(lambda x: torch.cumsum(x, 1), shapes(((3, 4),), ((2, 3, 4),)), (*FLOATS, I64)),
    "cumprod": Operator(lambda x: torch.cumprod(x, 1), shapes(((3, 4),)), (F32, F16), backward=False),
    "count_nonzero": Operator(torch.count_nonzero, one(), (F32, *INTS), backward=False),
}

PRODUCTS: dict[str, Operator] = {
    "mm": Operator(torch.mm, shapes(((3, 4), (4, 5)), ((1, 4), (4, 1)), ((3, 0), (0, 5)))),
    "bmm": Operator(torch.bmm, shapes(((2, 3, 4), (2, 4, 5)))),
    "matmul": Operator(
        torch.matmul,
        shapes(((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (3, 4, 5)), ((3, 4), (4,))),
    ),
    "matmul_transposed": Operator(lambda x, y: x.t() @ y.t(), shapes(((4, 3), (5, 4)))),
    "addmm": Operator(
        lambda a, x, y: torch.addmm(a, x, y, beta=0.5, alpha=2),
        shapes(((5,), (3, 4), (4, 5)), ((3, 5), (3, 4), (4, 5))),
    ),
    "baddbmm": Operator(torch.baddbmm, shapes(((2, 3, 5), (2, 3, 4), (2, 4, 5)))),
    "mv": Operator(torch.mv, shapes(((3, 4), (4,)))),
    "dot": Operator(torch.dot, shapes(((4,), (4,))), (F32, F16)),
    "outer": Operator(torch.outer, shapes(((3,), (4,)))),
    "einsum": Operator(lambda x, y: torch.einsum("bij,bjk->bik", x, y), shapes(((2, 3, 4), (2, 4, 5)))),
    "linear": Operator(F.linear, shapes(((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4)))),
}

NETWORK: dict[str, Operator] = {
    "conv1d": Operator(F.conv1d, shapes(((2, 3, 9), (4, 3, 3), (4,)))),
    "conv2d": Operator(F.conv2d, shapes(((2, 3, 6, 6), (4, 3, 3, 3), (4,)), ((1, 2, 5, 7), (3, 2, 1, 1)))),
    "conv2d_options": Operator(
        lambda x, w: F.conv2d(x, w, stride=2, padding=(1, 2), dilation=2, groups=2),
        shapes(((2, 4, 9, 9), (6, 2, 3, 3))),
    ),
    "conv3d": Operator(F.conv3d, shapes(((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), (3,))), (F32, F16)),
    "conv_transpose2d": Operator(
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1), shapes(((2, 3, 5, 5), (3, 4, 3, 3), (4,)))
    ),
    "max_pool2d": Operator(lambda x: F.max_pool2d(x, 2), shapes(((2, 3, 6, 6),), ((1, 2, 4, 8),)), (F32, F16)),
    "max_pool2d_padded": Operator(lambda x: F.max_pool2d(x, 3, 2, 1), shapes(((2, 3, 7, 7),)), (F32, F16)),
    "avg_pool2d": Operator(lambda x: F.avg_pool2d(x, 2), shapes(((2, 3, 6, 6),)), (F32, F16)),
    "adaptive_avg_pool2d": Operator(lambda x: F.adaptive_avg_pool2d(x, 1), shapes(((2, 3, 6, 6),)), (F32, F16)),
    "batch_norm_eval": Operator(
        F.batch_norm,
        shapes(((4, 3, 5, 5), (3,), (3,), (3,), (3,)), low=0.5),
        (F32,),
        backward=False,
    ),
    "batch_norm_train": Operator(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        shapes(((4, 3, 5, 5), (3,), (3,)), ((6, 3), (3,), (3,))),
        (F32,),
    ),
    "layer_norm": Operator(  # the operator for the gradient has no epsilon and adds 1e-12 to the variance
        lambda x, w, b: F.layer_norm(x, (4,), w, b), shapes(((2, 3, 4), (4,), (4,)), ((3, 4), (4,), (4,))), near=2e-3
    ),
    "group_norm": Operator(lambda x, w, b: F.group_norm(x, 2, w, b), shapes(((2, 4, 3, 3), (4,), (4,))), (F32, F16)),
    "instance_norm": Operator(F.instance_norm, shapes(((2, 4, 3, 3),)), (F32,), backward=False),
    "normalize": Operator(lambda x: F.normalize(x, dim=1), shapes(((3, 4),)), (F32, F16)),
    "softmax": Operator(lambda x: torch.softmax(x, -1), shapes(((3, 4),), ((2, 3, 4),), ((5,),), ((0, 3),))),
    "softmax_dim0": Operator(lambda x: torch.softmax(x, 0), shapes(((3, 4),))),
    "log_softmax": Operator(lambda x: torch.log_softmax(x, -1), shapes(((3, 4),), ((2, 3, 4),))),
    "mse_loss": Operator(F.mse_loss, shapes(((3, 4), (3, 4)))),
    "mse_loss_none": Operator(lambda x, y: F.mse_loss(x, y, reduction="none"), shapes(((3, 4), (3, 4)))),
    "l1_loss": Operator(F.l1_loss, shapes(((3, 4), (3, 4)))),
    "smooth_l1_loss": Operator(F.smooth_l1_loss, shapes(((3, 4), (3, 4))), (F32, F16)),
    "binary_cross_entropy": Operator(
        lambda x, y: F.binary_cross_entropy(x, y.detach()), shapes(((3, 4), (3, 4)), low=0.1, high=0.9), (F32, F16)
    ),
    "binary_cross_entropy_with_logits": Operator(
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach()),
        shapes(((3, 4), (3, 4)), low=0.1, high=0.9),
        (F32, F16),
    ),
    "kl_div": Operator(
        lambda x, y: F.kl_div(x, y.detach(), reduction="batchmean"),
        shapes(((3, 4), (3, 4)), low=0.1, high=0.9),
        (F32, F16),
    ),
    "nll_loss": Operator(F.nll_loss, lambda dtype: [(tensor(3, 5, dtype=dtype), positions(3, below=5))], (F32,)),
    "cross_entropy": Operator(
        F.cross_entropy, lambda dtype: [(tensor(3, 5, dtype=dtype), positions(3, below=5))], (F32, F16)
    ),
    "cross_entropy_sum": Operator(
        lambda x, y: F.cross_entropy(x, y, reduction="sum", label_smoothing=0.1),
        lambda dtype: [(tensor(3, 5, dtype=dtype), positions(3, below=5))],
        (F32,),
    ),
    "embedding": Operator(
        F.embedding, lambda dtype: [(positions(2, 3, below=5), tensor(5, 4, dtype=dtype))]
    ),
    "interpolate_bilinear": Operator(
        lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=False), shapes(((1, 2, 3, 4),)), (F32,)
    ),
    "glu": Operator(F.glu, shapes(((3, 4),)), (F32, F16)),
    "pixel_shuffle": Operator(lambda x: F.pixel_shuffle(x, 2), shapes(((1, 4, 2, 3),))),
    "dropout_eval": Operator(lambda x: F.dropout(x, 0.5, training=False), one()),
}

SHAPES: dict[str, Operator] = {
    "reshape": Operator(lambda x: x.reshape(-1), one(), ALL),
    "permute": Operator(lambda x: x.permute(2, 0, 1).contiguous(), shapes(((2, 3, 4),)), ALL),
    "transpose": Operator(lambda x: x.transpose(0, 1).contiguous(), shapes(((2, 3, 4),), ((3, 0),)), ALL),
    "expand": Operator(lambda x: x.expand(3, 4).contiguous(), shapes(((3, 1),), ((4,),), ((),)), ALL),
    "repeat": Operator(lambda x: x.repeat(2, 3), shapes(((3, 1),), ((4,),)), ALL),
    "tile": Operator(lambda x: torch.tile(x, (2,)), shapes(((3, 2),)), ALL),
    "cat": Operator(lambda x, y: torch.cat((x, y), 1), shapes(((2, 3), (2, 4)), ((2, 0), (2, 4))), ALL),
    "stack": Operator(lambda x, y: torch.stack((x, y), 1), shapes(((2, 3), (2, 3)), ((4,), (4,))), ALL),
    "split": Operator(lambda x: torch.split(x, 2, 1), shapes(((2, 5),)), ALL),
    "chunk": Operator(lambda x: [part.contiguous() for part in torch.chunk(x, 2, 1)], shapes(((2, 5),)), ALL),
    "flip": Operator(lambda x: torch.flip(x, (0, 1)), shapes(((2, 5),)), NUMBERS),
    "roll": Operator(lambda x: torch.roll(x, 2, 1), shapes(((2, 5),)), (*FLOATS, I32)),
    "tril": Operator(torch.tril, shapes(((4, 5),)), NUMBERS),
    "triu": Operator(lambda x: torch.triu(x, 1), shapes(((4, 5),)), NUMBERS),
    "diag": Operator(torch.diag, shapes(((4, 4),), ((3,),)), (F32, *INTS), backward=False),
    "pad_constant": Operator(lambda x: F.pad(x, (1, 2), value=1.0), shapes(((2, 5),)), (F32, F16)),
    "pad_reflect": Operator(
        lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), shapes(((1, 2, 4, 5),)), (F32,), backward=False
    ),
    "slice": Operator(lambda x: x[:, 1:4:2].contiguous(), shapes(((3, 5),)), ALL),
    "unfold": Operator(lambda x: F.unfold(x, 2), shapes(((1, 2, 4, 4),)), (F32, F16), backward=False),
    "squeeze": Operator(lambda x: x.unsqueeze(1) * 2, shapes(((3, 5),)), NUMBERS),
    "copy_strided": Operator(lambda x: torch.zeros_like(x).t().copy_(x.t()), shapes(((3, 5),)), ALL, backward=False),
    "to_float": Operator(lambda x: x.float(), one(), ALL),
    "to_half": Operator(lambda x: x.half(), one(), ALL),
    "to_int": Operator(lambda x: x.int(), one(), ALL, backward=False),
    "to_long": Operator(lambda x: x.long(), one(), ALL, backward=False),
    "to_bool": Operator(lambda x: x.bool(), one(), ALL, backward=False),
}

INDEXING: dict[str, Operator] = {
    "index_select": Operator(
        lambda x, i: torch.index_select(x, 1, i),
        lambda dtype: [(tensor(3, 5, dtype=dtype), positions(4, below=5))],
        ALL,
    ),
    "gather": Operator(
        lambda x, i: torch.gather(x, 1, i),
        lambda dtype: [(tensor(3, 5, dtype=dtype), positions(3, 2, below=5))],
        NUMBERS,
    ),
    "index": Operator(lambda x, i: x[i], lambda dtype: [(tensor(5, 3, dtype=dtype), positions(4, below=5))], ALL),
    "index_two": Operator(
        lambda x, i, j: x[i, j],
        lambda dtype: [(tensor(5, 3, dtype=dtype), positions(4, below=5), positions(4, below=3))],
        NUMBERS,
    ),
    "index_put": Operator(
        lambda x, i, v: x.clone().index_put_((i,), v),
        lambda dtype: [(tensor(5, 3, dtype=dtype), torch.tensor([3, 0]), tensor(2, 3, dtype=dtype))],
        (F32, *INTS),
        backward=False,
    ),
    "index_add": Operator(
        lambda x, i, v: torch.index_add(x, 0, i, v),
        lambda dtype: [(tensor(5, 3, dtype=dtype), positions(4, below=5), tensor(4, 3, dtype=dtype))],
        (F32, I32),
        backward=False,
    ),
    "scatter": Operator(
        lambda x, i, v: torch.scatter(x, 1, i, v),
        lambda dtype: [(tensor(3, 5, dtype=dtype), torch.tensor([[0, 1], [2, 4], [3, 0]]), tensor(3, 2, dtype=dtype))],
        (F32, I32, I64),
        backward=False,
    ),
    "scatter_add": Operator(
        lambda x, i, v: torch.scatter_add(x, 1, i, v),
        lambda dtype: [(tensor(3, 5, dtype=dtype), positions(3, 2, below=5), tensor(3, 2, dtype=dtype))],
        (F32,),
        backward=False,
    ),
    "masked_fill": Operator(
        lambda x, m: x.masked_fill(m, 2), lambda dtype: [(tensor(3, 4, dtype=dtype), tensor(3, 4, dtype=BOOL))], NUMBERS
    ),
    "masked_select": Operator(
        torch.masked_select,
        lambda dtype: [(tensor(3, 4, dtype=dtype), tensor(3, 4, dtype=BOOL))],
        (F32, F16, *INTS),
        backward=False,
    ),
    "nonzero": Operator(torch.nonzero, shapes(((3, 4),), ((5,),)), (F32, *INTS, BOOL), backward=False),
    "sort": Operator(
        torch.sort, lambda dtype: [(torch.randperm(12).reshape(3, 4).to(dtype),)], (F32, F16), backward=False
    ),
    "sort_descending": Operator(
        lambda x: torch.sort(x, 1, descending=True),
        lambda dtype: [(torch.randperm(12).reshape(3, 4).to(dtype),)],
        (F32, F16),
    ),
    "argsort": Operator(
        torch.argsort, lambda dtype: [(torch.randperm(12).reshape(3, 4).to(dtype),)], (F32,), backward=False
    ),
    "topk": Operator(
        lambda x: torch.topk(x, 2), lambda dtype: [(torch.randperm(12).reshape(3, 4).to(dtype),)], (F32, F16)
    ),
    "unique": Operator(torch.unique, shapes(((12,),)), (F32, *INTS), backward=False),
    "one_hot": Operator(lambda i: F.one_hot(i, 6), lambda dtype: [(positions(4, below=6),)], (I64,), backward=False),
}

CREATION: dict[str, Operator] = {
    "zeros_like": Operator(torch.zeros_like, one(), ALL, backward=False),
    "ones_like": Operator(torch.ones_like, one(), ALL, backward=False),
    "full_like": Operator(lambda x: torch.full_like(x, 3), one(), NUMBERS, backward=False),
    "fill_": Operator(lambda x: x.clone().fill_(1), one(), ALL, backward=False),
    "arange": Operator(
        lambda x: torch.arange(1, 9, 2, dtype=x.dtype, device=x.device), shapes(((),)), (F32, *INTS), backward=False
    ),
    "eye": Operator(
        lambda x: torch.eye(3, 4, dtype=x.dtype, device=x.device), shapes(((),)), (F32, I32), backward=False
    ),
    "linspace": Operator(lambda x: torch.linspace(0, 1, 5, device=x.device), shapes(((),)), (F32,), backward=False),
    "full": Operator(
        lambda x: torch.full((2, 3), 7, dtype=x.dtype, device=x.device), shapes(((),)), NUMBERS, backward=False
    ),
}

OPERATORS: dict[str, Operator] = {
    **UNARY,
    **BINARY,
    **REDUCTIONS,
    **PRODUCTS,
    **NETWORK,
    **SHAPES,
    **INDEXING,
    **CREATION,
}
