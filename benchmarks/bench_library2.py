"""Convolution, softmax, norms, pooling and formats against the best peer: python benchmarks/bench_library2.py [name …]

Peers are ONNX Runtime (a session made for the case, weights constant), NumPy, and torch where it is installed. A star marks
what misses its goal. float16 of ours is compared with the peers' float32. HOSTACL_THREADS=1 compares one thread each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from common import fair_environment, median_ratio, seconds

fair_environment()

import bench_engine as engine  # noqa: E402
import numpy as np  # noqa: E402

from hostacl import _kernels  # noqa: E402
from hostacl.ops import find  # noqa: E402
from hostacl.tensors import dtypes, formats  # noqa: E402
from hostacl.tensors.spec import TensorSpec  # noqa: E402

ROUNDS = 9
Peers = dict[str, Callable[[], Any]]


def best(ours: Callable[[], Any], peers: Peers, repeat: int) -> tuple[float, float, float, str]:
    """Our seconds, the fastest peer's, the ratio of a round, and that peer's name."""
    for one in (ours, *peers.values()):
        one()
    rounds = [(seconds(ours, repeat), {name: seconds(one, repeat) for name, one in peers.items()}) for _ in range(ROUNDS)]
    found = {name: median_ratio([(mine, theirs[name]) for mine, theirs in rounds]) for name in peers}
    name = max(found, key=lambda one: found[one][2])
    return *found[name], name


def report(what: str, ours: Callable[[], Any], peers: Peers, goal: float, repeat: int = 5) -> float:
    """Prints one figure and gives our seconds."""
    if sys.argv[1:] and not any(one.lower() in what.lower() for one in sys.argv[1:]):
        return float("nan")
    mine, theirs, ratio, name = best(ours, peers, repeat)
    star = " *" if ratio > goal else ""
    print(f"{what:<44}{mine * 1e3:>9.3f} ms  {name:<12}{theirs * 1e3:>9.3f} ms  ratio {ratio:>6.2f}  goal {goal}{star}")
    return mine


def torch_peer(make: Callable[[Any], Callable[[], Any]]) -> Peers:
    """The peer that torch is, where it is installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(_kernels.threads())
    return {"torch": make(torch)}


def convolution(case: engine.Case) -> None:
    x, w = case.inputs
    stride, pad = case.attrs["strides"][2], case.attrs["pads"][0]

    def made(torch: Any) -> Callable[[], Any]:
        a, b = torch.from_numpy(x), torch.from_numpy(w)
        return lambda: torch.nn.functional.conv2d(a, b, stride=stride, padding=pad)

    peers = {"onnxruntime": engine.peer(case), **torch_peer(made)}
    report(f"{case.name}, float32", engine.ours(case, "native"), peers, 2.0)
    report(f"{case.name}, float32, engine", engine.ours(case, "onnxruntime"), peers, 1.4)
    report(f"{case.name}, float16", engine.ours(case, "native", half=True), {"our float32": engine.ours(case, "native")}, 1.3)


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def numpy_norm(x: Any, gamma: Any, beta: Any) -> Any:
    d = x - x.mean(-1, keepdims=True)
    d /= np.sqrt(np.square(d).mean(-1, keepdims=True) + 1e-5)
    d *= gamma
    d += beta
    return d


def rows(case: engine.Case) -> None:
    """Softmax and norms: float32 and float16 against the best float32 peer."""
    x, *rest = case.inputs

    def made(torch: Any) -> Callable[[], Any]:
        a, *others = (torch.from_numpy(one) for one in case.inputs)
        if not others:
            return lambda: torch.softmax(a, -1)
        return lambda: torch.nn.functional.layer_norm(a, a.shape[-1:], *others)

    peers = {"onnxruntime": engine.peer(case), **torch_peer(made)}
    peers["NumPy"] = (lambda: numpy_norm(x, *rest)) if rest else (lambda: numpy_softmax(x))
    report(f"{case.name}, float32", engine.ours(case, "native"), peers, 1.5)
    report(f"{case.name}, float16", engine.ours(case, "native", half=True), peers, 1.5)


def pooling(case: engine.Case) -> None:
    def made(torch: Any) -> Callable[[], Any]:
        a = torch.from_numpy(case.inputs[0])
        pool = torch.nn.functional.max_pool2d if case.node == "MaxPool" else torch.nn.functional.avg_pool2d
        return lambda: pool(a, 3, 2, 1)

    peers = {"onnxruntime": engine.peer(case), **torch_peer(made)}
    report(f"{case.name}, float32", engine.ours(case, "native"), peers, 1.5)
    report(f"{case.name}, float16", engine.ours(case, "native", half=True), peers, 1.5)


def blocks() -> None:
    """NCHW to NC1HWC0 and back, float16."""
    x, five = np.ones((8, 256, 56, 56), np.float16), np.empty((8, 16, 56, 56, 16), np.float16)
    operator = find("TransData")
    assert operator is not None
    pair = [("NCHW", x), ("NC1HWC0", five)]
    view = x.reshape(8, 16, 16, 56, 56).transpose(0, 1, 3, 4, 2)
    forth, back = (*pair, lambda: np.copyto(five, view)), (*pair[::-1], lambda: np.copyto(view, five))
    for (source, a), (target, b), copied in (forth, back):
        attrs = {"src_format": ("string", source), "dst_format": ("string", target)}
        specs = [TensorSpec(dtypes.FLOAT16, one.shape, formats.CODES[name]) for name, one in ((source, a), (target, b))]
        run = operator.bind(specs[:1], specs[1:], attrs).function()
        peers: Peers = {"NumPy": copied}

        def made(torch: Any, back: bool = source == "NC1HWC0") -> Callable[[], Any]:
            from_, to = torch.from_numpy(five if back else view), torch.from_numpy(view if back else five)
            return lambda: to.copy_(from_)

        report(f"{source} to {target}, float16", lambda run=run, a=a, b=b: run(a, b), {**peers, **torch_peer(made)}, 1.5, 1)


def main() -> None:
    print(f"{_kernels.simd_level()}, {_kernels.threads()} threads")
    for case in engine.cases():
        if case.op_type == "Conv2D":
            convolution(case)
        elif case.op_type in ("LayerNormV3", "SoftmaxV2"):
            rows(case)
        elif case.op_type == "MaxPoolV3":
            pooling(case)
    blocks()


if __name__ == "__main__":
    main()
