"""The registry: declarations found by their names, mistakes of authors told at import."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import hostacl.ops
from hostacl.ops import find, registry
from hostacl.ops.reading import Reads
from hostacl.ops.shapes import same_as


def test_the_scan_finds_exactly_what_importing_all_families_declares():
    before = dict(registry._operators)
    for module in pkgutil.iter_modules(hostacl.ops.__path__):
        if not module.ispkg:
            importlib.import_module(f"hostacl.ops.{module.name}")
    declared = {name for name in registry._operators if registry._operators[name].kernel.__module__.startswith("hostacl.")}
    assert declared == set(registry.families())
    assert before.keys() <= registry._operators.keys()


def test_finding_one_operator_imports_its_family_only():
    code = "import sys; from hostacl.ops import find; find('Conv2D'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "hostacl.ops.conv" in loaded
    assert not {"hostacl.ops.elementwise", "hostacl.ops.reduce", "scipy"} & set(loaded)


@pytest.mark.parametrize("op", registry.implemented())
def test_options_name_inputs_of_the_prototype(op: str) -> None:
    operator = find(op)
    assert operator is not None
    reads = {} if callable(operator.reads) else operator.reads
    factors = {how for how in reads.values() if not isinstance(how, Reads)}
    named = {*reads, *factors, *operator.updates}
    assert named <= {tensor.name for generation in operator.prototype.generations for tensor in generation.inputs}


def test_an_unknown_operator_is_not_found():
    assert find("NoSuchOp") is None


def test_a_parameter_that_the_prototype_lacks_is_told_with_its_names():
    with pytest.raises(TypeError, match="Asin: kernel parameter y is not in the prototype; it has x"):
        registry.kernel("Asin", shape=same_as("x"))(lambda y: y)


def test_an_operator_without_prototype_cannot_be_declared():
    with pytest.raises(LookupError, match="NoSuchOp has no prototype"):
        registry.kernel("NoSuchOp", shape=same_as("x"))(lambda x: x)
