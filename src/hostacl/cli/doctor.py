"""``hostacl doctor``: what is installed, what a program would load and why, and whether an Add runs."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hostacl import config
from hostacl.cli.main import installed_version
from hostacl.cli.paths import TOOLKIT, environment

Section = Iterator[tuple[str, str]]

ADD = """
import acl, numpy as np
x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
ret = [acl.init(), acl.rt.set_device(0)]
desc = acl.create_tensor_desc(0, [4], 2)
device, code = acl.rt.malloc(16, 0)
buffer = acl.create_data_buffer(device, 16)
ret += [code, acl.rt.memcpy(device, 16, acl.util.numpy_to_ptr(x), 16, 1)]
ret += [acl.op.compile_and_execute_v2("Add", [desc] * 2, [buffer] * 2, [desc], [buffer], acl.op.create_attr(), 0, 0, None, 0)]
ret += [acl.rt.synchronize_stream(0), acl.rt.memcpy(acl.util.numpy_to_ptr(y), 16, device, 16, 2)]
said = acl.get_recent_err_msg()
print("Add [0, 1, 2, 3] to itself gives", y.tolist(), "return codes", ret, said or "")
raise SystemExit(y.tolist() != [0, 2, 4, 6] or any(ret))
"""
"""A whole program: one operator from nothing to its result, in place."""


@click.command()
def doctor() -> None:
    """Says what is installed, what would load and why, and what a run of Add gives."""
    console = Console(highlight=False)
    for title, section in SECTIONS.items():
        table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in section():
            table.add_row(name, escape(value), style="red" if value.startswith(PROBLEM) else None)
        console.print(table)
    good, text = run_add()
    console.print(f"[bold]A run of Add[/]\n{'[green]works[/]: ' if good else '[red]fails[/]: '}{escape(text)}")
    if not good:
        raise SystemExit(1)


PROBLEM = "problem: "


def installed() -> Section:
    """Versions of ourselves, Python and the libraries, and whether C programs can start this Python."""
    yield "hostacl", f"{installed_version()} at {TOOLKIT.parent}"
    yield "Python", f"{platform.python_version()} at {sys.executable}"
    yield "libpython", _libpython()
    for name in ("numpy", "ml_dtypes"):
        yield name, version(name)
    yield "machine", f"{platform.machine()}, {len(os.sched_getaffinity(0))} CPUs for this process, {platform.platform()}"


def _libpython() -> str:
    name, folder = sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LIBDIR")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        package = f"libpython{sys.version_info[0]}.{sys.version_info[1]}"
        return (
            f"{PROBLEM}this Python has no shared libpython, which C programs need (Python programs do not): install {package}"
        )
    path = Path(folder or "", name or "")
    return str(path) if path.exists() else f"{PROBLEM}{path} is not there"


def loads() -> Section:
    """Which module and which library a program would load, here and under `hostacl run`."""
    for title, environ in (("here", dict(os.environ)), ("hostacl run", environment(os.environ))):
        yield f"import acl, {title}", _first("acl/__init__.py", search_python(environ))
        yield f"libascendcl.so, {title}", _first("libascendcl.so", environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))


def search_python(environ: Mapping[str, str]) -> list[str]:
    """The folders that this interpreter would look for modules in, in order."""
    program = "import sys; print('\\n'.join(sys.path))"
    found = subprocess.run([sys.executable, "-c", program], env=dict(environ), capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def _first(name: str, folders: list[str]) -> str:
    found = [folder for folder in folders if folder and Path(folder, name).exists()]
    if not found:
        return f"not found in {len(list(filter(None, folders)))} folders searched"
    ours = Path(found[0]).resolve() in {TOOLKIT.parent.parent, TOOLKIT / "lib64"}
    behind = f"; behind it: {', '.join(found[1:])}" if found[1:] else ""
    return f"{'hostacl' if ours else 'NOT hostacl'}, {found[0]}, the first of {len(folders)} folders searched{behind}"


def engine_in_use(name: str) -> str:
    """The engine that the settings name, and whether it can be used."""
    if name != "onnxruntime":
        return name
    from hostacl.ops.engines.sessions import runtime

    found = runtime()
    return f"{name}, NOT in use: {found}" if isinstance(found, str) else f"{name} {found.__version__}"


def engine() -> Section:
    """How operators are computed, and which product is played."""
    from hostacl import _kernels

    settings = config.settings()
    yield "engine", engine_in_use(settings.engine)
    yield (
        "SIMD",
        f"{_kernels.simd_level()} (this machine can: {', '.join(_kernels.simd_levels())}), {_kernels.threads()} threads",
    )
    yield "profile", f"{settings.soc}, CANN {settings.cann}, dtypes {settings.dtypes}, overflow {settings.overflow}"
    yield "scheduler", os.environ.get("HOSTACL_SCHEDULER", "eager")


SECTIONS: Mapping[str, Callable[[], Section]] = {"Installed": installed, "What would load": loads, "How it computes": engine}


def run_add() -> tuple[bool, str]:
    """Whether a program that adds works under `hostacl run`, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", ADD], env=environment(os.environ), capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode == 0, (done.stdout + done.stderr).strip()
