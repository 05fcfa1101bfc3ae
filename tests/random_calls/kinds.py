"""The kinds of calls that are forced to appear among the draws of every operator where they apply."""

from __future__ import annotations

KINDS = (
    "same shape", "broadcast", "0-d", "empty", "one element", "8-d", "long", "negative axis", "in place", "partial overlap",
    "special values", "mixed dtypes", "optional absent", "optional present", "attributes absent", "attributes default",
    "attributes varied", "const value", "host value", "device value", "one of a list", "many of a list", "older prototype",
)  # fmt: skip