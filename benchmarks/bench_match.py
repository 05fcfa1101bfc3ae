"""Finding a model among 10,000, against finding it among 10: static and dynamic ones."""

from __future__ import annotations

import statistics
import timeit

from hostacl.singleop.models import Model, ModelStore
from hostacl.tensors.spec import TensorSpec


def tensor(size: int, dynamic: bool) -> TensorSpec:
    return TensorSpec(0, (-1, size), ranges=((1, 64), (size, size))) if dynamic else TensorSpec(0, (8, size))


def seconds(count: int, dynamic: bool) -> float:
    """Median time of a find of the last model."""
    store = ModelStore()
    for size in range(1, count + 1):
        x = tensor(size, dynamic)
        store.add(Model("Add", (x, x), (x,)))
    last = TensorSpec(0, (8, count))
    assert store.find("Add", (last, last), (last,), {}) is not None
    return statistics.median(timeit.repeat(lambda: store.find("Add", (last, last), (last,), {}), number=1000, repeat=7)) / 1000


def main() -> None:
    for dynamic in (False, True):
        few, many = seconds(10, dynamic), seconds(10_000, dynamic)
        kind = "dynamic" if dynamic else "static"
        print(f"{kind}: {few * 1e6:.1f} us among 10, {many * 1e6:.1f} us among 10,000: {many / few:.2f} times (at most 1.5)")


if __name__ == "__main__":
    main()
