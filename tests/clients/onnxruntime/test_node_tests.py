"""All node tests of the onnx wheel: whatever the CANN provider runs equals its golden, and the process ends well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.onnxruntime.node_tests import COPIES, all_results

pytestmark = pytest.mark.client
KNOWN = 319
"""Node tests of onnx 1.17 that put a node on the CANN provider of 1.24.4."""
DO_NOT_LOAD = {"test_batchnorm_example_training_mode", "test_batchnorm_epsilon_training_mode"}
"""The provider claims these nodes, then has no kernel for them: no session is made, nothing was asked of hostacl."""


@pytest.fixture(params=["hostacl run", "LD_LIBRARY_PATH alone"])
def results(request: pytest.FixtureRequest) -> dict[str, Any]:
    return all_results(request.param)


def test_as_many_as_known_run_on_the_cann_provider(results: dict[str, Any]) -> None:
    on_cann = [name for name, result in results.items() if result["cann"]]
    print(f"{len(on_cann)} of {len(results)} node tests put a node on the CANN provider")
    assert len(on_cann) >= KNOWN
    assert sum(1 for name in on_cann if set(results[name]["cann"]) - COPIES) >= KNOWN - 4


def test_every_node_test_equals_its_golden(results: dict[str, Any]) -> None:
    wrong = {name: result["wrong"] for name, result in results.items() if result["wrong"] and not result["cpu"]}
    assert not set(wrong) - DO_NOT_LOAD, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_few_fail_because_onnxruntime_itself_cannot_run_them(results: dict[str, Any]) -> None:
    alike = {name: result["cpu"] for name, result in results.items() if result["cpu"]}
    assert len(alike) <= 140, "\n".join(f"{name}: {text}" for name, text in alike.items())
