"""Nothing is collected where torch-npu is not installed: these tests have an environment of their own."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest


def client_installed() -> bool:
    """Whether this Python has torch-npu."""
    try:
        return bool(distribution("torch-npu"))
    except PackageNotFoundError:
        return False


collect_ignore_glob = [] if client_installed() else ["test_*.py"]

if client_installed():
    # in this process an operator fails where it is called; other processes of these tests have the queue
    os.environ.update({"ASCEND_LAUNCH_BLOCKING": "1", "TASK_QUEUE_ENABLE": "0"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch  # noqa: F401  brings torch_npu along, but where other tests of this process have imported torch alone
        import torch_npu  # noqa: F401


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """torch-npu's own warnings are no errors."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::UserWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
