"""An operator that fails reaches the user as torch-npu's exception with the text of AscendCL."""

from __future__ import annotations

import pytest
import torch

from tests.clients.torch_npu.support import run

SUBMIT = """
import torch
try:
    y = torch.tan(torch.ones(2, 3, dtype=torch.bfloat16).npu())
    torch.npu.synchronize()
    print(y.cpu())
except RuntimeError as error:
    text = str(error)
    for part in ("HA502", "aclopCompileAndExecute", "Tan", "DT_BF16 [2,3]", "allowed: DT_FLOAT"):
        assert part in text, (part, text)
    print("told")
"""


@pytest.mark.parametrize(("queue", "blocking"), [("0", "0"), ("1", "0"), ("2", "0"), ("1", "1")])
def test_what_is_refused_when_it_is_submitted(queue: str, blocking: str) -> None:
    done = run(SUBMIT, TASK_QUEUE_ENABLE=queue, ASCEND_LAUNCH_BLOCKING=blocking)
    assert done.stdout == "told\n", done.stderr


AT_RUN_TIME = """
import torch
x, index = torch.ones(3, 2).npu(), torch.tensor([0, 7]).npu()
try:
    y = torch.index_select(x, 0, index)
    torch.npu.synchronize()
    print(y.cpu())
except RuntimeError as error:
    assert "GatherV2" in str(error) and "7" in str(error), error
    print("told")
"""


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_what_goes_wrong_when_it_runs(queue: str) -> None:
    done = run(AT_RUN_TIME, TASK_QUEUE_ENABLE=queue)
    assert done.stdout == "told\n", done.stderr


SILENT_FAULT = """
import torch, torch_npu
from torch_npu.asd.asd import _SilentFaultDetector

detector = _SilentFaultDetector()
for step in range(40):
    for detector.idx in (1, 2):
        detector.silent_fault_check(torch.full((4, 4), 1.0 + step % 3).npu())
state = detector.silent_data_dict[1]
print([one.item() for one in (state.pre_val, state.min_val, state.max_val)])
try:
    detector.silent_fault_check(torch.full((4, 4), float("nan")).npu())
    torch.npu.synchronize()
except RuntimeError as error:
    print("507018" in str(error))
"""


@pytest.mark.parametrize("queue", ["0", "1"])
def test_a_gradient_that_is_broken_ends_a_training_that_checks_for_it(queue: str) -> None:
    done = run(SILENT_FAULT, TASK_QUEUE_ENABLE=queue)
    assert done.stdout == "[4.0, 4.0, 12.0]\nTrue\n", done.stderr
    assert "HA519: aclopCompileAndExecute(): SilentCheck: val = nan is not finite" in done.stderr


def test_after_a_refusal_the_device_computes_on() -> None:
    x = torch.ones(2, dtype=torch.bfloat16).npu()
    with pytest.raises(RuntimeError, match=r"HA502.*Tan"):
        torch.tan(x)
    assert (x + 1).cpu().tolist() == [2, 2]


ONLY_ACLNN = """
import torch
q = torch.randn(1, 2, 3, 8).npu()
try:
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
except RuntimeError as error:
    assert "aclnnFlashAttentionScore" in str(error) and "libopapi.so not found" in str(error), error
    print("told")
"""


def test_what_exists_only_as_aclnn_fails_with_torch_npus_own_error() -> None:
    done = run(ONLY_ACLNN)
    assert done.stdout == "told\n", done.stderr
