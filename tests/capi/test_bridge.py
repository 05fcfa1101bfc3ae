"""C programs and Python: it is started, entered or refused, and the program stays master of its process."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROGRAMS, run, try_run

SHARED = bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))
needs_libpython = pytest.mark.skipif(not SHARED, reason="this Python has no shared libpython")


@needs_libpython
def test_python_comes_without_touching_signals_and_locale(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = run([program("plain")], env=c_env)
    assert done.stdout.splitlines() == ["right", "exit handler answered"]
    assert done.stderr == ""


@needs_libpython
def test_what_python_prints_is_written_by_finalize(program: Callable[..., Path], c_env: dict[str, str], tmp_path: Path) -> None:
    """A sitecustomize stands for an operator of the user's that prints; stdout is a pipe, so Python holds the text back."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys\nsys.stdout.write('from Python\\n')\n")
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), c_env.get("PYTHONPATH", "")]))
    done = run([program("plain")], env={**c_env, "PYTHONPATH": path})
    assert sorted(done.stdout.splitlines()) == ["exit handler answered", "from Python", "right"]


@needs_libpython
def test_eight_first_calls_at_once_start_one_python(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    assert run([program("threads")], env=c_env).stdout == "right\n"


@needs_libpython
def test_the_overflow_status_of_operators_before_it(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    assert run([program("overflow")], env=c_env).stdout == "right\n"


@needs_libpython
def test_a_fork_while_operators_run_leaves_a_child_that_works(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    assert run([program("fork_after")], env=c_env).stdout == "right\n"


@needs_libpython
def test_a_fork_while_threads_are_new_leaves_a_child_that_works(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    assert run([program("fork_births")], env=c_env).stdout == "right\n"


def test_a_setting_that_does_not_exist_is_named(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = run([program("refused")], env={**c_env, "HOSTACL_PYTHON": "/no/such/python"})
    first, second = done.stdout.splitlines()
    assert first == second
    assert first.startswith("500000 ")
    assert "HOSTACL_PYTHON = /no/such/python does not exist" in first
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}" in first


def test_without_a_libpython_the_package_is_named(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = run([program("no_libpython", "-rdynamic", "-Wno-nonnull-compare")], env=c_env)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for line in done.stdout.splitlines():
        assert line.startswith("500000 ")
        assert f"libpython{version}.so.1.0" in line
        assert f"libpython{version} or python3-dev" in line


@needs_libpython
def test_a_python_without_hostacl_is_named(program: Callable[..., Path], c_env: dict[str, str], tmp_path: Path) -> None:
    """A PYTHONPATH that hides NumPy stands for a Python in which nothing is installed."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = run([program("refused")], env={**c_env, "PYTHONPATH": str(tmp_path / "hidden")})
    assert "500000" in done.stdout
    assert "no numpy here" in done.stdout
    assert "pip install hostacl" in done.stdout


@needs_libpython
def test_a_programs_own_interpreter_is_used_and_its_end_respected(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    library = f"python{sysconfig.get_config_var('VERSION')}"
    folder = sysconfig.get_config_var("LIBDIR")
    built = program("embeds", f"-I{sysconfig.get_path('include')}", f"-L{folder}", f"-l{library}", f"-Wl,-rpath,{folder}")
    done = run([built, sys.executable], env=c_env)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("500000 HA110") and "ended" in line for line in lines), lines


@pytest.mark.parametrize("loader", ["CDLL", "PyDLL"])
def test_a_client_in_python_brings_hostacl_itself(c_env: dict[str, str], tmp_path: Path, toolkit: Path, loader: str) -> None:
    """A C library that Python code loads; nobody has imported hostacl. PyDLL calls it with Python's lock held."""
    source = tmp_path / "client.c"
    source.write_text(
        '#include "add.h"\nint go(void) { CHECK(aclInit(NULL)); CHECK(aclrtSetDevice(0)); CHECK(add_once(NULL));'
        " CHECK(aclrtResetDevice(0)); return aclFinalize(); }\n"
    )
    library = tmp_path / "client.so"
    run(["gcc", "-shared", "-fPIC", source, "-o", library, f"-I{PROGRAMS}", f"-I{toolkit}/include", f"-L{toolkit}/lib64",
         "-lascendcl", "-lacl_op_compiler"])  # fmt: skip
    script = (
        f"import ctypes, sys; assert ctypes.{loader}(sys.argv[1]).go() == 0;"
        "assert 'hostacl._machine' in sys.modules; print('right')"
    )
    env = {name: value for name, value in c_env.items() if name != "HOSTACL_PYTHON"}
    assert try_run([sys.executable, "-c", script, library], env=env).stdout == "right\n"


CLIENT = """
#include "acl/acl.h"
#include <memory>
extern "C" void *allocate(size_t size) {
    void *pointer = nullptr;
    return aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS ? pointer : nullptr;
}
extern "C" int release(void *pointer) { return aclrtFree(pointer); }
extern "C" int set_device(int device) { return aclrtSetDevice(device); }
"""


@pytest.fixture(scope="module")
def cpp_client(toolkit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A C++ library that needs libascendcl.so by its name."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "client.cpp").write_text(CLIENT)
    run(["g++", "-shared", "-fPIC", folder / "client.cpp", "-o", folder / "client.so", f"-I{toolkit}/include",
         f"-L{toolkit}/lib64", "-lascendcl"])  # fmt: skip
    return folder / "client.so"


FOLDERS = ["lib64", "acllib/lib64", "runtime/lib64", "compiler/lib64"]
ORDERS = [*((first, folder) for first in ("acl", "client") for folder in FOLDERS), ("acl", None)]


@pytest.mark.parametrize(("first", "folder"), ORDERS)
def test_import_acl_and_a_cpp_client_share_one_core(toolkit: Path, cpp_client: Path, first: str, folder: str | None) -> None:
    """From whichever folder; without one in the environment when acl is imported first."""
    script = f"""
import ctypes
def client():
    global lib
    lib = ctypes.CDLL({str(cpp_client)!r})
    lib.allocate.restype = ctypes.c_void_p
    lib.release.argtypes = [ctypes.c_void_p]
if {first!r} == "client": client()
import acl
if {first!r} == "acl": client()
assert acl.init() == 0
assert lib.set_device(0) == 0
assert acl.rt.get_device() == (0, 0)
theirs = lib.allocate(ctypes.c_size_t(64))
assert acl.rt.memset(theirs, 64, 7, 64) == 0
assert ctypes.string_at(theirs, 64) == bytes([7]) * 64
assert acl.rt.free(theirs) == 0
assert lib.release(theirs) == 107000
ours, ret = acl.rt.malloc(64, 0)
assert lib.release(ours) == 0
assert acl.rt.free(ours) == 107000
cores = {{line.split()[-1] for line in open("/proc/self/maps") if "libhostacl_core" in line}}
assert len(cores) == 1, cores
print("right")
"""
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    env |= {"LD_LIBRARY_PATH": str(toolkit / folder)} if folder else {}
    done = try_run([sys.executable, "-c", script], env=env)
    assert done.stdout == "right\n", done.stderr
