"""Match keys: what two calls must have in common to use the same model."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

from hostacl.tensors.spec import TensorSpec

Attr: TypeAlias = tuple[str, object]
"""An attribute as set: its kind (bool, int, float, string, data_type, list_int ...) and its value."""

Range: TypeAlias = tuple[int, int]

UNKNOWN_RANK = (-2,)
NO_BOUND = -1
_ABSENT = ("absent",)


def traits(spec: TensorSpec) -> Hashable:
    """All of a descriptor that must be equal, but for its shape. Names and the storage shape do not count."""
    if spec.absent:
        return _ABSENT
    storage = -1 if spec.storage_format == spec.format else spec.storage_format
    return (spec.dtype, spec.format, storage, spec.const, spec.placement)


def rank(spec: TensorSpec) -> int:
    """The number of dims; -2 when it is unknown. An absent tensor has none."""
    if spec.absent:
        return 0
    return -2 if spec.shape[:1] == UNKNOWN_RANK else len(spec.shape)


def shape_key(spec: TensorSpec) -> Hashable:
    """The shape, with the ranges where a dim is unknown."""
    if spec.absent:
        return ()
    return (spec.shape, dim_ranges(spec)) if spec.dynamic else spec.shape


def dim_ranges(spec: TensorSpec) -> tuple[Range, ...]:
    """What each dim may be: itself when it is known, its range when it is -1 (without one: anything)."""
    if rank(spec) == -2:
        return ()
    given = dict(enumerate(spec.ranges))
    return tuple((dim, dim) if dim >= 0 else given.get(axis, (0, NO_BOUND)) for axis, dim in enumerate(spec.shape))


def attr_key(attrs: Mapping[str, Attr]) -> Hashable:
    """Attributes by name, kind and value; int and data type are one kind, a float counts as C's float32."""
    return frozenset((name, _one_kind(kind), _frozen(kind, value)) for name, (kind, value) in attrs.items())


def _one_kind(kind: str) -> str:
    return kind.replace("data_type", "int")


def _frozen(kind: str, value: object) -> Hashable:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_frozen(kind, item) for item in value)
    if "float" in kind:
        return as_float32(float(value))  # type: ignore[arg-type]
    return value if isinstance(value, str) else int(value)  # type: ignore[call-overload]


def as_float32(value: float) -> bytes:
    """The four bytes of the nearest float32, beyond its range an infinity: equal for equal values, NaN too."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))
