"""Where the provider itself asks for something else than the node says: what is sent, what follows, and the way around.

docs/clients/onnxruntime.md lists these. A card is sent the same; hostacl does what it is asked for and does not guess.
"""

from __future__ import annotations

import numpy as np
import onnx.helper
import onnxruntime
import pytest

from tests.clients.onnxruntime.conftest import Sent
from tests.clients.onnxruntime.support import PROVIDERS, assert_close, cpu_session, model_of, options, session, single_node

pytestmark = pytest.mark.client

X = np.random.default_rng(3).standard_normal((1, 2, 8, 9)).astype(np.float32)
WEIGHT = np.random.default_rng(4).standard_normal((3, 2, 3, 3)).astype(np.float32)


def on_both(op_type, arrays, opset, **attributes):
    model, feeds = single_node(op_type, arrays, opset=opset, **attributes)
    return session(model).run(None, feeds)[0], cpu_session(model).run(None, feeds)[0]


def on_cpu(op_type, arrays, opset, **attributes):
    model, feeds = single_node(op_type, arrays, opset=opset, **attributes)
    return cpu_session(model).run(None, feeds)[0]


def sent_as(sent: list[Sent], op_type: str) -> Sent:
    return next(one for one in sent if one.op_type == op_type)


def test_pads_are_sent_in_the_order_of_onnx(sent: list[Sent]) -> None:
    ours, cpu = on_both("Conv", [X, WEIGHT], 11, pads=[1, 1, 0, 0], strides=[2, 2])
    assert sent_as(sent, "Conv2D").attributes["pads"] == [1, 1, 0, 0]  # means top 1, bottom 1, left 0, right 0
    assert_close(ours, on_cpu("Conv", [X, WEIGHT], 11, pads=[1, 0, 1, 0], strides=[2, 2]))
    assert not np.allclose(ours, cpu)
    with pytest.raises(Exception, match="running Conv node"):  # mostly the described output does not fit then
        on_both("Conv", [X, WEIGHT], 11, pads=[0, 1, 0, 1])


def test_a_pad_node_in_front_is_the_way_around() -> None:
    nodes = [
        onnx.helper.make_node("Pad", ["x", "pads"], ["padded"]),
        onnx.helper.make_node("Conv", ["padded", "w"], ["y"], strides=[2, 2]),
    ]
    weights = {"w": WEIGHT, "pads": np.array([0, 0, 1, 1, 0, 0, 0, 0])}
    model = model_of(nodes, {"x": X}, ["y"], opset=13, weights=weights)
    expected = on_cpu("Conv", [X, WEIGHT], 11, pads=[1, 1, 0, 0], strides=[2, 2])
    apart = onnxruntime.InferenceSession(model, options(), providers=PROVIDERS, disabled_optimizers=["Pad_Fusion"])
    assert_close(apart.run(None, {"x": X})[0], expected)
    assert not np.allclose(session(model).run(None, {"x": X})[0], expected)  # the optimizer puts the pads back into Conv


def test_pads_of_the_lowest_value_are_the_way_around_for_max_pool(sent: list[Sent]) -> None:
    ours, cpu = on_both("MaxPool", [-np.abs(X)], 7, kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    assert sent_as(sent, "MaxPoolV3").attributes["padding_mode"] == "SAME"  # which pads more at the end
    assert_close(ours, on_cpu("MaxPool", [-np.abs(X)], 7, kernel_shape=[2, 2], auto_pad="SAME_UPPER"))
    assert not np.allclose(ours, cpu)
    lowest = float(np.finfo(np.float32).min)
    nodes = [
        onnx.helper.make_node("Pad", ["x"], ["padded"], pads=[0, 0, 1, 1, 0, 0, 0, 0], value=lowest),
        onnx.helper.make_node("MaxPool", ["padded"], ["y"], kernel_shape=[2, 2]),
    ]
    feeds = {"x": -np.abs(X)}
    model = model_of(nodes, feeds, ["y"], opset=7)
    apart = onnxruntime.InferenceSession(model, options(), providers=PROVIDERS, disabled_optimizers=["Pad_Fusion"])
    assert_close(apart.run(None, feeds)[0], cpu)


@pytest.mark.parametrize("include", [0, 1])
def test_padded_averages_count_the_other_way(sent: list[Sent], include: int) -> None:
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1 + include, 2]}  # a call that no other test makes
    ours, cpu = on_both("AveragePool", [X], 11, count_include_pad=include, **attributes)
    assert sent_as(sent, "AvgPoolV2").attributes["exclusive"] == bool(include)  # true leaves the padding out
    assert_close(ours, on_cpu("AveragePool", [X], 11, count_include_pad=1 - include, **attributes))
    assert not np.allclose(ours, cpu)


