"""hostacl ops: the list, the families, one operator's page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hostacl.cli.operator_page import page
from hostacl.cli.ops import covered
from hostacl.ops import registry, schema, usage

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "tools" / "facts" / "usage.json"


def ops(*arguments: str, **env: str) -> str:
    command = [sys.executable, "-m", "hostacl.cli.main", "ops", *arguments]
    environ = {**os.environ, "COLUMNS": "250", **env}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_the_list_has_family_status_and_call_sites() -> None:
    listed = ops()
    assert re.search(r"\d+ of 1,777 known operators are here: \d+\.\d % of the call sites", listed)
    assert re.search(r"^ ?Cast +cast_copy_assign +works +\d+", listed, re.MULTILINE)
    assert "known, not here" not in listed
    everything = ops("--all")
    assert len(everything.splitlines()) > 1777
    assert re.search(r"^ ?AGLU +activation ", everything, re.MULTILINE)


def test_one_family_and_all_families() -> None:
    lines = ops("--family", "matmul", "--all").splitlines()[2:]
    assert lines
    assert all(" matmul " in line for line in lines)
    assert re.search(r"^ ?elementwise_binary +\d+ +\d+ +\d+\.\d %", ops("--families"), re.MULTILINE)


@pytest.mark.skipif(not FACTS.exists(), reason="the sources are not here")
def test_call_sites_are_the_sums_over_the_programs() -> None:
    facts = json.loads(FACTS.read_text())
    for name, entry in facts["operators"].items():
        assert usage.call_sites(name) == sum(entry["clients"].values()), name
    assert usage.families() == facts["family_of_all"]


def test_coverage_is_a_share_of_call_sites() -> None:
    cast, add = usage.call_sites("Cast"), usage.call_sites("Add")
    assert covered(("Cast", "Add"), {"Add"}) == f"{100 * add / (cast + add):.1f} %"
    assert covered(("Cast",), {"Cast", "Add"}) == "100.0 %"
    assert covered(("AGLU",), {"AGLU"}) == ""


def test_a_page_says_what_it_takes_means_and_refuses() -> None:
    text = ops("Slice")
    depends = "depends on the values of offsets, size"
    for part in ("Slice (shape_slice_concat_pad)", "offsets", "int32 int64", "SliceD", depends, "HA519"):
        assert part in text
    text = ops("MatMul")
    for part in ("transpose_x1", "False", "optional", "HA504", "inner dims … and … differ"):
        assert part in text


def test_a_page_of_one_that_is_not_here() -> None:
    missing = sorted(set(schema.known_operators()) - set(registry.implemented()))
    known = schema.prototype(missing[0])
    assert known is not None
    one = page(known, None)
    assert not one.works
    assert one.refusals == ()
    assert "known, not here" in ops(missing[0])


def test_an_older_prototype_is_told() -> None:
    known = schema.prototype("ReduceSum")
    assert known is not None
    with_older = [name for name in registry.implemented() if (one := schema.prototype(name)) and len(one.generations) > 1]
    operator = registry.find(with_older[0])
    assert operator is not None
    assert any("older prototype" in note for note in page(operator.prototype, operator).notes)


def test_every_operator_that_is_here_has_a_meaning() -> None:
    """A kernel without a docstring has a page that does not say what it computes."""
    operators = [operator for name in registry.implemented() if (operator := registry.find(name))]
    assert [one.op_type for one in operators if not page(one.prototype, one).meaning] == []


def test_an_operator_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "my_ops.py"
    file.write_text(
        "import hostacl\n\n@hostacl.op('MineCustom', inputs={'x': 'float32'}, outputs={'y': 'float32'}, attrs={'alpha': 2.0})\n"
        "def mine(x, alpha):\n    '''Twice x, or so.'''\n    return x * alpha\n"
    )
    assert re.search(r"^ ?MineCustom +your own +works", ops(HOSTACL_OPS=str(file)), re.MULTILINE)
    text = ops("MineCustom", HOSTACL_OPS=str(file))
    for part in ("Twice x, or so.", "alpha", "2.0"):
        assert part in text
