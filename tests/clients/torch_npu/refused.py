"""Which operators torch-npu asks for with a dtype that the prototype lacks: operator and tensor that the refusal names."""

from __future__ import annotations

import torch

from tests.clients.torch_npu.operators import BF16, F16, F32, I64

REFUSED: dict[str, dict[torch.dtype, str]] = {
    "abs": {BF16: "Sign: x"},
    "sign": {BF16: "Sign: x"},
    "tan": {BF16: "Tan: x"},
    "asin": {BF16: "Asin: x"},
    "acos": {BF16: "Acos: x"},
    "erf": {BF16: "Erf: x"},
    "erfc": {BF16: "Erfc: x"},
    "floor": {BF16: "Floor: x"},
    "ceil": {BF16: "Ceil: x"},
    "round": {BF16: "Round: x"},
    "relu": {BF16: "Relu: x"},
    "relu6": {BF16: "HardtanhGrad: result"},
    "mish": {BF16: "Mish: x"},
    "elu": {BF16: "Elu: x"},
    "celu": {BF16: "CeluV2: x"},
    "selu": {BF16: "Elu: x"},
    "leaky_relu": {BF16: "LeakyRelu: x"},
    "softplus": {BF16: "SoftplusV2: x"},
    "logsigmoid": {BF16: "LogSigmoid: x"},
    "hardtanh": {BF16: "HardtanhGrad: result"},
    "hardsigmoid": {BF16: "HardSigmoid: input_x"},
    "hardswish": {BF16: "HardSwish: x"},
    "threshold": {F32: "ThresholdGradV2D: gradients", BF16: "ThresholdGradV2D: gradients"},
    "add_alpha": {I64: "AxpyV2: x1"},
    "maximum": {BF16: "Maximum: x1"},
    "minimum": {BF16: "Minimum: x1"},
    "cumsum": {BF16: "ReverseV2: x"},
    "conv1d": {BF16: "Conv2D: bias"},
    "conv2d": {BF16: "Conv2D: bias"},
    "conv2d_options": {BF16: "Conv2DBackpropInput: filter"},
    "conv_transpose2d": {BF16: "Conv2DTranspose: x"},
    "group_norm": {F16: "BNTrainingUpdateGrad: batch_mean"},
    "mse_loss": {BF16: "MseLoss: predict"},
    "mse_loss_none": {BF16: "MseLoss: predict"},
    "l1_loss": {BF16: "LpLoss: predict"},
    "cross_entropy": {F16: "NLLLoss: x"},
    "flip": {BF16: "ReverseV2: x"},
    "index_select": {BF16: "InplaceIndexAdd: var"},
}
