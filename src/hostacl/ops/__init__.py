"""The operator library: what each operator takes, gives and computes. NumPy in, NumPy out, no handles or streams."""

from __future__ import annotations

from hostacl.ops.registry import find, implemented, kernel, register, twin
from hostacl.ops.schema import known_operators, prototype

__all__ = ["find", "implemented", "kernel", "known_operators", "prototype", "register", "twin"]
