"""Random nodes of every operator that the CANN provider takes, against the CPU provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.onnxruntime.random_nodes import MAKERS, Dice
from tests.clients.onnxruntime.support import CANN, assert_close, cpu_session, nodes_by_provider, session, single_node
from tests.clients.onnxruntime.test_page import registered

pytestmark = pytest.mark.client
TURNS = {"AveragePool": 20, "Conv": 40, "Gemm": 20, "MatMul": 20, "MaxPool": 20}


def test_every_operator_is_tried() -> None:
    assert set(MAKERS) == set(registered())


@pytest.mark.parametrize("op_type", sorted(MAKERS))
def test_random_nodes_equal_the_cpu_provider(op_type: str, tmp_path: Path) -> None:
    for seed in range(TURNS.get(op_type, 10)):
        arrays, opset, attributes = MAKERS[op_type](Dice(seed))
        model, feeds = single_node(op_type, arrays, opset=opset, **attributes)
        asked = f"seed {seed}: {op_type} {opset}, {[(str(one.dtype), one.shape) for one in arrays]}, {attributes}"
        made = session(model, tmp_path, optimize=False)
        try:
            for ours, expected in zip(made.run(None, feeds), cpu_session(model).run(None, feeds), strict=True):
                assert_close(ours, expected)
        except Exception as error:
            raise AssertionError(asked) from error
        assert op_type in nodes_by_provider(made).get(CANN, []), asked
