"""Makes ``random_calls`` importable by one name, for these tests and for tools/random_call_table.py alike."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
