"""Convolutions against ONNX Runtime called directly, with constant weights: python benchmarks/bench_convolution.py

Each line: milliseconds of the peer, and the ratios of float32, of float16 and of the one to the other (medians).
HOSTACL_THREADS=1 compares one thread each. The first lines are the layers of a residual network at 224x224.
"""

from __future__ import annotations

from bench_engine import Case, floats, ours, peer
from common import ratio

from hostacl import _kernels

LAYERS = (
    (3, 64, 224, 7, 2), (64, 64, 56, 3, 1), (64, 128, 56, 3, 2), (64, 128, 56, 1, 2), (128, 128, 28, 3, 1),
    (128, 256, 28, 3, 2), (256, 256, 14, 3, 1), (256, 512, 14, 3, 2), (512, 512, 7, 3, 1), (64, 256, 56, 1, 1),
    (20, 30, 56, 3, 1),
)  # fmt: skip
"""Channels, filters, extent, kernel, stride."""

GROUPED = ((128, 128, 56, 3, 1, 128), (128, 128, 56, 3, 2, 128), (512, 512, 14, 3, 1, 512), (128, 128, 28, 3, 1, 32))


def case(channels: int, filters: int, extent: int, kernel: int, stride: int, groups: int = 1) -> Case:
    """A convolution of one square image with square filters, padded to the same size."""
    pads = [kernel // 2] * 4
    name = f"{kernel}x{kernel} {channels} to {filters}, {extent}x{extent}, stride {stride}, groups {groups}"
    attrs = {"strides": [1, 1, stride, stride], "pads": pads, "groups": groups}
    tensors = [floats(1, channels, extent, extent), floats(filters, channels // groups, kernel, kernel)]
    return Case(name, "Conv2D", tensors, attrs, "Conv", {"strides": [stride] * 2, "pads": pads, "group": groups})


def main() -> None:
    print(f"{_kernels.simd_level()}, {_kernels.threads()} threads")
    print(f"{'':54}{'direct ms':>10}{'float32':>9}{'float16':>9}{'f16/f32':>9}")
    for one in [case(*sizes) for sizes in (*LAYERS, *GROUPED)]:
        other, single, half = peer(one), ours(one, "native"), ours(one, "native", half=True)
        found = [ratio(*pair, 5) for pair in ((single, other), (half, other), (half, single))]
        print(f"{one.name:54}{found[0][1] * 1e3:10.3f}" + "".join(f"{each[2]:9.2f}" for each in found))


if __name__ == "__main__":
    main()
