"""``hostacl run``: a program in an environment where Ascend's interfaces are hostacl's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

import click

from hostacl.cli import checked
from hostacl.cli.paths import environment

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What a shell answers, too."""


class _Run(click.Command):
    """Takes ``--check`` alone, too: what stands behind it is the command, not its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_values(args)))


def _with_values(args: Sequence[str]) -> Iterator[str]:
    """The arguments, with the value that ``--check`` leaves out; what follows the command's name is the command's own."""
    own = True
    wants_value = False
    for arg in args:
        own = own and (wants_value or arg.startswith("-")) and arg != "--"
        wants_value = own and arg in {"--ignore", "--report", "--report-file"}
        yield "--check=all" if own and arg == "--check" else arg


@click.command(cls=_Run, context_settings={"allow_interspersed_args": False})
@click.option(
    "--check", metavar="[=CODES]", callback=checked.known_rules,
    help="Check the rules of use: all, or those of codes and prefixes (HA2,HA309).",
)  # fmt: skip
@click.option("--ignore", metavar="CODES", callback=checked.known_rules, help="Leave these rules out.")
@click.option("--strict", is_flag=True, help="Look at guard bytes at every synchronize; end with 1 when a rule was broken.")
@click.option("--report", type=click.Choice(["none", "text", "json"]), help="How to tell what was found, on stderr (text).")
@click.option("--report-file", metavar="FILE", help="Write what was found there, as JSON; %p is the process's number.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD [ARGS]...")
def run(
    command: tuple[str, ...], check: str | None, ignore: str | None, strict: bool, report: str | None, report_file: str | None
) -> None:
    """Runs CMD so that `import acl`, programs linked with libascendcl and `atc` find hostacl.

    Sets PYTHONPATH, LD_LIBRARY_PATH, PATH (what they hold stays behind) and ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME,
    ASCEND_OPP_PATH, DDK_PATH,
    NPU_HOST_LIB, and becomes the program. Put -- before a CMD that begins with a dash.
    """
    environ = environment(os.environ)
    environ.update(queue_setting(environ))
    if check or strict or report or report_file or ignore:
        environ.update(checked.environment(check or "all", ignore, strict, report or "text", report_file))
    if strict:
        raise SystemExit(checked.run(program_of(command, environ), command, environ))
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
    name, program = command[0], program_of(command, environ)
    try:
        os.execve(program, list(command), dict(environ))
    except OSError as error:
        click.echo(f"hostacl run: {name}: {error.strerror}{_hint(name)}", err=True)
        raise SystemExit(NOT_EXECUTABLE) from error


def program_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """The path of the command's program; ends with 127 or 126 and a message when there is none."""
    return shutil.which(command[0], path=environ["PATH"]) or _end(command[0])


def _end(name: str) -> NoReturn:
    if os.path.exists(name):
        click.echo(f"hostacl run: {name} is not an executable program{_hint(name)}", err=True)
        raise SystemExit(NOT_EXECUTABLE)
    where = "" if os.sep in name else " on PATH"
    click.echo(f"hostacl run: command not found{where}: {name}", err=True)
    raise SystemExit(NOT_FOUND)


def _hint(name: str) -> str:
    return f"; for a Python script: hostacl run python {name}" if name.endswith(".py") else ""
