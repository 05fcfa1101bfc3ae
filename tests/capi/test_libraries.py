"""The public libraries: what they export, what they need, and that all of them are one core."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path

import pytest

import c_facts
import generate_exports

from .conftest import run

LIBRARY_FOLDERS = ("lib64", "acllib/lib64", "runtime/lib64", "compiler/lib64", "runtime/lib64/stub", "acllib/lib64/stub")
HAVE = c_facts.implemented()
EXPORTED = c_facts.exported()
REFUSING = [f for f in EXPORTED if generate_exports.state(f, HAVE) == "refuses"]


def symbols(library: Path) -> dict[str, str]:
    """Defined dynamic symbols and their kind (T, W)."""
    lines = run(["nm", "-D", "--defined-only", library]).stdout.splitlines()
    return {line.split()[2]: line.split()[1] for line in lines}


@pytest.mark.parametrize("library", c_facts.LIBRARIES)
def test_a_library_finds_every_name_of_its_headers(toolkit: Path, library: str) -> None:
    loaded = ctypes.CDLL(str(toolkit / "lib64" / f"lib{library}.so"))
    for function in EXPORTED:
        if function.header in c_facts.LIBRARIES[library]:
            assert hasattr(loaded, function.name), function.name


def test_every_function_of_the_facts_is_in_some_library(toolkit: Path) -> None:
    held = set().union(*(symbols(toolkit / "lib64" / f"lib{name}.so") for name in c_facts.LIBRARIES))
    assert {f.name for f in c_facts.functions()} <= held


@pytest.mark.parametrize("client", c_facts.load("symbols.json")["must_resolve"])
def test_every_name_that_a_client_binds_resolves(toolkit: Path, client: str) -> None:
    facts = c_facts.load("symbols.json")
    names = {*facts["must_resolve"][client], *facts["must_resolve_cpp"].get(client, ())}
    linked = ["ascendcl", "acl_op_compiler", "fmk_onnx_parser"] if "onnxruntime" in client else ["ascendcl"]
    held = set().union(*(symbols(toolkit / "lib64" / f"lib{name}.so") for name in linked))
    assert names <= held


def test_a_later_name_that_does_not_work_is_not_exported(toolkit: Path) -> None:
    held = symbols(toolkit / "lib64" / "libascendcl.so")
    absent = {f.name for f in c_facts.newer()} - set(HAVE) - set(c_facts.must_resolve())
    assert absent
    assert not absent & set(held)


@pytest.mark.parametrize("folder", LIBRARY_FOLDERS)
def test_from_every_folder_a_library_reaches_the_one_core(toolkit: Path, folder: str) -> None:
    library = toolkit / folder / "libascendcl.so"
    script = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1]);"
        "print({line.split()[-1] for line in open('/proc/self/maps') if 'libhostacl_core' in line})"
    )
    env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    done = run([sys.executable, "-c", script, library], env=env)
    assert done.stdout.strip() == str({str(toolkit.parent / "libhostacl_core.so")})


@pytest.mark.parametrize("library", c_facts.LIBRARIES)
def test_a_library_has_its_own_name_and_binds_at_once(toolkit: Path, library: str) -> None:
    dynamic = run(["readelf", "-d", toolkit / "lib64" / f"lib{library}.so"]).stdout
    assert f"soname: [lib{library}.so]" in dynamic
    assert "NOW" in dynamic
    assert "RUNPATH" not in dynamic
    empty = library in ("hccl", "ge_runner", "graph", "acl_tdt_channel")
    assert ("[libhostacl_core.so]" in dynamic) is not empty


def test_what_works_in_the_table_is_what_the_core_implements(toolkit: Path) -> None:
    core = symbols(toolkit.parent / "libhostacl_core.so")
    strong = {name[5:] for name, kind in core.items() if name.startswith("hacl_") and kind == "T"}
    weak = {name[5:] for name, kind in core.items() if name.startswith("hacl_") and kind == "W"}
    assert {f.name for f in EXPORTED if f.name in HAVE} <= strong
    assert weak == {f.name for f in EXPORTED if f.name not in HAVE}


@pytest.mark.parametrize("function", REFUSING, ids=lambda f: f.name)
def test_a_function_that_is_not_there_refuses_by_name(toolkit: Path, function: c_facts.Function) -> None:
    libraries = generate_exports.library_names(EXPORTED, HAVE)
    library = next(name for name, names in libraries.items() if function.name in names)
    loaded = ctypes.CDLL(str(toolkit / "lib64" / f"lib{library}.so"))
    messages = ctypes.CDLL(str(toolkit / "lib64" / "libascendcl.so")).aclGetRecentErrMsg
    messages.restype = ctypes.c_char_p
    messages()
    call = getattr(loaded, function.name)
    answer = generate_exports.answer(function)
    call.restype = ctypes.c_void_p if answer == "nullptr" else None if answer == "" else ctypes.c_int32
    given = call()
    assert given == (None if answer in ("nullptr", "") else int(answer))
    text = (messages() or b"").decode()
    assert re.search(rf"HA109.*\b{function.name}\b.*not supported", text), text


def test_the_profilers_hooks_exist_and_do_nothing(toolkit: Path) -> None:
    loaded = ctypes.CDLL(str(toolkit / "lib64" / "libascendcl.so"))
    hooks = [f.name for f in EXPORTED if f.name.startswith("Msprof")]
    assert len(hooks) == 6
    assert [getattr(loaded, name)() for name in hooks] == [0] * 6


def test_the_generated_files_are_fresh() -> None:
    for tool in ("generate_headers.py", "generate_exports.py"):
        run([sys.executable, c_facts.ROOT / "tools" / tool, "--check"])
