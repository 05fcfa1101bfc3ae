"""Data types, formats and views: what a tensor is, in numbers and bytes."""
