"""The ``hostacl`` command and its parts, each loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import click

COMMANDS = {
    "run": "Run a program with hostacl in place of the card's software.",
    "atc": "Build single-operator models from a JSON file.",
    "doctor": "Say what is installed, what would load and why, and run an Add.",
    "explain": "Print the page of a rule (HA204) or the meaning of a return code (100024).",
    "ops": "List the operators, or print one operator's page.",
    "toolkit": "Print the folder that stands for a CANN toolkit root.",
}


class _Commands(click.Group):
    """Finds each command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"hostacl.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def installed_version() -> str:
    """The version of the installed package, or "not installed" in a bare source tree."""
    try:
        return version("hostacl")
    except PackageNotFoundError:
        return "not installed"


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(installed_version(), prog_name="hostacl")
def main() -> None:
    """AscendCL single-operator programs on a CPU, without the card."""


if __name__ == "__main__":
    main()
