"""TensorSpec: what a tensor descriptor says, as plain numbers."""

from __future__ import annotations

from typing import NamedTuple

UNDEFINED = -1
"""aclDataType or aclFormat of an optional tensor that is left out (ACL_DT_UNDEFINED, ACL_FORMAT_UNDEFINED)."""


class TensorSpec(NamedTuple):
    """One descriptor's content.

    dtype and formats are aclDataType and aclFormat codes. shape is the origin shape, with -1 for an unknown dim and ``(-2,)``
    for an unknown rank; storage_format (-1: none given) and storage_shape (None: none given) say what lies in memory where it
    differs. ranges has a (min, max) for each dim, max -1 for no bound; const holds the bytes of a const input; placement is an
    aclMemType (0 device, 1 host).
    """

    dtype: int
    shape: tuple[int, ...]
    format: int = 2
    storage_format: int = -1
    storage_shape: tuple[int, ...] | None = None
    name: str = ""
    ranges: tuple[tuple[int, int], ...] = ()
    const: bytes | None = None
    placement: int = 0
    dynamic_input: str = ""

    @property
    def absent(self) -> bool:
        """Whether this marks an optional tensor that is left out."""
        return self.dtype == UNDEFINED

    @property
    def dynamic(self) -> bool:
        """Whether a dim or the rank is unknown."""
        return any(dim < 0 for dim in self.shape)
