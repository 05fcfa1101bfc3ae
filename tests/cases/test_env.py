"""The surroundings: failing devices, compile options, builds that look for a toolkit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import acl
from hostacl import toolkit_path
from hostacl.testing import inject
from tests.calls import build_and_execute, device, message
from tests.cases.messages import told

JIT_COMPILE = 10


@pytest.mark.case("B094")
def test_the_first_cause_stays_behind_what_follows() -> None:
    assert acl.rt.reset_device(0) == 0
    with inject(507008, call="acl.rt.set_device"):
        cause = acl.rt.set_device(0)
    follows = acl.rt.get_context()[1]
    newest, oldest = message().splitlines()
    told("B094 what follows", newest, follows, "acl.rt.get_context")
    told("B094 first cause", oldest, cause, "acl.rt.set_device")


@pytest.mark.case("B104")
def test_a_compile_option_is_kept_and_changes_no_result() -> None:
    x, y = device(np.array([1, 2], np.float32)), device(np.zeros(2, np.float32))
    for value in ("disable", "enable"):
        assert acl.set_compileopt(JIT_COMPILE, value) == 0
        assert acl.get_compileopt(JIT_COMPILE) == (value, 0)
        assert build_and_execute("Add", [x, x], [y]) == 0
        assert acl.rt.synchronize_device() == 0
        np.testing.assert_array_equal(y.read(), [2, 4])
    ret = acl.set_compileopt(JIT_COMPILE, "maybe")
    told("B104 maybe", message(), ret, "acl.set_compileopt")
    assert acl.get_compileopt(JIT_COMPILE) == ("enable", 0)


PROJECT = """
cmake_minimum_required(VERSION 3.5)
project(sample CXX)
set(INC_PATH $ENV{DDK_PATH})
set(LIB_PATH $ENV{NPU_HOST_LIB})
include_directories(${INC_PATH}/include/ ${INC_PATH}/acllib/include/)
link_directories(${LIB_PATH}/)
add_executable(sample main.cpp)
target_link_libraries(sample ascendcl acl_op_compiler stdc++)
"""
PROGRAM = """
#include "acl/acl.h"
#include <cstdio>
int main() {
    if (aclInit(nullptr) || aclrtSetDevice(0)) return 1;
    void* memory = nullptr;
    if (aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST) || aclrtFree(memory)) return 2;
    std::printf("%s\\n", aclrtGetSocName());
    return aclFinalize();
}
"""


@pytest.mark.case("B096")
def test_a_project_that_looks_for_a_toolkit_builds_and_runs(tmp_path: Path) -> None:
    cmake, compiler = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"), shutil.which("g++")
    if cmake is None or compiler is None:
        pytest.skip("no cmake or no g++ here")
    root = toolkit_path.root()
    assert (root / "set_env.sh").exists()
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "main.cpp").write_text(PROGRAM)
    library = root / "lib64"
    env = {**os.environ, "DDK_PATH": str(root), "NPU_HOST_LIB": str(library), "LD_LIBRARY_PATH": str(library)}
    env["HOSTACL_PYTHON"] = sys.executable
    for command in ([cmake, "-S", ".", "-B", "out"], [cmake, "--build", "out"], ["out/sample"]):
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == acl.get_soc_name()
