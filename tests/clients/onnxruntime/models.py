"""Whole models with seeded random weights: residual, VGG-like, MobileNet-like, and a multi-layer perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.clients.onnxruntime.support import model_of

OPSET = 7
"""The newest whose MaxPool the CANN provider takes."""


class Network:
    """Nodes one after the other; each method adds one and gives the name of its output."""

    def __init__(self, dtype: str, shape: tuple[int, ...], opset: int = OPSET) -> None:
        self.dtype, self.opset = np.dtype(dtype), opset
        self.random = np.random.default_rng(7)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.input = self.random.standard_normal(shape).astype(self.dtype)

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        output = f"{op_type.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], name=output, **attributes))
        return output

    def weight(self, *shape: int, fan: int = 1, positive: bool = False, dtype: Any = None) -> str:
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape) / np.sqrt(fan)
        self.weights[name] = np.asarray(np.abs(values) + 0.5 if positive else values, dtype or self.dtype)
        return name

    def conv(self, x: str, inner: int, outer: int, kernel: int = 3, stride: int = 1, group: int = 1) -> str:
        weight = self.weight(outer, inner // group, kernel, kernel, fan=inner // group * kernel * kernel)
        pad = kernel // 2
        return self.node("Conv", x, weight, self.weight(outer), kernel_shape=[kernel] * 2, pads=[pad] * 4,
                         strides=[stride] * 2, group=group)  # fmt: skip

    def norm(self, x: str, channels: int) -> str:
        """Batch normalization; of float16 in float32, for the provider and the older models know it in float32 alone."""
        half = self.dtype == np.float16
        x = self.node("Cast", x, to=onnx.TensorProto.FLOAT) if half else x
        weights = [self.weight(channels, positive=place in (0, 3), dtype=np.float32) for place in range(4)]
        y = self.node("BatchNormalization", x, *weights)
        return self.node("Cast", y, to=onnx.TensorProto.FLOAT16) if half else y

    def dense(self, x: str, inner: int, outer: int) -> str:
        weight, bias = self.weight(inner, outer, fan=inner), self.weight(outer)
        return self.node("Gemm", x, weight, bias)

    def finish(self, *outputs: str) -> tuple[bytes, dict[str, np.ndarray]]:
        """The serialized model and what to feed it."""
        feeds = {"x": self.input}
        return model_of(self.nodes, feeds, outputs, opset=self.opset, weights=self.weights), feeds


def residual(dtype: str, size: int = 32, width: int = 16, blocks: int = 3) -> tuple[bytes, dict[str, np.ndarray]]:
    """Convolution, normalization and addition in blocks, global average pooling, a linear layer."""
    net = Network(dtype, (1, 3, size, size))
    x = net.node("Relu", net.norm(net.conv("x", 3, width, 7, 2), width))
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for number in range(blocks):
        wider = width * 2 ** min(number, 3)
        stride = 1 if wider == channels else 2
        y = net.node("Relu", net.norm(net.conv(x, channels, wider, 3, stride), wider))
        y = net.norm(net.conv(y, wider, wider), wider)
        side = x if stride == 1 else net.norm(net.conv(x, channels, wider, 1, stride), wider)
        x, channels = net.node("Relu", net.node("Add", y, side)), wider
    x = net.node("Flatten", net.node("GlobalAveragePool", x))
    return net.finish(net.dense(x, channels, 10))


def vgg(dtype: str) -> tuple[bytes, dict[str, np.ndarray]]:
    """Convolutions and max pooling, local response normalization, dropout."""
    net = Network(dtype, (2, 3, 32, 32))
    x, channels = "x", 3
    for wider in (8, 16):
        x = net.node("Relu", net.conv(x, channels, wider))
        if dtype == "float32":
            x = net.node("LRN", x, size=5, alpha=1e-3, beta=0.75)
        x = net.node("Relu", net.conv(x, wider, wider))
        x, channels = net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), wider
    x = net.node("Dropout", net.node("Relu", net.dense(net.node("Flatten", x), channels * 64, 32)))
    return net.finish(net.node("Softmax", net.dense(x, 32, 10), axis=1))


def mobilenet(dtype: str) -> tuple[bytes, dict[str, np.ndarray]]:
    """Grouped and depthwise convolutions, average pooling."""
    net = Network(dtype, (2, 3, 32, 32), opset=11)
    x, channels = net.node("Relu", net.norm(net.conv("x", 3, 8, 3, 2), 8)), 8
    for wider, stride in ((16, 1), (32, 2), (32, 1)):
        x = net.node("Relu", net.norm(net.conv(x, channels, channels, 3, stride, group=channels), channels))
        x, channels = net.node("Relu", net.norm(net.conv(x, channels, wider, 1), wider)), wider
    x = net.conv(x, channels, channels, 3, 1, group=4)
    x = net.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.node("Flatten", net.node("GlobalMaxPool", x))
    return net.finish(net.dense(x, channels, 10))


def perceptron(dtype: str) -> tuple[bytes, dict[str, np.ndarray]]:
    """Linear layers as Gemm and as MatMul with Add, softmax; several outputs."""
    net = Network(dtype, (5, 20), opset=13)
    x = net.node("Relu", net.dense("x", 20, 64))
    x = net.node("Add", net.node("MatMul", x, net.weight(64, 32, fan=64)), net.weight(32))
    squashed = net.node("Reciprocal", net.node("Sqrt", net.node("Add", net.node("Mul", x, x), net.weight(1, positive=True))))
    y = net.node("Mul", x, squashed)
    return net.finish(net.node("Softmax", net.dense(y, 32, 10), axis=-1), squashed)


MODELS = {"residual": residual, "vgg": vgg, "mobilenet": mobilenet, "perceptron": perceptron}
