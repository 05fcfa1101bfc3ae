"""``hostacl toolkit``: the folder that stands for a CANN toolkit root."""

from __future__ import annotations

import click

from hostacl.cli.paths import TOOLKIT


@click.command()
def toolkit() -> None:
    """Prints the toolkit root: include/, lib64/, bin/ lie in it, as builds that look for CANN expect."""
    click.echo(TOOLKIT)
