"""ONNX Runtime: the CANN provider on hostacl against the CPU provider, in one process; run it under `hostacl run`.

Needs an environment with onnxruntime-cann (docs/clients/onnxruntime.md).
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from common import fair_environment, line, ratio  # noqa: E402

fair_environment()

import numpy as np  # noqa: E402
from onnx import helper  # noqa: E402
from tests.clients.onnxruntime.models import residual  # noqa: E402
from tests.clients.onnxruntime.support import assert_close, cpu_session, model_of, session  # noqa: E402

NODES = 200


def compared(name, model, feeds, limit, repeat):
    ours, peer = session(model), cpu_session(model)
    for one, other in zip(ours.run(None, feeds), peer.run(None, feeds), strict=True):
        assert_close(one, other)
    result = ratio(lambda: ours.run(None, feeds), lambda: peer.run(None, feeds), repeat)
    line(name, result, limit)
    return result


def network():
    model, feeds = residual("float32", size=224, width=64, blocks=4)
    compared("residual network at 224x224, float32", model, feeds, "<= 2", 3)


def half_network():
    model, feeds = residual("float16", size=224, width=64, blocks=4)
    compared("residual network at 224x224, float16", model, feeds, "no goal", 2)


def overhead():
    """A chain of small nodes; a chain of one says what a run costs without them."""
    x = np.ones((8,), np.float32)

    def chain(length):
        names = ["x", *(f"t{place}" for place in range(length))]
        pairs = pairwise(names)
        nodes = [helper.make_node(("Neg", "Relu")[place % 2], [one], [other]) for place, (one, other) in enumerate(pairs)]
        return model_of(nodes, {"x": x}, [names[-1]], opset=13), {"x": x}

    one = compared("a run of one node", *chain(1), "", 200)
    many = compared(f"a run of {NODES} nodes", *chain(NODES), "", 20)
    for place, provider in enumerate(("CANN", "CPU")):
        print(f"overhead a node, {provider} provider{'':<30} {(many[place] - one[place]) / (NODES - 1) * 1e6:>12.2f} us")


if __name__ == "__main__":
    overhead()
    network()
    half_network()
