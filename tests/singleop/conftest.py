"""A fresh machine for each test."""

from __future__ import annotations

import pytest

from tests.machine import started

machine = pytest.fixture(autouse=True)(started)
