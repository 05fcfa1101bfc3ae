"""Misuses of each rule, in a module for each hundred of their codes."""

from tests.checks import (
    misuse_descriptors,
    misuse_leaks,
    misuse_lifecycle,
    misuse_memory,
    misuse_models,
    misuse_operators,
    misuse_streams,
)

MODULES = (
    misuse_lifecycle, misuse_memory, misuse_streams, misuse_descriptors, misuse_operators, misuse_models, misuse_leaks,
)  # fmt: skip
