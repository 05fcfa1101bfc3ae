"""The headers of the toolkit: each compiles alone, and each function links against each library that holds it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import c_facts
from generate_headers import HEADERS

from .conftest import run

LANGUAGES = [("gcc", "c11"), ("g++", "c++11"), ("g++", "c++17"), ("clang", "c11"), ("clang++", "c++11")]
PAIRS = [(library, header) for library, headers in c_facts.LIBRARIES.items() for header in headers] + [
    ("ascendcl", "acl/acl_op.h"), ("acl_op_executor", "acl/acl_op.h"),
]  # fmt: skip


@pytest.mark.parametrize(("compiler", "standard"), LANGUAGES)
@pytest.mark.parametrize("header", HEADERS)
def test_each_header_compiles_alone_without_a_warning(toolkit: Path, header: str, compiler: str, standard: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    language = "c++" if "+" in compiler else "c"
    subprocess.run(
        [compiler, f"-std={standard}", "-x", language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
         f"-I{toolkit}/include", "-"],
        input=f'#include "{header}"\n', text=True, check=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("folder", ["acllib", "runtime", "compiler"])
def test_the_other_include_folders_give_the_same_headers(toolkit: Path, folder: str) -> None:
    headers = ("acl/acl.h", "acl/acl_op_compiler.h", "acl/ops/acl_cblas.h")
    source = "".join(f'#include "{header}"\n' for header in headers) + "int x = ACL_FLOAT8_E8M0;\n"
    command = ["gcc", "-x", "c", "-fsyntax-only", f"-I{toolkit}/{folder}/include", "-"]
    subprocess.run(command, input=source, text=True, check=True)


def one_call_program(header: str) -> str:
    """Takes the address of every function of a header, and calls one when it is given many arguments: never."""
    names = [f.name for f in c_facts.exported() if f.header == header]
    addresses = ",\n    ".join(f"(pointer){name}" for name in names)
    return f"""
#include "{header}"
typedef void (*pointer)(void);
static const volatile pointer functions[] = {{
    {addresses}}};
int main(int argc, char **argv) {{
    (void)argv;
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i] == 0) return 1;
    if (argc > 100) functions[0]();
    return 0;
}}
"""


@pytest.mark.parametrize("linker", ["bfd", "gold"])
@pytest.mark.parametrize(("library", "header"), sorted(set(PAIRS)))
def test_each_header_links_with_its_library_alone(
    compile_c: Callable[..., Path], toolkit: Path, library: str, header: str, linker: str
) -> None:
    if shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"no {linker} here")
    flags = ("-Wno-deprecated-declarations", f"-l{library}", f"-fuse-ld={linker}", "-Wl,-z,now", "-Wl,--no-undefined")
    program = compile_c(one_call_program(header), *flags)
    run([program], env={**os.environ, "LD_LIBRARY_PATH": f"{toolkit}/lib64"})


def test_a_deprecated_function_warns(toolkit: Path) -> None:
    source = '#include "acl/acl.h"\nvoid *f(void) { return (void *)aclopExecute; }\n'
    done = subprocess.run(["gcc", "-x", "c", "-Werror", "-fsyntax-only", f"-I{toolkit}/include", "-"],
                          input=source, text=True, capture_output=True, check=False)  # fmt: skip
    assert done.returncode != 0
    assert "use aclopExecuteV2" in done.stderr


def test_the_later_types_and_formats_have_their_numbers(compile_c: Callable[..., Path]) -> None:
    checks = {"ACL_HIFLOAT8": 34, "ACL_FLOAT8_E5M2": 35, "ACL_FLOAT4_E1M2": 41, "ACL_FORMAT_FRACTAL_NZ_C0_16": 50,
              "ACL_FORMAT_FRACTAL_NZ_C0_8": 54, "ACL_BF16": 27, "ACL_FORMAT_UNDEFINED": -1}  # fmt: skip
    source = '#include "acl/acl.h"\n' + "".join(f'_Static_assert({k} == {v}, "{k}");\n' for k, v in checks.items())
    compile_c(source + "int main(void) { return 0; }\n", "-std=c11")
