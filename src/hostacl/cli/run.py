"""``hostacl run``: a program in an environment where Ascend's interfaces are hostacl's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click

from hostacl.cli.paths import environment

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What a shell answers, too."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD [ARGS]...")
def run(command: tuple[str, ...]) -> None:
    """Runs CMD so that `import acl`, programs linked with libascendcl and `atc` find hostacl.

    Sets PYTHONPATH, LD_LIBRARY_PATH, PATH (what they hold stays behind) and ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME,
    ASCEND_OPP_PATH, DDK_PATH,
    NPU_HOST_LIB, and becomes the program. Put -- before a CMD that begins with a dash.
    """
    environ = environment(os.environ)
    environ.update(queue_setting(environ))
    execute(command, environ)


def queue_setting(environ: Mapping[str, str]) -> dict[str, str]:
    """TASK_QUEUE_ENABLE=0 where the scheduler needs a client that does not wait while it holds Python's lock."""
    scheduler = environ.get("HOSTACL_SCHEDULER", "eager")
    if scheduler.partition(":")[0] not in {"deferred", "shuffled"} or environ.get("TASK_QUEUE_ENABLE") == "0":
        return {}
    click.echo(
        f"hostacl: TASK_QUEUE_ENABLE=0 is set, because HOSTACL_SCHEDULER={scheduler} would deadlock with a task queue",
        err=True,
    )
    return {"TASK_QUEUE_ENABLE": "0"}


def execute(command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Becomes the command; ends with 127 or 126 and a message when there is no such program."""
    name = command[0]
    program = shutil.which(name, path=environ["PATH"])
    if program is None:
        _end(name)
    try:
        os.execve(program, list(command), dict(environ))
    except OSError as error:
        click.echo(f"hostacl run: {name}: {error.strerror}{_hint(name)}", err=True)
        raise SystemExit(NOT_EXECUTABLE) from error


def _end(name: str) -> NoReturn:
    if os.path.exists(name):
        click.echo(f"hostacl run: {name} is not an executable program{_hint(name)}", err=True)
        raise SystemExit(NOT_EXECUTABLE)
    where = "" if os.sep in name else " on PATH"
    click.echo(f"hostacl run: command not found{where}: {name}", err=True)
    raise SystemExit(NOT_FOUND)


def _hint(name: str) -> str:
    return f"; for a Python script: hostacl run python {name}" if name.endswith(".py") else ""