def test_windows_beyond_the_edge_count_the_other_way(sent: list[Sent]) -> None:
    ours, cpu = on_both("AveragePool", [X], 11, kernel_shape=[3, 4], strides=[3, 3], ceil_mode=1, count_include_pad=1)
    assert sent_as(sent, "AvgPoolV2").attributes["exclusive"] is True
    inside = on_cpu("AveragePool", [X], 11, kernel_shape=[3, 4], strides=[3, 3], ceil_mode=1, count_include_pad=0)
    assert_close(ours, inside)
    assert not np.allclose(ours, cpu)


def test_integers_are_divided_by_an_operator_that_rounds_down(sent: list[Sent]) -> None:
    a, b = np.array([-7, 7, -7, 6, 8], np.int32), np.array([2, -2, -2, 3, 0], np.int32)
    model, feeds = single_node("Div", [a, b], opset=14)
    assert session(model).run(None, feeds)[0].tolist() == [-4, -4, 3, 2, 0]  # ONNX: -3, -3; the CPU provider dies of 8 / 0
    assert sent_as(sent, "Div").inputs[0].dtype == 3  # ACL_INT32
    cast = [onnx.helper.make_node("Cast", [name], [f"{name}64"], to=onnx.TensorProto.DOUBLE) for name in "ab"]
    cast += [
        onnx.helper.make_node("Div", ["a64", "b64"], ["quotient"]),
        onnx.helper.make_node("Cast", ["quotient"], ["y"], to=onnx.TensorProto.INT32),
    ]
    feeds = {"a": a[:4], "b": b[:4]}
    assert session(model_of(cast, feeds, ["y"], opset=13)).run(None, feeds)[0].tolist() == [-3, -3, 3, 2]


def test_two_operands_that_both_broadcast_get_one_scratch_buffer(sent: list[Sent]) -> None:
    one, other = np.arange(5, dtype=np.float32).reshape(5, 1), np.arange(7, dtype=np.float32)
    ours, _ = on_both("Add", [one, other], 14)
    assert [call.op_type for call in sent if call.op_type == "BroadcastToD"] == ["BroadcastToD"] * 4  # each bound twice
    np.testing.assert_array_equal(ours, np.broadcast_to(2 * other, (5, 7)))  # the first one was overwritten before Add ran
    cast = [
        onnx.helper.make_node("Expand", ["a", "shape"], ["wide"]),
        onnx.helper.make_node("Add", ["wide", "b"], ["y"]),
    ]
    feeds = {"a": one, "b": other}
    model = model_of(cast, feeds, ["y"], opset=13, weights={"shape": np.array([5, 7])})
    np.testing.assert_array_equal(session(model).run(None, feeds)[0], one + other)


def test_gemm_without_c_adds_whatever_the_output_held(sent: list[Sent]) -> None:
    a, b = np.eye(3, 5, dtype=np.float16), np.ones((5, 2), np.float16)
    model, feeds = single_node("Gemm", [a, b, None], opset=13)
    made = session(model)
    results = [made.run(None, feeds)[0] for _ in range(3)]
    c = sent_as(sent, "GEMM").inputs[2]
    assert (c.shape, c.absent) == ((3, 2), False)  # it is the output's memory, and beta is 1
    assert not all(np.array_equal(one, a @ b) for one in results[1:])
    with_c = on_both("Gemm", [a, b, np.zeros((3, 2), np.float16)], 13)
    assert_close(*with_c)


@pytest.mark.parametrize(
    ("op_type", "arrays", "opset", "attributes"),
    [
        ("Conv", [X[:, :, 0], WEIGHT[:, :, 0]], 11, {}),
        ("MaxPool", [X[:, :, 0]], 7, {"kernel_shape": [2]}),
        ("AveragePool", [X[:, :, :, :, None]], 7, {"kernel_shape": [2, 2, 1]}),
        ("GlobalAveragePool", [X[:, :, 0]], 11, {}),
    ],
)
def test_other_ranks_are_sent_to_operators_of_four_dims(sent: list[Sent], op_type, arrays, opset, attributes) -> None:
    with pytest.raises(Exception, match=f"running {op_type} node"):
        on_both(op_type, arrays, opset, **attributes)
    assert len(sent[0].inputs[0].shape) == arrays[0].ndim != 4


def test_batch_normalization_in_training_mode_makes_no_session() -> None:
    one = np.ones(2, np.float32)
    model, _ = single_node("BatchNormalization", [X, one, one, one, one], opset=15, outputs=3, training_mode=1)
    with pytest.raises(Exception, match="only supports inference mode"):
        session(model)
